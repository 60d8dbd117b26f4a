"""`python -m tests.postgres COMMAND...`: run a command beside a PostgreSQL server that lives only as long.

Its data are in a folder that goes with it, it listens on a socket in there and on no port, and `TEST_DATABASE_URL`
tells the command where. PostgreSQL refuses to run as root: then it runs as the user that Debian's package made.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

DEBIAN = Path("/usr/lib/postgresql")

# Sorted as people sort, not by bytes: what depends on the order of texts must say so. And nothing waits for a disk.
INITDB = ("--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync")
INITDB += ("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")
SERVER = "-c listen_addresses='' -c max_connections=60"
SERVER += " -c fsync=off -c full_page_writes=off -c synchronous_commit=off"


def program(name: str) -> str:
    """Where it is: on the path, or where Debian puts it."""
    found = shutil.which(name) or max(map(str, DEBIAN.glob(f"*/bin/{name}")), default=None)
    if found is None:
        raise SystemExit(f"PostgreSQL's {name} is not installed. `.ci/need postgres` sees to it.")
    return found


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server that is up, and stopped at the end."""
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="switchback-postgres-", ignore_cleanup_errors=True) as name:
        folder, data = Path(name), Path(name) / "data"
        folder.chmod(0o755)
        if user:
            shutil.chown(folder, user="postgres")
        _run(program("initdb"), "-D", data, *INITDB, **user)
        _run(program("pg_ctl"), "-D", data, "-l", folder / "log", "-o", f"{SERVER} -k {folder}", "-w", "start", **user)
        try:
            yield f"postgres://postgres@{quote(name, safe='')}/postgres"
        finally:
            _run(program("pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop", **user)


def _run(*command: Any, **options: Any) -> None:
    done = subprocess.run(list(map(str, command)), cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode:
        raise SystemExit(done.stdout.decode(errors="replace"))


def main(command: Sequence[str]) -> int:
    """The exit code of the command."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped then too
    with server() as url:
        return subprocess.run(command, env={**os.environ, "TEST_DATABASE_URL": url}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
