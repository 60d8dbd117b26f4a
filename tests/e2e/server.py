"""The real server as a process of its own, with a data folder of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
DEPLOYMENT = {
    "DEBUG": "0",
    "SECRET_KEY": "end-to-end",
    "PLAIN_HTTP": "1",
    "CHAT_GUESTS": "1",
    "CHAT_TOKEN_DELAY_MS": "10",
}


class Server:
    """Serves the app at `url`. Tests never touch its database in their own process: they ask `manage`."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.env = {**os.environ, **DEPLOYMENT, "DATA_DIR": str(folder / "data"), **variables}
        self.log_path = folder / "server.log"
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Serve; returns once pages are answered."""
        self.launch()
        self._wait_until_it_answers()

    def launch(self, *options: str) -> subprocess.Popen[bytes]:
        """The process, just begun: it may not come to serve."""
        with self.log_path.open("ab") as log:
            command = [sys.executable, "-m", *self.command(), *options]
            self.process = subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=log, stderr=log)
        return self.process

    def command(self) -> list[str]:
        """The server as `make run` starts it."""
        command = ["uvicorn", "chatapp.asgi:application", "--port", str(self.port)]
        return [*command, "--lifespan", "on", "--timeout-graceful-shutdown", "3"]

    def stop(self, *, kill: bool = False) -> None:
        """End the process: in order, or by `kill` as a power cut would."""
        if self.process is None:
            return
        self.process.kill() if kill else self.process.terminate()
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process = None

    def restart(self, *, kill: bool = False) -> None:
        """The same data and address in a new process."""
        self.stop(kill=kill)
        self.start()

    def manage(self, *arguments: str) -> str:
        """What a management command on this server's data prints; it must succeed."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def grow(self, thread_id: str, turns: int) -> None:
        """So many turns more on a thread of Echo's, in a process that has no page to serve."""
        command = [sys.executable, "-m", "tests.turns", thread_id, str(turns)]
        env = {**self.env, "CHAT_TOKEN_DELAY_MS": "0", "DJANGO_SETTINGS_MODULE": "chatapp.settings"}
        subprocess.run(command, cwd=ROOT, env=env, check=True, timeout=120)

    def log(self) -> str:
        """What the server has written so far."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def _wait_until_it_answers(self) -> None:
        for _ in range(300):
            assert self.process and self.process.poll() is None, f"The server ended:\n{self.log()}"
            try:
                urlopen(f"{self.url}/login/", timeout=10).close()
            except HTTPError:
                return  # an answer all the same
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError(f"The server does not answer:\n{self.log()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
