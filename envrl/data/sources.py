"""The data sets EnvRL knows: where each comes from, where it lies on this machine, how it is checked.

Another data set is one more `DataSource` in `SOURCES`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from envrl.data.download import RemoteFile
from envrl.envs.errors import DataNotFound


class Part(NamedTuple):
    """What one part (a split, a file) of a data set holds.

    name: the part. found: sound items there. expected: items the official data has; None where any number
    will do. broken: (path, reason) of each item that cannot be used.
    """

    name: str
    found: int
    expected: int | None
    broken: tuple[tuple[str, str], ...] = ()

    @property
    def complete(self) -> bool:
        """Nothing lacks and nothing is broken."""
        return not self.broken and (self.expected is None or self.found == self.expected)


#: ``check(folder, progress)``: every part of the data set in ``folder``; ``progress`` is called once an item
Check = Callable[[Path, Callable[[], None]], tuple[Part, ...]]


@dataclass(frozen=True)
class DataSource:
    """A data set.

    Args:
        name: what the command line calls it.
        title: one line on what it is.
        licence: under which its owners give it out.
        locate: ``module:function`` that gives the folder it lies in on this machine.
        variable: environment variable that moves the folder.
        count: ``module:function``, ``count(folder) -> int``: items there, at a glance.
        check: ``module:function``, a `Check` that reads every item.
        unit: what an item is, in the plural.
        files: what to download; archives are unpacked into the folder.
    """

    name: str
    title: str
    licence: str
    locate: str
    variable: str
    count: str
    check: str
    unit: str
    files: tuple[RemoteFile, ...]

    def folder(self) -> Path:
        """Where the data set lies, or would lie, on this machine."""
        return Path(_resolve(self.locate)())

    def present(self) -> int:
        """How many items are there, without reading them."""
        return int(_resolve(self.count)(self.folder()))

    def parts(self, progress: Callable[[], None] = lambda: None) -> tuple[Part, ...]:
        """Every part of the data set, each item read and checked."""
        check: Check = _resolve(self.check)
        return check(self.folder(), progress)


def _resolve(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found


_GOOGLE_DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="
_ALFWORLD_RELEASES = "https://github.com/alfworld/alfworld/releases/download"

SOURCES: Mapping[str, DataSource] = {
    source.name: source
    for source in (
        DataSource(
            name="alfworld",
            title="ALFWorld's official text games: 3553 train, 140 valid_seen, 134 valid_unseen",
            licence="MIT",
            locate="envrl.data.alfworld:data_folder",
            variable="ALFWORLD_DATA",
            count="envrl.data.alfworld:count_games",
            check="envrl.data.alfworld:check_games",
            unit="games",
            files=(
                RemoteFile(
                    f"{_ALFWORLD_RELEASES}/0.4.2/json_2.1.3_tw-pddl.zip",
                    size=36_507_267,
                    sha256="5df77ea759f2211a4106082839ddbbb790f1ba4e7d097ed732cf453f72aa36cf",
                    note="the games",
                ),
                RemoteFile(
                    f"{_ALFWORLD_RELEASES}/0.2.2/json_2.1.1_json.zip",
                    size=72_018_818,
                    sha256="25171f16e20ad7b048c47275c45b0babf3aa1cbab29cec97387922350a9844bc",
                    optional=True,
                    note="ALFRED's trajectories (traj_data.json), which the original alfworld package wants",
                ),
            ),
        ),
        DataSource(
            name="webshop",
            title="WebShop's official products: 1,000 of them, and with --optional all 1.18 million (5.7 GB)",
            licence="MIT",
            locate="envrl.data.webshop:data_folder",
            variable="WEBSHOP_DATA",
            count="envrl.data.webshop:count_catalogues",
            check="envrl.data.webshop:check_catalogues",
            unit="catalogues",
            # products come last: a catalogue counts once they are there
            files=(
                RemoteFile(
                    f"{_GOOGLE_DRIVE}14Kb5SPBk_jfdLZ_CDBNitW98QLDlKR5O",
                    size=5_137_548,
                    sha256="cf78667548a71786e1d9049c24b802e48e1084ad4bb021cae56ce1f6d96954a3",
                    filename="items_human_ins.json",
                    note="instructions by people",
                ),
                RemoteFile(
                    f"{_GOOGLE_DRIVE}1IduG0xl544V_A_jv3tHXC0kyFi7PnyBu",
                    size=147_099,
                    sha256="f88a36314a397b53b3d9c3fa5878e5f7b26d35019a51ec83fbedeca61a948f6f",
                    filename="items_ins_v2_1000.json",
                    note="attributes and instructions of 1,000 products",
                ),
                RemoteFile(
                    f"{_GOOGLE_DRIVE}1EgHdxQ_YxqIQlvvq5iKlCrkEKR6-j0Ib",
                    size=4_467_013,
                    sha256="30a4765c3a327af72d9a9a95a6b2486d516f0fa1d3ecd83681901ce82a21b269",
                    filename="items_shuffle_1000.json",
                    note="1,000 products",
                ),
                RemoteFile(
                    f"{_GOOGLE_DRIVE}1s2j6NgHljiZzQNL3veZaAiyW_qDEgBNi",
                    size=186_295_270,
                    sha256="1d36af476bdb8f82a5da62bd8acdabe54cd8de2fa84010d37da5c4890feb447e",
                    filename="items_ins_v2.json",
                    optional=True,
                    note="attributes and instructions of all products",
                ),
                RemoteFile(
                    f"{_GOOGLE_DRIVE}1A2whVgOO0euk5O13n2iYDM0bQRkkRduB",
                    size=5_479_720_229,
                    sha256="2ef591d65df3af89e972ab72468eb82cbf124d876552d9f3678667edd620a6c8",
                    filename="items_shuffle.json",
                    optional=True,
                    note="all products",
                ),
            ),
        ),
    )
}


def find_source(name: str, sources: Mapping[str, DataSource] = SOURCES) -> DataSource:
    """The data set called ``name``.

    Raises:
        DataNotFound: there is none of this name.
    """
    if name not in sources:
        raise DataNotFound(
            f"no data set is called {name!r}; expected one of: {', '.join(sources)} (`envrl data list`)"
        )
    return sources[name]
