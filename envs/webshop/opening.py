"""Opening a catalogue by name, once a process.

A catalogue read from files, or a large synthetic one, is built once and stored (`envrl.envs.webshop.store`)
beside its files, or in the user's cache folder where they may not be written. From then on it is mapped into
memory, so that environments, threads and processes share one copy.
"""

import json
import logging
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.envs.webshop.catalog import Catalog, catalog_of
from envrl.envs.webshop.nouns import has_spacy, spacy_table
from envrl.envs.webshop.official import OfficialFiles, find_files, read_products
from envrl.envs.webshop.product import Product
from envrl.envs.webshop.shop import Shop
from envrl.envs.webshop.store import KIND, build_store, open_store

_LOG = logging.getLogger(__name__)
#: products of the synthetic catalogue where the caller does not say
SYNTHETIC_PRODUCTS = 1000
#: synthetic catalogues up to this size are made in memory, in less time than it takes to tidy up files
_IN_MEMORY = 2000
#: titles are parsed with spaCy in advance only up to this number: it takes a millisecond each
_PARSED_TITLES = 20_000
#: shops that stay open although no environment uses them
_KEPT = 4


class _OpenShops:
    """The shops of this process by what they were made from; each is made by one thread only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._making: dict[str, threading.Lock] = {}
        self._open: OrderedDict[str, Shop] = OrderedDict()

    def get(self, key: str, make: Callable[[], Shop]) -> Shop:
        """The shop under ``key``, made where it is not open."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                shop = self._open.get(key)
            if shop is None:
                shop = make()
            with self._lock:
                self._open[key] = shop
                self._open.move_to_end(key)
                while len(self._open) > _KEPT:
                    self._open.popitem(last=False)
        return shop


#: a process opens a catalogue once, however many environments it has
_OPEN = _OpenShops()


def load_catalog(source: str = "synthetic", num_products: int | None = None, seed: int = 0) -> Catalog:
    """The catalogue called ``source``, shared by everyone in the process who asks for the same.

    Args:
        source: ``synthetic``; ``official-1k`` or ``official`` from ``$WEBSHOP_DATA``; or the path of a folder
            with the official files of one catalogue, or of its ``items_shuffle*.json``.
        num_products: how many products to generate, or how many entries of the file to use at most.
        seed: of the generator; files do not depend on it.

    Raises:
        DataNotFound: there are no such files.
        InvalidData: a file is broken or holds no product.
        ValueError: ``num_products`` is not positive.
    """
    return load_shop(source, num_products, seed).catalog


def load_shop(
    source: str = "synthetic",
    num_products: int | None = None,
    seed: int = 0,
    show_attributes: bool = False,
) -> Shop:
    """The pages of the catalogue called ``source``, shared by everyone who asks for the same.

    Args and errors as for `load_catalog`; ``show_attributes`` as for `envrl.envs.webshop.shop.Shop`.
    """
    if num_products is not None and num_products < 1:
        raise ValueError(f"num_products must be positive or None, got {num_products}")
    if source == "synthetic":
        count = num_products or SYNTHETIC_PRODUCTS
        key = f"synthetic {count} {seed}"
        shop = _OPEN.get(key, lambda: Shop(_synthetic(count, seed)))
    else:
        files = find_files(source)
        key = _fingerprint(files.all, num_products)
        shop = _OPEN.get(key, lambda: Shop(_official(files, num_products, key)))
    if not show_attributes:
        return shop
    return _OPEN.get(f"{key} attributes", lambda: Shop(shop.catalog, show_attributes=True))


def _synthetic(count: int, seed: int) -> Catalog:
    from envrl.envs.webshop.generator import GENERATOR_VERSION, generate_catalog, generate_products

    if count <= _IN_MEMORY:
        return catalog_of(generate_catalog(count, seed))
    source = f"synthetic/{GENERATOR_VERSION}/{KIND}/{count}/{seed}"
    folder = _user_cache() / f"synthetic-{count}-{seed}"
    return _stored(folder, source, lambda: generate_products(count, seed))


def _official(files: OfficialFiles, num_products: int | None, fingerprint: str) -> Catalog:
    name = files.items.stem if num_products is None else f"{files.items.stem}-{num_products}"
    beside = files.items.parent / ".envrl"
    where = str(files.items.resolve().parent)
    parent = beside if _may_write(files.items.parent) else _user_cache() / _digest(where)
    if files.nouns is None and has_spacy():
        files = replace(files, nouns=_parsed_titles(files, parent / f"{name}-title_nouns.json", num_products))
    return _stored(parent / name, fingerprint, lambda: read_products(files, num_products))


def _stored(folder: Path, source: str, products: Callable[[], Iterable[Product]]) -> Catalog:
    """The catalogue in ``folder``, built anew where it is absent, damaged, old or of other files."""
    try:
        return Catalog(*open_store(folder, source), folder, source)
    except FileNotFoundError:
        pass
    except (InvalidData, DataNotFound) as error:
        _LOG.info("building the catalogue in %s anew: %s", folder, error)
    try:
        build_store(products(), folder, source)
    except OSError as error:
        _LOG.warning("cannot store the catalogue in %s (%s): keeping it in memory", folder, error)
        return catalog_of(list(products()))
    return Catalog(*open_store(folder, source), folder, source)


def _parsed_titles(files: OfficialFiles, path: Path, num_products: int | None) -> Path | None:
    """A table of title nouns made with spaCy, once; None for many products, whose titles wait until needed."""
    if path.is_file():
        return path
    titles: dict[str, str] = {}
    for product in read_products(files, num_products):
        titles[product.asin] = product.title
        if len(titles) > _PARSED_TITLES:
            return None
    table = dict(zip(titles, spacy_table(titles.values()), strict=True))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        part.write_text(json.dumps(table))
        part.replace(path)
    except OSError:
        return None
    return path


def _fingerprint(paths: Iterable[Path], num_products: int | None) -> str:
    """What the catalogue is made from: changes with each of the files. Reading gigabytes would take longer."""
    facts = [f"{path.resolve()} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in paths]
    return _digest("\n".join((KIND, str(num_products), *facts)))


def _digest(text: str) -> str:
    return blake2b(os.fsencode(text), digest_size=12).hexdigest()


def _may_write(folder: Path) -> bool:
    """Whether the folder is meant to be written: the superuser leaves folders without write bits alone too."""
    return bool(folder.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)) and os.access(
        folder, os.W_OK
    )


def _user_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "envrl" / "webshop"
