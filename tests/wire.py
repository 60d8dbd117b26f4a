"""A provider on 127.0.0.1 that speaks OpenAI's protocol over a real socket: it streams, calls tools, and fails as told.

As strict as the real one: a conversation in which a tool call has no result, or a result no call, is refused.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Call:
    """A tool call as a model writes it: the arguments are text, which may be no JSON."""

    name: str
    arguments: str
    id: str = "call_1"


@dataclass(frozen=True)
class Answer:
    """What one request is answered with."""

    pieces: Sequence[str] = ("Streamed", " in", " pieces", ".")
    calls: Sequence[Call] = ()
    usage: dict[str, Any] | None = None
    status: int = 200
    error: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    """The connection breaks after so many pieces."""
    garbled: bool = False
    """After the first piece comes a line that is no JSON."""
    silent: float = 0.0
    """Seconds of silence after the first piece."""
    breathes: bool = False
    """In its silence it keeps the connection alive, as OpenAI does, with comments that say nothing."""


class Provider(ThreadingHTTPServer):
    """Gives its answers in turn, the last one for ever, always under the same id."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Completions)
        self.answers: list[Answer] = [Answer()]
        self.requests: list[dict[str, Any]] = []
        self.was_asked, self.may_go_on = threading.Event(), threading.Event()
        self.may_go_on.set()

    @classmethod
    @contextmanager
    def serving(cls) -> Iterator[Self]:
        """It, while it serves."""
        with cls() as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
            thread.start()
            yield server
            server.may_go_on.set()
            server.shutdown()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def next_answer(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Completions(BaseHTTPRequestHandler):
    server: Provider
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({"path": self.path, "key": self.headers["Authorization"], **body})
        self.server.was_asked.set()
        answer = self.server.next_answer()
        if wrong := out_of_order(body["messages"]):
            answer = Answer(status=400, error={"message": wrong})
        with suppress(ConnectionError):  # whoever asked may have had enough
            self._stream(answer) if answer.status == 200 else self._refuse(answer)

    def _refuse(self, answer: Answer) -> None:
        body = json.dumps({"error": {"message": "no", **answer.error}}).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer: Answer) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, piece in enumerate(answer.pieces):
            if number == answer.cut_after:
                self.close_connection = True
                return
            self._say({"content": piece, **({} if number else {"role": "assistant"})})
            if not number:
                self._pause(answer)
        self._call(answer.calls)
        self._say({}, finish="tool_calls" if answer.calls else "stop")
        if answer.usage:
            self._event({"choices": [], "usage": answer.usage})
        self._write(b"data: [DONE]\n\n")
        self._write(b"")

    def _pause(self, answer: Answer) -> None:
        self.server.may_go_on.wait(10)
        for _breath in range(10):
            time.sleep(answer.silent / 10)
            if answer.breathes:
                self._write(b": keepalive\n\n")
        if answer.garbled:
            self._write(b'data: {"choices": [{"delta": \n\n')

    def _call(self, calls: Sequence[Call]) -> None:
        """The calls, their arguments in small pieces, as they are written."""
        for number, call in enumerate(calls):
            named = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
            self._say({"tool_calls": [{"index": number, **named}]})
            for start in range(0, len(call.arguments), 7):
                part = {"arguments": call.arguments[start : start + 7]}
                self._say({"tool_calls": [{"index": number, "function": part}]})

    def _say(self, delta: dict[str, Any], finish: str | None = None) -> None:
        self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _event(self, content: dict[str, Any]) -> None:
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "tiny-1"}
        self._write(f"data: {json.dumps({**chunk, **content})}\n\n".encode())

    def _write(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Keep the tests' output clean."""


def out_of_order(messages: Sequence[dict[str, Any]]) -> str:
    """What OpenAI says of a conversation whose tool calls and results do not fit; empty where they do."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            waiting.remove(message["tool_call_id"])
        elif waiting:
            break
        else:
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
    return f"tool_calls did not have response messages: {', '.join(waiting)}" if waiting else ""
