"""``envrl data``: list, fetch and check the data sets that environments read."""

import os
import sys
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from envrl.commands.progress import progress_bar
from envrl.data.download import fetch
from envrl.data.sources import SOURCES, find_source
from envrl.data.unpack import is_archive, unpack
from envrl.envs.errors import DataNotFound, InvalidData

_SHOWN_BROKEN = 20


@dataclass(frozen=True)
class ListConfig:
    """Show every data set: what it is, where it is expected and whether it is there."""


def list_data(config: ListConfig) -> None:
    """Print one block a data set."""
    for source in SOURCES.values():
        items = source.present()
        state = f"{items} {source.unit} there" if items else f"absent: `envrl data download {source.name}`"
        setting = os.environ.get(source.variable)
        origin = f"${source.variable}" if setting else f"default; set {source.variable} to move it"
        print(f"{source.name}: {source.title} ({source.licence})")
        print(f"  folder: {source.folder()} ({origin})")
        print(f"  state:  {state}")


@dataclass(frozen=True)
class DownloadConfig:
    """Fetch a data set and unpack it where the environments look for it; goes on where a try stopped."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """data set, as in `envrl data list`"""
    mirror: str | None = None
    """base address that serves the same files, in place of the official one"""
    optional: bool = False
    """also fetch the files that EnvRL itself does not need"""
    keep_archives: bool = False
    """leave the archives in the folder after unpacking"""
    force: bool = False
    """fetch and unpack even if items are there already"""


def download(config: DownloadConfig) -> None:
    """Fetch and unpack; one line a file."""
    source = find_source(config.name)
    folder, there = source.folder(), source.present()
    if there and not config.force:
        print(f"{source.name}: {there} {source.unit} already in {folder} (--force fetches them again)")
    wanted = [f for f in source.files if (config.optional if f.optional else config.force or not there)]
    for number, file in enumerate(wanted):
        with progress_bar(file.name, "bytes") as bar:
            try:
                path = fetch(file, folder, mirror=config.mirror, progress=bar.to)
            except DataNotFound as error:
                others = [f.name for f in wanted[number + 1 :] if not (folder / f.name).is_file()]
                raise DataNotFound(
                    f"{error}; after it {' and '.join(others)}" if others else str(error)
                ) from error
        if not is_archive(path):
            continue
        with progress_bar(f"unpacking {file.name}", "files") as bar:
            unpack(path, folder, progress=bar.to)
        if not config.keep_archives:
            path.unlink()
    found = source.present()
    if found == 0:
        raise InvalidData(f"{source.name}: the download holds no {source.unit}; expected them under {folder}")
    if config.force or not there:
        print(f"{source.name}: {found} {source.unit} in {folder}")


@dataclass(frozen=True)
class VerifyConfig:
    """Read every item of a data set: count each part against what is official and report what is broken."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """data set, as in `envrl data list`"""


def verify(config: VerifyConfig) -> None:
    """Print a table of the parts; raises InvalidData unless all of them are complete."""
    source = find_source(config.name)
    total = source.present()
    if not total:
        raise DataNotFound(
            f"{source.name}: no {source.unit} in {source.folder()}; "
            f"`envrl data download {source.name}` fetches them, {source.variable} names another folder"
        )
    with progress_bar(f"checking {source.name}", source.unit) as bar:
        parts = source.parts(lambda: bar.advance(total))
    table = Table(title=f"{source.name} in {source.folder()}")
    for column in ("part", source.unit, "expected", "broken"):
        table.add_column(column, justify="left" if column == "part" else "right")
    for part in parts:
        expected = "any" if part.expected is None else str(part.expected)
        table.add_row(part.name, str(part.found), expected, str(len(part.broken)))
    Console(soft_wrap=True).print(table)
    broken = [item for part in parts for item in part.broken]
    for path, reason in broken[:_SHOWN_BROKEN]:
        print(f"broken: {reason if path in reason else f'{path}: {reason}'}", file=sys.stderr)
    if len(broken) > _SHOWN_BROKEN:
        print(f"... and {len(broken) - _SHOWN_BROKEN} more", file=sys.stderr)
    wrong = [f"{p.name} {p.found} of {p.expected}" for p in parts if not p.complete]
    if wrong:
        raise InvalidData(
            f"{source.name}: {'; '.join(wrong)}, {len(broken)} broken; "
            f"`envrl data download {source.name} --force` fetches it again"
        )
