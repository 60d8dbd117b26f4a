"""`make messages`: bring the catalogue in step with the sources, and compile it.

New texts come in empty, to be translated; what nothing uses any more is put aside as obsolete. Works without GNU
gettext. Beside what Django's own `makemessages` finds, it knows that the docstring of a domain error is its message.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import polib
from django.utils.translation.template import templatize

from branching.exceptions import BranchingError

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "chatapp" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"

STRING = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
CALL = re.compile(rf"\b(?:n?gettext|_)\({STRING}(?:, {STRING})*(?:, count)?\)")
FUNCTIONS = {"_", "gettext", "gettext_lazy", "gettext_noop"}
PLURAL_FUNCTIONS = {"ngettext", "ngettext_lazy"}

Text = tuple[str, str]
"""A text of the sources and its plural, which is empty for most."""

TOO_SHORT = "This password is too short. It must contain at least %d character"
LEFT_OUT_BY_DJANGO: tuple[Text, ...] = ((f"{TOO_SHORT}.", f"{TOO_SHORT}s."),)
"""What Django 5.2 itself says without having the Chinese for it."""


def texts() -> dict[Text, list[str]]:
    """Every text that a person may read, and the files that it comes from."""
    found: dict[Text, list[str]] = {}
    for path, text in (*_of_errors(), *_of_python(), *_of_templates(), *_of_django()):
        name = path.relative_to(ROOT).as_posix()
        files = found.setdefault(text, [])
        files += [name] if name not in files else []
    return found


def kinds_of_error(base: type[BranchingError] = BranchingError) -> Iterator[type[BranchingError]]:
    """The class, and all that are derived from it."""
    yield base
    for kind in base.__subclasses__():
        yield from kinds_of_error(kind)


def update() -> polib.POFile:
    """The catalogue as the sources want it; not saved."""
    catalogue = polib.pofile(str(CATALOGUE), wrapwidth=110)
    known = {(entry.msgid, entry.msgid_plural): entry for entry in catalogue}
    used = texts()
    for text, entry in known.items():
        entry.obsolete = text not in used
    catalogue.extend(_new_entry(text) for text in used if text not in known)
    for entry in catalogue:
        entry.occurrences = [(name, "") for name in used.get((entry.msgid, entry.msgid_plural), [])]
    catalogue.sort(key=lambda entry: (entry.obsolete, entry.occurrences))
    return catalogue


def compile_catalogue(catalogue: polib.POFile) -> None:
    """Write what Django reads, beside the catalogue."""
    catalogue.save_as_mofile(str(CATALOGUE.with_suffix(".mo")))


def _of_errors() -> Iterator[tuple[Path, Text]]:
    for kind in kinds_of_error():
        yield ROOT / "branching" / "exceptions.py", (str(kind()), "")


def _of_python() -> Iterator[tuple[Path, Text]]:
    for package in ("branching", "chatapp"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield from ((path, text) for text in texts_in(path.read_text()))


def _of_templates() -> Iterator[tuple[Path, Text]]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield from ((path, text) for text in texts_in_template(path.read_text()))


def _of_django() -> Iterator[tuple[Path, Text]]:
    """As if they were said where the settings ask for them."""
    yield from ((ROOT / "chatapp" / "settings.py", text) for text in LEFT_OUT_BY_DJANGO)


def texts_in(source: str) -> Iterator[Text]:
    """The texts that a piece of Python gives to gettext, under the names that we use."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            strings = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            if node.func.id in FUNCTIONS and strings:
                yield strings[0], ""
            elif node.func.id in PLURAL_FUNCTIONS:
                yield strings[0], strings[1]


def texts_in_template(source: str) -> Iterator[Text]:
    """The texts that a template translates. Django makes calls of them, with filler between."""
    for call in CALL.findall(templatize(source)):
        yield from texts_in(call)


def _new_entry(text: Text) -> polib.POEntry:
    singular, plural = text
    return polib.POEntry(msgid=singular, msgid_plural=plural, msgstr_plural={0: ""} if plural else {})


def main() -> None:
    catalogue = update()
    catalogue.save()
    compile_catalogue(catalogue)
    for entry in catalogue.untranslated_entries():
        print(f"Not translated: {entry.msgid}")


if __name__ == "__main__":
    main()
