"""Where WebShop's official files lie, and whether they are sound."""

from collections.abc import Callable
from pathlib import Path

from envrl.data.sources import Part
from envrl.envs.errors import EnvRLError
from envrl.envs.webshop.columns import ColumnsBuilder
from envrl.envs.webshop.goals import draw_goals
from envrl.envs.webshop.official import data_folder, find_files, read_products

__all__ = ["check_catalogues", "count_catalogues", "data_folder"]

#: name of a catalogue -> (its items file, products and synthetic goals it has; None where nobody has counted)
CATALOGUES: dict[str, tuple[str, int | None, int | None]] = {
    "official-1k": ("items_shuffle_1000.json", 1000, 6910),
    "official": ("items_shuffle.json", None, None),
}


def count_catalogues(folder: Path) -> int:
    """Catalogues of which products and attributes are there."""
    return len(_present(folder))


def _present(folder: Path) -> list[str]:
    def complete(items: str) -> bool:
        attributes = items.replace("items_shuffle", "items_ins_v2")
        return (folder / items).is_file() and (folder / attributes).is_file()

    return [name for name, (items, *_) in CATALOGUES.items() if complete(items)]


def check_catalogues(folder: Path, progress: Callable[[], None] = lambda: None) -> tuple[Part, ...]:
    """Read every product of every catalogue that is there; goals are counted as the environment makes them."""
    parts: list[Part] = []
    for name in _present(folder):
        parts += _check(name, folder)
        progress()
    return tuple(parts)


def _check(name: str, folder: Path) -> tuple[Part, ...]:
    items, products, goals = CATALOGUES[name]
    builder, found = ColumnsBuilder(), 0
    try:
        for product in read_products(find_files(str(folder / items))):
            builder.add(product)
            found += 1
        columns = builder.finish()
        made = {kind: len(draw_goals(columns, kind, 0).order) for kind in ("synthetic", "human")}
    except (OSError, EnvRLError) as error:
        return (Part(f"{name} products", found, products, ((str(folder / items), str(error)),)),)
    return (
        Part(f"{name} products", found, products),
        Part(f"{name} synthetic goals", made["synthetic"], goals),
        Part(f"{name} human goals", made["human"], None),
    )
