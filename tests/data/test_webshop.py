"""WebShop's files: counted, checked, downloaded from a server and placed by hand."""

import functools
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

import pytest

from envrl.cli import main
from envrl.commands import data
from envrl.data.download import RemoteFile, fetch
from envrl.data.sources import SOURCES, Part
from envrl.data.webshop import check_catalogues, count_catalogues
from envrl.envs.errors import DataNotFound

SMALL = ("items_human_ins.json", "items_ins_v2_1000.json", "items_shuffle_1000.json")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the data is expected."""
    monkeypatch.setenv("WEBSHOP_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def served(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server with the official thousand; `envrl data` knows their sizes and checksums here."""
    folder = tmp_path / "served"
    folder.mkdir()
    for name in SMALL:
        content = (shared_data / "webshop" / name.replace("_ins.json", "_ins_1000.json")).read_bytes()
        (folder / name).write_bytes(content)

    def pinned(file: RemoteFile) -> RemoteFile:
        content = (folder / file.name).read_bytes()
        return replace(file, size=len(content), sha256=hashlib.sha256(content).hexdigest())

    files = tuple(pinned(file) for file in SOURCES["webshop"].files if not file.optional)
    sources = MappingProxyType({"webshop": replace(SOURCES["webshop"], files=files)})
    monkeypatch.setattr(data, "SOURCES", sources)
    monkeypatch.setattr(data, "find_source", lambda name: sources[name])
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()


@pytest.mark.shared
def test_download_and_verify(served: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "verify", "webshop"]) == 2
    assert f"no catalogues in {home}; `envrl data download webshop` fetches them" in capsys.readouterr().err
    assert main(["data", "download", "webshop", "--mirror", served]) == 0
    assert capsys.readouterr().out == f"webshop: 1 catalogues in {home}\n"
    assert sorted(path.name for path in home.iterdir()) == sorted(SMALL)
    assert main(["data", "verify", "webshop"]) == 0
    out = capsys.readouterr().out
    assert "official-1k products" in out and "6910" in out


@pytest.mark.shared
def test_a_download_that_was_cut_goes_on(served: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "download", "webshop", "--mirror", served]) == 0
    items = home / "items_shuffle_1000.json"
    content = items.read_bytes()
    items.unlink()
    items.with_name(items.name + ".part").write_bytes(content[:1000])
    assert count_catalogues(home) == 0  # products come last
    assert main(["data", "download", "webshop", "--mirror", served]) == 0
    assert items.read_bytes() == content


@pytest.mark.shared
def test_broken_files_are_reported(served: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "download", "webshop", "--mirror", served]) == 0
    items = home / "items_shuffle_1000.json"
    items.write_bytes(items.read_bytes()[:500_000])
    assert main(["data", "verify", "webshop"]) == 2
    err = capsys.readouterr().err
    assert f"broken: {items}" in err and "of 1000, 1 broken" in err and "Traceback" not in err


@pytest.mark.shared
def test_parts_of_the_official_thousand(shared_data: Path) -> None:
    assert check_catalogues(shared_data / "webshop") == (
        Part("official-1k products", 1000, 1000),
        Part("official-1k synthetic goals", 6910, 6910),
        Part("official-1k human goals", 13, None),
    )


def test_without_a_network_one_line_says_where_to_put_the_file_by_hand(tmp_path: Path) -> None:
    env = os.environ | {"WEBSHOP_DATA": str(tmp_path), "no_proxy": "*"}
    words = [sys.executable, "-m", "envrl", "data", "download", "webshop", "--mirror", "http://127.0.0.1:9/x"]
    result = subprocess.run(words, capture_output=True, text=True, env=env, timeout=60)
    assert result.returncode == 2 and result.stdout == ""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("envrl: ")]
    assert "http://127.0.0.1:9/x/items_human_ins.json" in line
    assert f"put it into {tmp_path} as items_human_ins.json" in line


def test_a_web_page_in_place_of_the_file_is_said_to_be_one(tmp_path: Path) -> None:
    class Drive(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = b"<html>Too many users have viewed or downloaded this file recently.</html>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Drive)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    try:
        file = RemoteFile(f"http://127.0.0.1:{httpd.server_port}/download?id=x", filename="items.json")
        with pytest.raises(DataNotFound, match=r"cannot download items\.json: the server sends a web page"):
            fetch(file, tmp_path)
    finally:
        httpd.shutdown()
        httpd.server_close()
    assert list(tmp_path.iterdir()) == []


def test_addresses_are_those_of_google_drive_and_names_are_those_of_the_loader() -> None:
    files = SOURCES["webshop"].files
    assert {file.name for file in files} == {*SMALL, "items_ins_v2.json", "items_shuffle.json"}
    assert len({file.url for file in files}) == 5
    assert all(file.at("http://m/") == f"http://m/{file.name}" for file in files)
