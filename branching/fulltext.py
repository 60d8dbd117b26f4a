"""The database's own index over the words of all messages: FTS5 on SQLite, trigrams or words on PostgreSQL.

It is made after the migrations, not by one of them: SQLite drops the triggers of a table that a migration makes anew.
"""

from __future__ import annotations

import re
from typing import Any

from django.db import connections
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from branching.models import Message

TERM = re.compile(r'"([^"]+)"|(\S+)')
SHORTEST = 3
"""Characters that the index of SQLite needs of a term. Shorter ones, such as words in Chinese, are looked for in the
texts themselves."""

# It keeps the texts once more. A table that reads them where they stand is smaller, but corrupt as soon as one of them
# was changed behind its back, and then nothing can be deleted any more.
SQLITE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS branching_words USING fts5(text, tokenize='trigram')",
    """
    CREATE TRIGGER IF NOT EXISTS branching_words_added AFTER INSERT ON branching_message WHEN new.kind <> 'tool'
    BEGIN INSERT INTO branching_words(rowid, text) VALUES (new.id, new.text); END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS branching_words_changed AFTER UPDATE OF text ON branching_message
    BEGIN UPDATE branching_words SET text = new.text WHERE rowid = new.id; END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS branching_words_gone AFTER DELETE ON branching_message
    BEGIN DELETE FROM branching_words WHERE rowid = old.id; END
    """,
)
POSTGRESQL = (
    """
    CREATE INDEX IF NOT EXISTS branching_words ON branching_message
    USING gin (to_tsvector('simple', left(text, 200000))) WHERE kind <> 'tool'
    """,
)
FILLED = "INSERT INTO branching_words(rowid, text) SELECT id, text FROM branching_message WHERE kind <> 'tool'"


def prepare(using: str = "default", **_: Any) -> None:
    """Make the index where it is missing, with what has been said so far. Called after each `migrate`."""
    connection = connections[using]
    if Message._meta.db_table not in connection.introspection.table_names():
        return  # one has migrated back to before there were any
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT 1 FROM sqlite_master WHERE name = 'branching_words'")
            is_new = cursor.fetchone() is None
            for statement in SQLITE:
                cursor.execute(statement)
            if is_new:
                cursor.execute(FILLED)
        else:
            for statement in POSTGRESQL:
                cursor.execute(statement)


def terms_of(query: str) -> list[str]:
    """What is looked for: words, and in quotation marks phrases."""
    return [quoted or word for quoted, word in TERM.findall(query)]


def matching(rows: QuerySet[Message], terms: list[str]) -> QuerySet[Message]:
    """Those of the messages, results of tools aside, that hold all of the terms, in any case of letters."""
    rows = rows.exclude(kind="tool")
    for term in terms:
        rows = rows.filter(text__icontains=term)
    if connections[rows.db].vendor == "sqlite":
        return _in_trigrams(rows, [term for term in terms if len(term) >= SHORTEST])
    return _in_words(rows, [term for term in terms if term.isascii() and term.isalnum()])


def _in_trigrams(rows: QuerySet[Message], terms: list[str]) -> QuerySet[Message]:
    if not terms:
        return rows
    sought = " ".join('"' + term.replace('"', '""') + '"' for term in terms)
    return rows.filter(pk__in=RawSQL("SELECT rowid FROM branching_words WHERE branching_words MATCH %s", [sought]))


def _in_words(rows: QuerySet[Message], terms: list[str]) -> QuerySet[Message]:
    """PostgreSQL knows where words begin; what is no plain word is looked for in the texts themselves."""
    if not terms:
        return rows
    words = 'to_tsvector(\'simple\', left("branching_message"."text", 200000))'
    sought = " & ".join(f"{term}:*" for term in terms)
    found = RawSQL(f"{words} @@ to_tsquery('simple', %s)", [sought], output_field=BooleanField())
    return rows.annotate(is_found=found).filter(is_found=True)
