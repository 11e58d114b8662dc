"""The official product files: finding them, and cleaning what they hold into `Product`.

The rules of cleaning are those of the original's ``web_agent_site/engine/engine.py``; where the original
would crash on a broken entry, the docstrings here say what happens instead.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.envs.webshop.jsonstream import stream_array, stream_object
from envrl.envs.webshop.product import HumanInstruction, Product

#: what products without a readable price cost
DEFAULT_PRICE = 100.0
NO_ATTRIBUTES = ("DUMMY_ATTR",)
_LONGEST_ASIN = 10
_NOT_OF_A_NUMBER = re.compile(r"[^\d.]")
_DOWNLOAD = "`envrl data download webshop` fetches the official files; $WEBSHOP_DATA names another folder"


@dataclass(frozen=True)
class OfficialFiles:
    """The files of one catalogue.

    Args:
        items: products (``items_shuffle*.json``).
        attributes: their attributes and synthetic instructions (``items_ins_v2*.json``).
        instructions: instructions by people (``items_human_ins*.json``), None where there are none.
        nouns: nouns of the titles (``title_nouns.json``), None where there are none.
    """

    items: Path
    attributes: Path
    instructions: Path | None
    nouns: Path | None

    @property
    def all(self) -> tuple[Path, ...]:
        """Every file that there is."""
        files = (self.items, self.attributes, self.instructions, self.nouns)
        return tuple(file for file in files if file is not None)


def data_folder() -> Path:
    """``$WEBSHOP_DATA``, else ``~/.cache/webshop``: where the official files are looked for."""
    return Path(os.environ.get("WEBSHOP_DATA") or "~/.cache/webshop").expanduser()


def find_files(source: str) -> OfficialFiles:
    """The files of ``official-1k``, ``official``, of a folder that holds one catalogue, or of an items file.

    Raises:
        DataNotFound: files are missing; says which, and how to get them.
        InvalidData: the folder holds several catalogues.
    """
    if source in ("official-1k", "official"):
        name = "items_shuffle_1000.json" if source == "official-1k" else "items_shuffle.json"
        items = data_folder() / name
        if not items.is_file():
            raise DataNotFound(
                f"catalog={source!r}: expected {name} in {items.parent}, found none; {_DOWNLOAD}"
            )
    else:
        items = _items_file(Path(source).expanduser())
    folder, suffix = items.parent, items.stem.removeprefix("items_shuffle")
    attributes = folder / f"items_ins_v2{suffix}.json"
    if not attributes.is_file():
        raise DataNotFound(f"expected {attributes.name} beside {items}, found none; {_DOWNLOAD}")
    people = (folder / f"items_human_ins{suffix}.json", folder / "items_human_ins.json")
    nouns = folder / "title_nouns.json"
    return OfficialFiles(
        items,
        attributes,
        next((path for path in people if path.is_file()), None),
        nouns if nouns.is_file() else None,
    )


def _items_file(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise DataNotFound(
            "catalog must be 'synthetic', 'official-1k', 'official' or the folder of a catalogue; "
            f"there is no folder {path}"
        )
    found = sorted(path.glob("items_shuffle*.json"))
    if not found:
        raise DataNotFound(f"expected items_shuffle*.json in {path}, found none; {_DOWNLOAD}")
    if len(found) > 1:
        raise InvalidData(
            f"{path} holds several catalogues: {', '.join(file.name for file in found)}; "
            "give the path of one of these files as catalog"
        )
    return found[0]


def read_products(files: OfficialFiles, num_products: int | None = None) -> Iterator[Product]:
    """The products of the files, cleaned, in file order, one at a time.

    The first ``num_products`` entries are looked at (None: all). Left out, as in the original, are those
    whose ASIN is ``nan`` or longer than ten characters or has come before (here in any case, since clicks do
    not tell cases apart).

    Raises:
        InvalidData: a file is broken, an entry is no product at all, or a part of it is of another form.
    """
    attributes = _Entries(files.attributes)
    people = _Entries(files.instructions) if files.instructions else None
    nouns = _Entries(files.nouns) if files.nouns else None
    seen: set[str] = set()
    for number, raw in enumerate(stream_array(files.items)):
        if number == num_products:
            return
        if not isinstance(raw, dict) or not isinstance(raw.get("asin"), str):
            raise InvalidData(
                f"{files.items}: expected a product with an 'asin' as entry {number}, got {raw!r:.80}"
            )
        asin = raw["asin"]
        if asin == "nan" or not 0 < len(asin) <= _LONGEST_ASIN or asin.upper() in seen:
            continue
        if not (asin.isascii() and asin.isprintable()):
            raise InvalidData(f"{files.items}: expected an ASIN of plain characters, got {asin!r}")
        seen.add(asin.upper())
        try:
            product = clean_product(
                raw,
                attributes.get(asin),
                people.get(asin) if people else None,
                nouns.get(asin) if nouns else None,
            )
        except InvalidData as error:
            raise InvalidData(f"{files.items.parent}: product {asin}: {error}") from None
        yield product


def clean_product(
    raw: Mapping[str, Any],
    attributes: Mapping[str, Any] | None,
    people: Sequence[Mapping[str, Any]] | None = None,
    nouns: Sequence[str] | None = None,
) -> Product:
    """One entry of the items file with what the other files say of it.

    Texts that are absent or null count as empty. An instruction that asks for no attribute is dropped: the
    original stops at one.

    Args:
        raw: the entry.
        attributes: ``{"attributes", "instruction", "instruction_attributes"}``, the last two optional.
        people: entries ``{"instruction", "instruction_attributes", "instruction_options"}``.
        nouns: nouns of the title.

    Raises:
        InvalidData: something is no list or no object that must be one.
    """
    if attributes is None:
        attributes = {}
    if not isinstance(attributes, Mapping):
        raise InvalidData(f"expected its attributes in an object, got {attributes!r:.80}")
    bullets = raw.get("small_description")
    options, pictures = _clean_options(raw.get("customization_options"))
    images = raw.get("images")
    wanted = _texts(attributes.get("instruction_attributes"), "'instruction_attributes'")
    known = attributes.get("attributes")
    instruction = attributes.get("instruction")
    return Product(
        asin=raw["asin"],
        title=_text(raw.get("name")),
        description=_text(raw.get("full_description")),
        bullets=tuple(map(_text, bullets)) if isinstance(bullets, list) else (_text(bullets),),
        category=_text(raw.get("category")),
        product_category=_text(raw.get("product_category")),
        query=_text(raw.get("query")).lower().strip(),
        # an empty list is kept: the original replaces only what is not there at all
        attributes=NO_ATTRIBUTES if known is None else _texts(known, "'attributes'"),
        options=options,
        pricing=parse_pricing(raw.get("pricing")),
        image=_text(images[0]) if isinstance(images, list) and images else "",
        option_images=pictures,
        instruction=_text(instruction) if wanted and instruction is not None else None,
        instruction_attributes=wanted,
        human_instructions=tuple(map(_human_instruction, _list(people, "instructions by people"))),
        title_nouns=None if nouns is None else _texts(nouns, "nouns"),
    )


def parse_pricing(pricing: Any) -> tuple[float, ...]:
    """One price or the two ends of a range, from a text such as ``$5.99`` or ``$1,005.99 - $12.00``.

    Without any, 100.0. What stands between two dollar signs and is no number is left out (the original stops
    there); if nothing is left, 100.0 too.
    """
    prices = []
    for piece in pricing.split("$")[1:] if isinstance(pricing, str) else ():
        try:
            price = float(Decimal(_NOT_OF_A_NUMBER.sub("", piece)))
        except InvalidOperation:
            continue
        if price < float("inf"):
            prices.append(price)
    return tuple(prices[:2]) or (DEFAULT_PRICE,)


def _clean_options(raw: Any) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    options: dict[str, tuple[str, ...]] = {}
    pictures: dict[str, str] = {}
    for name, contents in raw.items() if isinstance(raw, dict) else ():
        if contents is None:
            continue
        values = []
        for content in _list(contents, f"the values of option {name!r}"):
            value = content.get("value") if isinstance(content, dict) else None
            if not isinstance(value, str):
                continue
            value = value.strip().replace("/", " | ").lower()
            values.append(value)
            if content.get("image"):
                pictures[value] = _text(content["image"])
        options[name.lower()] = tuple(values)
    return options, pictures


def _human_instruction(raw: Any) -> HumanInstruction:
    if not isinstance(raw, Mapping):
        raise InvalidData(f"expected an instruction by a person as an object, got {raw!r:.80}")
    return HumanInstruction(
        _text(raw.get("instruction")),
        _texts(raw.get("instruction_attributes"), "'instruction_attributes'"),
        _texts(raw.get("instruction_options"), "'instruction_options'"),
    )


def _list(value: Any, what: str) -> Sequence[Any]:
    if value is None or isinstance(value, list | tuple):
        return value or ()
    raise InvalidData(f"expected {what} as a list, got {value!r:.80}")


def _texts(value: Any, what: str) -> tuple[str, ...]:
    return tuple(_text(text) for text in _list(value, what) if text is not None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


class _Entries:
    """The entries of a file ``{asin: entry}``, kept as compact JSON: about a third of its size on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = {
            key: json.dumps(value, separators=(",", ":")).encode() for key, value in stream_object(path)
        }

    def get(self, key: str) -> Any:
        """The entry, None where there is none."""
        entry = self._entries.get(key)
        return None if entry is None else json.loads(entry)
