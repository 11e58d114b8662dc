"""A small shop made by hand, in the form of the official files, and the recordings of the original."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from envrl.envs.webshop.catalog import Catalog, catalog_of
from envrl.envs.webshop.nouns import approximate_nouns
from envrl.envs.webshop.official import find_files, read_products
from envrl.envs.webshop.shop import Shop

RawCatalog = tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]


@pytest.fixture(autouse=True, scope="session")
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the stored catalogues of tests out of the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def item(asin: str, name: str, query: str, **more: Any) -> dict[str, Any]:
    """An entry of the items file."""
    return {
        "asin": asin,
        "name": name,
        "full_description": f"A description of {name}.",
        "small_description": ["Made with care ", ""],
        "pricing": "$20.00",
        "images": [],
        "product_category": "Clothing \u203a Shoes",
        "category": "fashion",
        "query": query,
        "customization_options": "",
    } | more


def values(*texts: str) -> list[dict[str, Any]]:
    return [{"value": text, "image": None} for text in texts]


@pytest.fixture
def raw() -> RawCatalog:
    """(items, attributes, instructions by people), free to be changed."""
    sizes = {"Size": values("7", "8", "9 1/2"), "Color": values(" Red", "navy/white", '28" x 30"')}
    odd = {"Style": values("Description", "search", "small"), "Fit": values("small", "large", "a[b]")}
    items = [
        item("B000000001", "Red Canvas Shoes for Walking", "Walking Shoes ", customization_options=sizes),
        item("B000000002", "Leather Boots", "boots", pricing="$1,080.00 - $1,200.50", images=["boots.jpg"]),
        item("B000000003", "Canvas Shoes with Odd Options", "walking shoes", customization_options=odd),
        item("B000000004", "Silk Scarf", "scarves", pricing="", product_category="Clothing \u203a Scarves"),
        item(
            "B000000005", "Garden Chair", "chairs", category="garden", product_category="Garden \u203a Chairs"
        ),
        item("B000000006", "Plain Shoes", "walking shoes", pricing="$12.00 - $30.00"),
    ]
    attributes = {
        "B000000001": {
            "attributes": ["canvas upper", "non slip"],
            "instruction": "Find me non slip walking shoes",
            "instruction_attributes": ["non slip"],
        },
        "B000000002": {"attributes": ["genuine leather"]},
        "B000000003": {
            "attributes": ["canvas upper"],
            "instruction": "Find me canvas shoes",
            "instruction_attributes": ["canvas upper"],
        },
        "B000000005": {
            "attributes": [],
            "instruction": "Find me a chair",
            "instruction_attributes": ["weather proof"],
        },
        "B000000006": {
            "attributes": ["everyday wear"],
            "instruction": "I need plain shoes",
            "instruction_attributes": ["everyday wear"],
        },
    }
    people = {
        "B000000001": [
            {
                "instruction": "please find red shoes that do not slip, size 8.",
                "instruction_attributes": ["non slip"],
                "instruction_options": ["red", "8"],
            },
            {"instruction": "shoes", "instruction_attributes": [], "instruction_options": []},
        ],
        "B000000005": [
            {
                "instruction": "a chair for outside",
                "instruction_attributes": ["weather proof"],
                "instruction_options": [],
            }
        ],
    }
    return items, attributes, people


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a catalogue in the official form; gives its folder."""

    def write(
        items: list[dict[str, Any]],
        attributes: dict[str, Any],
        people: dict[str, Any] | None = None,
        suffix: str = "",
        **more: Any,
    ) -> Path:
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        files = {f"items_shuffle{suffix}": items, f"items_ins_v2{suffix}": attributes}
        if people is not None:
            files[f"items_human_ins{suffix}"] = people
        # a table of nouns, so that nothing depends on whether spaCy is installed
        files["title_nouns"] = {
            entry["asin"]: approximate_nouns(entry["name"])
            for entry in items
            if "name" in entry and "asin" in entry
        }
        for name, content in (files | more).items():
            (folder / f"{name}.json").write_text(json.dumps(content))
        return folder

    return write


@pytest.fixture
def folder(raw: RawCatalog, write: Callable[..., Path]) -> Path:
    """The small shop on disk."""
    return write(*raw)


@pytest.fixture
def catalog(folder: Path) -> Catalog:
    """The small shop in memory."""
    return catalog_of(list(read_products(find_files(str(folder)))))


@pytest.fixture
def shop(catalog: Catalog) -> Shop:
    """Its pages."""
    return Shop(catalog)


@pytest.fixture(scope="session")
def official(shared_data: Path) -> Path:
    """Folder of the official 1,000 products."""
    return shared_data / "webshop"


@pytest.fixture(scope="session")
def golden(official: Path) -> Callable[[str], list[Any]]:
    """The recordings of the original: the content of a file."""

    def read(name: str) -> list[Any]:
        text = (official / "golden" / name).read_text(encoding="utf-8")
        if name.endswith(".jsonl"):
            return [json.loads(line) for line in text.splitlines()]
        content: list[Any] = json.loads(text)
        return content

    return read


@pytest.fixture(scope="session")
def official_shop(official: Path) -> Shop:
    """The official 1,000 products and their pages."""
    return Shop(catalog_of(list(read_products(find_files(str(official))))))
