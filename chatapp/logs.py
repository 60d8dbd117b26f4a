"""How a log line looks: `logger.error("...", extra={"thread_id": ..., "run_id": ...})` shows both ids."""

from __future__ import annotations

import logging

IDS = ("thread_id", "run_id")


class IdFormatter(logging.Formatter):
    """Adds the thread and the run that a record is about, so that one search finds their whole story."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        ids = [f"{name}={record.__dict__[name]}" for name in IDS if record.__dict__.get(name)]
        return " ".join([super().formatMessage(record), *ids])
