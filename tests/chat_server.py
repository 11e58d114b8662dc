"""A server with the OpenAI chat interface that answers what a test put in, and remembers what it was asked."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ChatServer:
    """A running server.

    url: its base URL. answers: to be given in this order: a message, or a status with a message or raw bytes.
    asked: path, Authorization header and JSON of every request.
    """

    url: str
    answers: list[str | tuple[int, str | bytes]] = field(default_factory=list)
    asked: list[tuple[str, str | None, dict[str, Any]]] = field(default_factory=list)

    def answer(self) -> tuple[int, bytes]:
        """Status and body of the next answer."""
        given = self.answers.pop(0)
        status, text = (200, given) if isinstance(given, str) else given
        if isinstance(text, bytes):
            return status, text
        return status, json.dumps({"choices": [{"message": {"content": text}}]}).encode()


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """One that runs until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            running.asked.append((self.path, self.headers.get("Authorization"), body))
            status, answer = running.answer()
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = ChatServer(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
