"""Resumable download of one file over HTTP, checked against its size and SHA-256.

A download grows under ``NAME.part`` and takes its name only when complete and right, so a file with the
final name is whole. A later call goes on where the last one stopped (HTTP Range, guarded by the ETag).
"""

import hashlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from envrl import __version__
from envrl.envs.errors import DataNotFound, InvalidData

_BLOCK = 1 << 16
_TIMEOUT_SECONDS = 30.0
#: ``progress(bytes so far, bytes in all or None)``
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class RemoteFile:
    """A file to fetch.

    Args:
        url: where it lies.
        size: bytes, where known.
        sha256: hex digest, where known.
        optional: fetched only when asked for.
        note: what it is for, in a few words.
        filename: what to call it; by default the last part of the address.
    """

    url: str
    size: int | None = None
    sha256: str | None = None
    optional: bool = False
    note: str = ""
    filename: str = ""

    @property
    def name(self) -> str:
        """The file's name."""
        return self.filename or self.url.rsplit("/", 1)[-1]

    def at(self, mirror: str | None) -> str:
        """The address: the original one, or the same file name under ``mirror``."""
        return self.url if mirror is None else f"{mirror.rstrip('/')}/{self.name}"


def fetch(
    file: RemoteFile,
    folder: Path,
    *,
    mirror: str | None = None,
    progress: Progress = lambda done, total: None,
    attempts: int = 5,
    pause: float = 1.0,
) -> Path:
    """Have ``file`` whole in ``folder``; gives its path. What is already there and right is not fetched.

    Another file of that name stays until the right one has arrived.

    Args:
        file: what to fetch.
        folder: where it goes; made when absent.
        mirror: base address to use in place of the original one.
        progress: called with (bytes so far, bytes in all or None).
        attempts: how often a broken connection is taken up again.
        pause: seconds before the second attempt, doubled for each further one.

    Raises:
        DataNotFound: no connection, or the server has no such file; says where to put the file by hand.
        InvalidData: what came is not the expected file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target, part = folder / file.name, folder / f"{file.name}.part"
    fault = _fault(file, target) if target.is_file() else None
    if target.is_file() and fault is None:
        return target
    url = file.at(mirror)
    by_hand = f"the one that is there is another file ({fault}); " if fault else ""
    by_hand += f"get {url} elsewhere, put it into {folder} as {file.name} and run the same command again"
    for attempt in range(1, attempts + 1):
        try:
            _continue(url, part, file, progress)
            break
        except urllib.error.HTTPError as error:
            if error.code < 500 or attempt == attempts:
                reason = f"the server answers {error.code} {error.reason}"
                raise DataNotFound(f"cannot download {file.name}: {reason}; {by_hand}") from error
        except _WebPage as error:
            reason = "the server sends a web page instead, perhaps as too many people have asked for the file"
            raise DataNotFound(f"cannot download {file.name}: {reason}; {by_hand}") from error
        except (OSError, http.client.HTTPException) as error:
            if attempt == attempts or _hopeless(error):
                cause = getattr(error, "reason", None) or error
                raise DataNotFound(f"cannot download {file.name}: {cause}; {by_hand}") from error
        time.sleep(pause * 2 ** (attempt - 1))
    fault = _fault(file, part)
    if fault is not None:
        _reject(part, fault)
    part.replace(target)
    _etag_path(part).unlink(missing_ok=True)
    return target


class _WebPage(Exception):
    """The server sent a page for people in place of the file, as Google Drive does over its daily limit."""


def _hopeless(error: Exception) -> bool:
    """Whether there is no way to the server at all (no such host, refused), not merely a broken transfer."""
    reason = getattr(error, "reason", None)
    return isinstance(reason, OSError) and not isinstance(reason, TimeoutError)


def _etag_path(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def _continue(url: str, part: Path, file: RemoteFile, progress: Progress) -> None:
    """One request: fetch what ``part`` lacks. Returns when the body is complete."""
    have = part.stat().st_size if part.is_file() else 0
    if file.size is not None and have >= file.size:
        if have == file.size:
            return
        part.unlink()
        have = 0
    request = urllib.request.Request(url, headers={"User-Agent": f"envrl/{__version__}"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        # Without a validator a file that changed on the server would be glued together from two versions;
        # the final SHA-256 catches that too, but only where it is known.
        if _etag_path(part).is_file():
            request.add_header("If-Range", _etag_path(part).read_text())
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        if error.headers.get("Content-Range") == f"bytes */{have}":
            return  # everything had arrived before
        part.unlink()
        return _continue(url, part, file, progress)
    with response:
        if response.headers.get_content_type() == "text/html":
            raise _WebPage
        resumed = response.status == http.HTTPStatus.PARTIAL_CONTENT and _starts_at(response, have)
        if not resumed:
            have = 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else file.size
        etag = response.headers.get("ETag")
        # a weak ETag may not be used with If-Range (RFC 9110, 13.1.5)
        if etag and not etag.startswith("W/"):
            _etag_path(part).write_text(etag)
        else:
            _etag_path(part).unlink(missing_ok=True)
        with part.open("ab" if resumed else "wb") as out:
            progress(have, total)
            while block := response.read(_BLOCK):
                out.write(block)
                have += len(block)
                progress(have, total)
    if total is not None and have < total:
        raise http.client.IncompleteRead(b"", total - have)


def _starts_at(response: http.client.HTTPResponse, have: int) -> bool:
    return (response.headers.get("Content-Range") or "").startswith(f"bytes {have}-")


def _fault(file: RemoteFile, path: Path) -> str | None:
    """What is wrong with the size or the SHA-256, where they are known; None where nothing is."""
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return f"expected {file.size} bytes, found {size}"
    if file.sha256 is not None:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != file.sha256:
            return f"expected SHA-256 {file.sha256}, found {digest}"
    return None


def _reject(path: Path, reason: str) -> None:
    """Remove a wrong download, since resuming it could never end well."""
    path.unlink()
    _etag_path(path).unlink(missing_ok=True)
    name = path.name.removesuffix(".part")
    raise InvalidData(f"{name}: {reason}; the file was removed, run the same command to fetch it again")
