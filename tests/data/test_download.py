"""Downloads against a real HTTP server on the loopback interface."""

import hashlib
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from envrl.data.download import RemoteFile, fetch
from envrl.envs.errors import DataNotFound, InvalidData

BODY = random.Random(0).randbytes(300_000)
SHA256 = hashlib.sha256(BODY).hexdigest()


@dataclass
class Server:
    """What the server gives out and what it was asked."""

    body: bytes = BODY
    etag: str = '"v1"'
    ranges: bool = True
    cut_after: list[int] = field(default_factory=list)  # bytes to send of each of the next answers
    status: list[int] = field(default_factory=list)  # codes of the next answers
    seen: list[str | None] = field(default_factory=list)  # Range header of every request
    url: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    facts = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            facts.seen.append(asked)
            if self.path != "/data.bin":
                self.send_error(404)
                return
            if facts.status:
                self.send_error(facts.status.pop(0))
                return
            first = 0
            if asked and facts.ranges and self.headers.get("If-Range", facts.etag) == facts.etag:
                first = int(asked.removeprefix("bytes=").removesuffix("-"))
            if first >= len(facts.body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(facts.body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            rest = facts.body[first:]
            self.send_response(206 if first else 200)
            if first:
                last = len(facts.body) - 1
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(facts.body)}")
            self.send_header("Content-Length", str(len(rest)))
            self.send_header("ETag", facts.etag)
            self.end_headers()
            if facts.cut_after:
                self.wfile.write(rest[: facts.cut_after.pop(0)])
                self.close_connection = True
            else:
                self.wfile.write(rest)

        def log_message(self, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    facts.url = f"http://127.0.0.1:{httpd.server_port}/data.bin"
    yield facts
    httpd.shutdown()
    httpd.server_close()


def known(server: Server) -> RemoteFile:
    return RemoteFile(server.url, size=len(BODY), sha256=SHA256)


def test_a_whole_download_arrives_under_its_name(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    path = fetch(known(server), tmp_path / "new", progress=lambda done, total: seen.append((done, total)))
    assert path == tmp_path / "new" / "data.bin" and path.read_bytes() == BODY
    assert [p.name for p in path.parent.iterdir()] == ["data.bin"]
    assert seen[0] == (0, len(BODY)) and seen[-1] == (len(BODY), len(BODY))


def test_what_is_there_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(BODY)
    fetch(known(server), tmp_path)
    assert server.seen == []


def test_a_broken_transfer_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.cut_after = [100_000, 50_000]
    path = fetch(known(server), tmp_path, pause=0.01)
    assert path.read_bytes() == BODY
    assert server.seen == [None, "bytes=100000-", "bytes=150000-"]


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(server: Server, tmp_path: Path) -> None:
    server.cut_after = [120_000]
    with pytest.raises(DataNotFound, match=r"data\.bin.*put it into"):
        fetch(known(server), tmp_path, attempts=1)
    assert not (tmp_path / "data.bin").exists()
    assert (tmp_path / "data.bin.part").stat().st_size == 120_000
    path = fetch(known(server), tmp_path)
    assert path.read_bytes() == BODY and server.seen == [None, "bytes=120000-"]
    assert [p.name for p in tmp_path.iterdir()] == ["data.bin"]


def test_a_file_that_changed_on_the_server_is_not_glued_together(server: Server, tmp_path: Path) -> None:
    server.cut_after = [120_000]
    unknown = RemoteFile(server.url)
    with pytest.raises(DataNotFound):
        fetch(unknown, tmp_path, attempts=1)
    server.body, server.etag = BODY[::-1], '"v2"'
    assert fetch(unknown, tmp_path).read_bytes() == BODY[::-1]


def test_a_server_without_ranges_sends_everything_again(server: Server, tmp_path: Path) -> None:
    server.ranges, server.cut_after = False, [70_000]
    assert fetch(known(server), tmp_path, pause=0.01).read_bytes() == BODY


def test_a_complete_part_of_unknown_size_needs_no_more_bytes(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.bin.part").write_bytes(BODY)
    assert fetch(RemoteFile(server.url, sha256=SHA256), tmp_path).read_bytes() == BODY
    assert server.seen == [f"bytes={len(BODY)}-"]


def test_a_part_that_is_too_long_is_begun_anew(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.bin.part").write_bytes(BODY + b"more")
    assert fetch(RemoteFile(server.url), tmp_path).read_bytes() == BODY
    (tmp_path / "data.bin").unlink()
    (tmp_path / "data.bin.part").write_bytes(BODY + b"more")
    assert fetch(known(server), tmp_path).read_bytes() == BODY


def test_another_file_of_that_name_stays_until_the_right_one_is_there(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(b"put here by hand")
    gone = RemoteFile("http://127.0.0.1:9/data.bin", size=len(BODY))  # the discard port: refused
    with pytest.raises(DataNotFound, match=r"is another file \(expected 300000 bytes, found 16\); get http"):
        fetch(gone, tmp_path)
    assert path.read_bytes() == b"put here by hand"
    assert fetch(known(server), tmp_path).read_bytes() == BODY


def test_wrong_content_is_removed_and_named(server: Server, tmp_path: Path) -> None:
    server.body = BODY[:-1] + b"?"
    with pytest.raises(InvalidData, match=rf"data\.bin: expected SHA-256 {SHA256}, found"):
        fetch(known(server), tmp_path)
    assert list(tmp_path.iterdir()) == []
    server.body = BODY[:-1]
    with pytest.raises(InvalidData, match="expected 300000 bytes, found 299999"):
        fetch(known(server), tmp_path)


def test_a_server_error_is_tried_again_and_a_missing_file_is_not(server: Server, tmp_path: Path) -> None:
    server.status = [503, 502]
    assert fetch(known(server), tmp_path, pause=0.01).read_bytes() == BODY
    server.seen.clear()
    with pytest.raises(DataNotFound, match="404"):
        fetch(RemoteFile(server.url.replace("data", "other")), tmp_path)
    assert len(server.seen) == 1


def test_no_way_to_the_server_says_where_to_put_the_file_by_hand(server: Server, tmp_path: Path) -> None:
    gone = RemoteFile("http://127.0.0.1:9/json.zip")  # the discard port: refused
    with pytest.raises(DataNotFound) as caught:
        fetch(gone, tmp_path)
    message = str(caught.value)
    assert gone.url in message and str(tmp_path) in message and "\n" not in message


def test_a_mirror_serves_the_same_name(server: Server, tmp_path: Path) -> None:
    file = RemoteFile("https://example.invalid/releases/data.bin", len(BODY), SHA256)
    assert fetch(file, tmp_path, mirror=server.url.removesuffix("data.bin")).read_bytes() == BODY
