"""Opening a catalogue by name, once a process.

A catalogue read from files, or a large synthetic one, is built once and stored (`envrl.envs.webshop.store`)
beside its files, or in the user's cache folder where they may not be written. From then on it is mapped into
memory, so that environments, threads and processes share one copy.
"""

import contextlib
import json
import logging
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from weakref import WeakValueDictionary

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.envs.webshop.catalog import Catalog, catalog_of
from envrl.envs.webshop.nouns import has_spacy, spacy_table
from envrl.envs.webshop.official import OfficialFiles, find_files, read_products
from envrl.envs.webshop.product import Product
from envrl.envs.webshop.shop import Shop
from envrl.envs.webshop.store import KIND, build_store, open_store, remove_unfinished

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
        self._used: WeakValueDictionary[str, Shop] = WeakValueDictionary()

    def get(self, key: str, make: Callable[[], Shop]) -> Shop:
        """The shop under ``key``, made where it is not open."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                shop = self._used.get(key)
            if shop is None:
                shop = make()
            with self._lock:
                self._open[key] = self._used[key] = shop
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
        ValueError: ``num_products`` is not positive, or one of the numbers is not whole.
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
    for name, value in (("seed", seed), ("num_products", num_products)):
        if not isinstance(value, int) and (value is not None or name == "seed"):
            raise ValueError(f"{name} must be a whole number, got {value!r}")
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
    mine = _may_write(beside if beside.is_dir() else beside.parent)
    parent = beside if mine else _user_cache() / _digest(where)

    def products() -> Iterable[Product]:
        read = files
        if files.nouns is None and has_spacy():
            table = _parsed_titles(files, parent / f"{name}-title_nouns.json", num_products)
            read = replace(files, nouns=table)
        return read_products(read, num_products)

    return _stored(parent / name, fingerprint, products)


def _stored(folder: Path, source: str, products: Callable[[], Iterable[Product]]) -> Catalog:
    """The catalogue in ``folder``, built anew where it is absent, damaged, old or of other files."""
    catalog = _opened(folder, source)
    if catalog is not None:
        return catalog
    with _locked(folder.parent) as alone:
        catalog = _opened(folder, source)  # another process may have built it by now
        if catalog is not None:
            return catalog
        if alone:
            remove_unfinished(folder)
        try:
            build_store(products(), folder, source)
        except OSError as error:
            _LOG.warning("cannot store the catalogue in %s (%s): keeping it in memory", folder, error)
            return catalog_of(list(products()))
        return Catalog(*open_store(folder, source), folder, source)


def _opened(folder: Path, source: str) -> Catalog | None:
    """The catalogue that is stored in ``folder``, None where it has to be built."""
    try:
        return Catalog(*open_store(folder, source), folder, source)
    except FileNotFoundError:
        pass
    except (InvalidData, DataNotFound) as error:
        _LOG.info("the catalogue in %s has to be built anew: %s", folder, error)
    return None


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Let one process at a time build in ``folder``; where folders cannot be locked each builds for itself.

    Yields:
        Whether no other process builds there.
    """
    alone = False
    with contextlib.ExitStack() as stack:
        try:
            import fcntl

            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            # closing is not enough: a process that was forked meanwhile has the handle too
            stack.callback(fcntl.flock, handle, fcntl.LOCK_UN)
            alone = True
        except (ImportError, OSError) as error:
            _LOG.info("building in %s without a lock: %s", folder, error)
        yield alone


def _parsed_titles(files: OfficialFiles, path: Path, num_products: int | None) -> Path | None:
    """A table of title nouns made with spaCy; None for many products, whose titles wait until needed."""
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
