"""The browser face of a `Session`: a web server on loopback that one person plays through.

The address holds a secret, so that no other page in the same browser can act in the game; requests that name
another host are refused too (DNS rebinding).
"""

import secrets
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from envrl.play.session import Session
from envrl.play.webpages import COMMANDS, page_of

_POLICY = (
    "default-src 'none'; img-src https: data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_GOODBYE = '<!DOCTYPE html>\n<html lang="en"><title>EnvRL</title><p id="goodbye">You can close this page.</p></html>\n'


class BrowserGame:
    """Plays a session to its end through a browser.

    Args:
        session: the game; already begun.
        port: of the server on 127.0.0.1; 0 takes a free one.
        on_game_end: called once for each game that ends or is left, before its turns are forgotten.
    """

    def __init__(
        self, session: Session, port: int = 0, on_game_end: Callable[[], None] = lambda: None
    ) -> None:
        self.session, self.on_game_end = session, on_game_end
        self._notice = ""
        self._lock = threading.Lock()  # a browser asks over several connections at once
        self._path = f"/{secrets.token_urlsafe(12)}/"
        self._server = _Server(("127.0.0.1", port), _handler_for(self))

    @property
    def url(self) -> str:
        """Where the game is."""
        return f"http://127.0.0.1:{self._server.server_port}{self._path}"

    def loop(self) -> None:
        """Serve until the player quits; an interrupt passes on, with the game handed over."""
        try:
            self._server.serve_forever(poll_interval=0.1)
        finally:
            self._server.server_close()
            with self._lock:
                self._leave_game()

    # ---- what a request does ---------------------------------------------------------------------------

    def allows(self, host: str | None, path: str) -> bool:
        """Whether a request is the player's."""
        port = self._server.server_port
        known = secrets.compare_digest(path.encode(), self._path.encode())
        return known and host in (f"127.0.0.1:{port}", f"localhost:{port}")

    def page(self) -> str:
        """The present page; a notice is shown once."""
        with self._lock:
            notice, self._notice = self._notice, ""
            return page_of(self.session, notice)

    def act(self, action: str) -> None:
        """Carry out an action of the player."""
        with self._lock:
            session = self.session
            if session.over:
                self._notice = "The game is over: start again, or take a new task."
                return
            status = session.act(action).next_info["action_status"]
            if status in ("malformed", "inadmissible"):
                self._notice = f"{action!r} does nothing here ({status})."

    def command(self, word: str) -> bool:
        """Carry out a command of the player; False ends the loop."""
        with self._lock:
            session = self.session
            match word:
                case "quit":
                    return False
                case "hint":
                    hint = session.hint()
                    self._notice = (
                        f"The expert would do: {hint}" if hint else "No expert knows a way from here."
                    )
                case "undo":
                    self._notice = "Taken back." if session.undo() else "Nothing to take back."
                case "restart" | "new":
                    self._leave_game()
                    if word == "restart":
                        session.restart()
                    else:
                        session.begin()
        return True

    def stop(self) -> None:
        """End the loop; from any thread but that of the loop."""
        self._server.shutdown()

    def _leave_game(self) -> None:
        if self.session.turns:
            self.on_game_end()
            self.session.turns.clear()  # so that no game is handed over twice


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep still where a browser hangs up in the middle, as on a second click."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler_for(game: BrowserGame) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            try:
                address = urlsplit(self.path)
            except ValueError:  # such as http://[
                self._answer(HTTPStatus.NOT_FOUND, "There is no game here.\n")
                return
            if not game.allows(self.headers.get("Host"), address.path):
                self._answer(HTTPStatus.NOT_FOUND, "There is no game here.\n")
                return
            asked = parse_qs(address.query, keep_blank_values=True)
            if "action" in asked:
                game.act(asked["action"][0])
                self._answer(HTTPStatus.SEE_OTHER, "", {"Location": address.path})
            elif (word := asked.get("command", [""])[0]) in COMMANDS:
                if game.command(word):
                    self._answer(HTTPStatus.SEE_OTHER, "", {"Location": address.path})
                else:
                    self._answer(HTTPStatus.OK, _GOODBYE)
                    threading.Thread(target=game.stop).start()
            else:
                self._answer(HTTPStatus.OK, game.page())

        def _answer(self, status: HTTPStatus, text: str, headers: dict[str, str] | None = None) -> None:
            content = text.encode("utf-8", "replace")
            self.send_response(status)
            fixed = {
                "Content-Type": "text/html; charset=utf-8",
                "Content-Length": str(len(content)),
                "Cache-Control": "no-store",
                "Referrer-Policy": "no-referrer",
                "Content-Security-Policy": _POLICY,
            }
            for name, value in (fixed | (headers or {})).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on the terminal."""

    return Handler
