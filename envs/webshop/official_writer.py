"""Writing products as the three official files, so that what reads those reads a generated catalogue too.

>>> from envrl.envs.webshop.generator import generate_products
>>> write_official(Path("my_shop"), generate_products(100_000, seed=1))  # doctest: +SKIP

A catalogue of any size is written one product at a time; ``catalog="my_shop"`` opens it.
"""

import json
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from envrl.envs.webshop.official import NO_ATTRIBUTES
from envrl.envs.webshop.product import Product


class _Entries:
    """A JSON array or object that is written entry by entry.

    Args:
        file: written to.
        brackets: of the array or object.
    """

    def __init__(self, file: IO[str], brackets: str) -> None:
        self._file = file
        self._close = brackets[1]
        self._separator = brackets[0] + "\n"

    def add(self, entry: Any, key: str | None = None) -> None:
        """Add an entry, in an object under ``key``."""
        name = "" if key is None else json.dumps(key) + ": "
        self._file.write(self._separator + name + json.dumps(entry))
        self._separator = ",\n"

    def close(self) -> None:
        """Write the closing bracket."""
        opening = self._separator if self._separator != ",\n" else ""
        self._file.write(f"{opening}\n{self._close}\n")


def write_official(folder: Path, products: Iterable[Product], suffix: str = "") -> None:
    """Write ``items_shuffle``, ``items_ins_v2``, ``items_human_ins`` and ``title_nouns`` to a folder.

    Args:
        folder: made where it is absent; files of these names are replaced.
        products: read once.
        suffix: stands before ``.json`` in the first three names, ``_1000`` for example.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = (f"items_shuffle{suffix}", f"items_ins_v2{suffix}", f"items_human_ins{suffix}", "title_nouns")
    with ExitStack() as stack:
        files = [stack.enter_context((folder / f"{name}.json").open("w")) for name in names]
        items, attributes, people, nouns = (
            _Entries(file, brackets) for file, brackets in zip(files, ("[]", "{}", "{}", "{}"), strict=True)
        )
        for product in products:
            items.add(item_entry(product))
            attributes.add(attributes_entry(product), product.asin)
            if product.human_instructions:
                people.add(people_entries(product), product.asin)
            if product.title_nouns is not None:
                nouns.add(product.title_nouns, product.asin)
        for entries in (items, attributes, people, nouns):
            entries.close()


def item_entry(product: Product) -> dict[str, Any]:
    """A product as an entry of ``items_shuffle``."""
    return {
        "name": product.title,
        "full_description": product.description,
        "pricing": " - ".join(f"${price}" for price in product.pricing),
        "images": [product.image] if product.image else [],
        "product_category": product.product_category,
        "average_rating": "",
        "small_description": product.bullets,
        "customization_options": {
            name: [{"value": value, "image": product.option_images.get(value)} for value in values]
            for name, values in product.options.items()
        },
        "asin": product.asin,
        "category": product.category,
        "query": product.query,
    }


def attributes_entry(product: Product) -> dict[str, Any]:
    """A product as an entry of ``items_ins_v2``."""
    entry: dict[str, Any] = {}
    if product.attributes != NO_ATTRIBUTES:
        entry["attributes"] = product.attributes
    if product.instruction is not None:
        entry["instruction"] = product.instruction
        entry["instruction_attributes"] = product.instruction_attributes
    return entry


def people_entries(product: Product) -> list[dict[str, Any]]:
    """A product as an entry of ``items_human_ins``."""
    return [
        {
            "asin": product.asin,
            "instruction": request.text,
            "attributes": product.attributes,
            "options": [f"{name}: {value}" for name, values in product.options.items() for value in values],
            "instruction_attributes": request.attributes,
            "instruction_options": request.options,
        }
        for request in product.human_instructions
    ]
