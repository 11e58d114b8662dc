"""`envrl data` end to end: a real server, a real archive, the real files."""

import functools
import hashlib
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

import pytest

from envrl.cli import main
from envrl.commands import data
from envrl.data.download import RemoteFile
from envrl.data.sources import SOURCES


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder that a web server gives out, and its address."""
    folder = tmp_path / "served"
    folder.mkdir()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the data is expected."""
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def small(
    shared_data: Path, served: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Let "alfworld" be an archive of six official games on the server; gives the archive."""
    folder, address = served
    with tarfile.open(shared_data / "alfworld" / "valid_seen.tar.xz") as archive:
        games = [m for m in archive.getmembers() if m.name.endswith("game.tw-pddl")][:6]
        archive.extractall(tmp_path / "plain", members=games, filter="data")
    path = folder / "games.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for game in games:
            zipped.write(tmp_path / "plain" / game.name, game.name)
    content = path.read_bytes()
    file = RemoteFile(f"{address}/games.zip", len(content), hashlib.sha256(content).hexdigest())
    extra = RemoteFile(f"{address}/extra.json", optional=True)
    (folder / "extra.json").write_text("{}")
    source = replace(SOURCES["alfworld"], files=(file, extra))
    sources = MappingProxyType({"alfworld": source})
    monkeypatch.setattr(data, "SOURCES", sources)
    monkeypatch.setattr(data, "find_source", lambda name: sources[name])
    return path


@pytest.mark.shared
def test_download_unpacks_and_verify_counts(
    small: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "list"]) == 0
    assert "absent: `envrl data download alfworld`" in capsys.readouterr().out
    assert main(["data", "verify", "alfworld"]) == 2
    assert "envrl data download alfworld" in capsys.readouterr().err

    assert main(["data", "download", "alfworld"]) == 0
    assert capsys.readouterr().out == f"alfworld: 6 games in {home}\n"
    assert [p.name for p in home.iterdir()] == ["json_2.1.1"]
    assert main(["data", "list"]) == 0
    assert f"folder: {home} ($ALFWORLD_DATA)\n  state:  6 games there" in capsys.readouterr().out

    assert main(["data", "verify", "alfworld"]) == 2  # six are not all
    out, err = capsys.readouterr()
    assert "valid_seen" in out and "valid_seen 6 of 140" in err and "0 broken" in err
    game = next(home.rglob("game.tw-pddl"))
    game.write_text(game.read_text()[:1000])
    assert main(["data", "verify", "alfworld"]) == 2
    err = capsys.readouterr().err
    assert f"broken: {game}" in err and "valid_seen 5 of 140" in err and "1 broken" in err


@pytest.mark.shared
def test_what_is_there_is_left_alone_unless_forced(
    small: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "download", "alfworld"]) == 0
    game = next(home.rglob("game.tw-pddl"))
    game.write_text("mine")
    assert main(["data", "download", "alfworld"]) == 0
    assert "6 games already in" in capsys.readouterr().out and game.read_text() == "mine"
    assert main(["data", "download", "alfworld", "--optional"]) == 0
    assert game.read_text() == "mine" and (home / "extra.json").is_file()
    assert main(["data", "download", "alfworld", "--force", "--keep-archives"]) == 0
    assert game.read_text() != "mine" and (home / "games.zip").is_file()


@pytest.mark.shared
def test_an_interrupted_download_is_resumed_and_a_corrupt_archive_refused(
    small: Path, home: Path, served: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    content = small.read_bytes()
    home.mkdir()
    (home / "games.zip.part").write_bytes(content[: len(content) // 2])
    assert main(["data", "download", "alfworld"]) == 0  # this server knows no ranges: all comes again
    assert capsys.readouterr().out == f"alfworld: 6 games in {home}\n"
    small.write_bytes(content[:-9] + b"corrupted")
    assert main(["data", "download", "alfworld", "--force"]) == 2
    err = capsys.readouterr().err
    assert "games.zip: expected SHA-256" in err and "Traceback" not in err
    assert not list(home.glob("games*"))


@pytest.mark.shared
def test_an_archive_without_games_is_no_success(
    small: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(small, "w") as zipped:
        zipped.writestr("readme.txt", "nothing here")
    source = data.SOURCES["alfworld"]
    bare = replace(source, files=(replace(source.files[0], size=None, sha256=None),))
    monkeypatch.setattr(data, "find_source", lambda name: bare)
    assert main(["data", "download", "alfworld"]) == 2
    assert "holds no games" in capsys.readouterr().err


def test_without_a_network_one_line_says_where_to_put_the_file_by_hand(tmp_path: Path) -> None:
    env = os.environ | {"ALFWORLD_DATA": str(tmp_path), "no_proxy": "*"}
    words = [
        sys.executable,
        "-m",
        "envrl",
        "data",
        "download",
        "alfworld",
        "--mirror",
        "http://127.0.0.1:9/x",
    ]
    result = subprocess.run(words, capture_output=True, text=True, env=env, timeout=300)
    assert result.returncode == 2 and result.stdout == ""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("envrl: ")]
    assert "http://127.0.0.1:9/x/json_2.1.3_tw-pddl.zip" in line and f"put it into {tmp_path}" in line


def test_the_official_files_are_pinned() -> None:
    for source in SOURCES.values():
        for file in source.files:
            assert file.url.startswith("https://") and file.size and len(file.sha256 or "") == 64
