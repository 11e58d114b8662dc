"""Opening catalogues: once a process, stored beside the files, and built anew when anything has changed."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.errors import InvalidData
from envrl.envs.webshop import catalog as catalog_module
from envrl.envs.webshop import opening, store
from envrl.envs.webshop.catalog import Catalog
from envrl.envs.webshop.nouns import has_spacy
from envrl.envs.webshop.opening import load_catalog, load_shop
from envrl.envs.webshop.product import HumanInstruction, Product
from envrl.envs.webshop.store import decode, encode

FILES = ("columns", "records", "search.index")


@pytest.fixture(autouse=True)
def nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test sees a new process, as far as catalogues go."""
    monkeypatch.setattr(opening, "_OPEN", opening._OpenShops())


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that catalogues were built in."""
    folders: list[Path] = []
    build = opening.build_store

    def counted(products: Any, folder: Path, source: str) -> None:
        folders.append(folder)
        build(products, folder, source)

    monkeypatch.setattr(opening, "build_store", counted)
    return folders


def forget() -> None:
    opening._OPEN._open.clear()
    opening._OPEN._used.clear()


def facts(catalog: Catalog) -> Any:
    """Everything of a catalogue that can be asked for."""
    return list(catalog.products), catalog.search("canvas shoes"), list(catalog.goals("synthetic", 3))


def test_a_catalogue_is_opened_once_and_shared(folder: Path, builds: list[Path]) -> None:
    first = load_catalog(str(folder))
    assert load_catalog(str(folder)) is first and load_catalog(str(folder), seed=5) is first
    assert load_shop(str(folder)) is load_shop(str(folder))
    with_attributes = load_shop(str(folder), show_attributes=True)
    assert with_attributes is not load_shop(str(folder)) and with_attributes.catalog is first
    assert load_catalog(str(folder), num_products=2) is not first
    assert len(builds) == 2


def test_what_is_in_use_is_never_opened_twice() -> None:
    shops = [load_shop("synthetic", 10, seed) for seed in range(opening._KEPT + 2)]
    assert [load_shop("synthetic", 10, seed) for seed in range(len(shops))] == shops


def test_environments_share_the_tasks_of_a_split(folder: Path) -> None:
    catalog = load_catalog(str(folder))
    ids = catalog.task_ids("train_by_product", "synthetic", 0)
    assert catalog.task_ids("train_by_product", "synthetic", 0) is ids
    assert catalog.task_ids("train_by_product", "human", 0) is not ids


def test_threads_that_ask_at_the_same_time_get_the_same(folder: Path, builds: list[Path]) -> None:
    barrier, found = threading.Barrier(8), []

    def ask() -> None:
        barrier.wait()
        found.append(load_catalog(str(folder)))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(map(id, found))) == 1 and len(builds) == 1


def test_it_is_stored_beside_the_files_and_mapped_from_then_on(folder: Path, builds: list[Path]) -> None:
    built = facts(load_catalog(str(folder)))
    stored = folder / ".envrl" / "items_shuffle"
    assert sorted(path.name for path in stored.iterdir()) == sorted(FILES)
    assert [path.name for path in stored.parent.iterdir()] == ["items_shuffle"]  # nothing half-made stays
    forget()
    again = load_catalog(str(folder))
    assert builds == [stored] and facts(again) == built
    assert type(again.index.documents.base).__name__ in ("memmap", "mmap")


def test_a_limit_on_the_products_makes_a_catalogue_of_its_own(folder: Path) -> None:
    few = load_catalog(str(folder), num_products=2)
    assert len(few) == 2 and few.search("canvas shoes") == ("B000000001",)
    assert len(load_catalog(str(folder))) == 6
    assert (folder / ".envrl" / "items_shuffle-2").is_dir()
    with pytest.raises(ValueError, match="num_products must be positive"):
        load_catalog(str(folder), num_products=0)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["cut", "gone", "garbage", "bit"])
def test_a_damaged_store_is_built_anew(folder: Path, builds: list[Path], name: str, damage: str) -> None:
    expected = facts(load_catalog(str(folder)))
    forget()
    path = folder / ".envrl" / "items_shuffle" / name
    content = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(content[:-7])
        case "gone":
            path.unlink()
        case "garbage":
            path.write_bytes(b"nothing of the kind")
        case "bit":
            path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    assert facts(load_catalog(str(folder))) == expected
    assert len(builds) == 2


def test_a_damaged_record_that_no_checksum_was_asked_for_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "VERIFIED_BYTES", 0)
    load_catalog(str(folder))
    path = folder / ".envrl" / "items_shuffle" / "records"
    path.write_bytes(b"no record" + path.read_bytes()[9:])
    forget()
    products = load_catalog(str(folder)).products
    with pytest.raises(InvalidData, match=r"record 0 is damaged .* delete its folder"):
        products[0]
    assert products[1].title == "Leather Boots"


@pytest.mark.parametrize(
    "kinds",
    [
        ("envrl.envs.webshop.store.KIND",),
        ("envrl.envs.webshop.store.INDEX_KIND", "envrl.envs.webshop.index.KIND"),
    ],
)
def test_a_store_of_another_version_is_built_anew(
    folder: Path, builds: list[Path], kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = facts(load_catalog(str(folder)))
    forget()
    for kind in kinds:
        monkeypatch.setattr(kind, "webshop-something/99")
    assert facts(load_catalog(str(folder))) == expected and len(builds) == 2
    forget()
    assert facts(load_catalog(str(folder))) == expected and len(builds) == 2


def test_a_changed_file_is_noticed(folder: Path, builds: list[Path]) -> None:
    load_catalog(str(folder))
    path = folder / "items_ins_v2.json"
    attributes = json.loads(path.read_text())
    attributes["B000000001"]["instruction"] = "Find me something else"
    path.write_text(json.dumps(attributes))
    assert load_catalog(str(folder)).product("B000000001").instruction == "Find me something else"
    assert len(builds) == 2


def test_a_folder_without_write_bits_is_left_alone(folder: Path, builds: list[Path]) -> None:
    folder.chmod(0o555)
    try:
        load_catalog(str(folder))
        assert not (folder / ".envrl").exists()
        assert builds[0].is_relative_to(os.environ["XDG_CACHE_HOME"])
        forget()
        load_catalog(str(folder))
        assert len(builds) == 1
    finally:
        folder.chmod(0o755)


def test_a_store_that_may_not_be_written_is_left_alone(folder: Path, builds: list[Path]) -> None:
    (folder / ".envrl").mkdir(mode=0o555)  # of another user, beside files that anyone may write to
    load_catalog(str(folder))
    assert builds[0].is_relative_to(os.environ["XDG_CACHE_HOME"])


def test_what_a_killed_build_left_is_removed(folder: Path, builds: list[Path]) -> None:
    left = folder / ".envrl" / ".items_shuffle-x1y2"
    left.mkdir(parents=True)
    (left / "records").write_bytes(b"half")
    load_catalog(str(folder))
    assert builds and not left.exists()


def test_where_nothing_can_be_written_it_stays_in_memory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder.chmod(0o555)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the cache folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    try:
        assert len(load_catalog(str(folder))) == 6
    finally:
        folder.chmod(0o755)
    assert "keeping it in memory" in caplog.text


def test_no_usable_product_is_an_error(write: Callable[..., Path]) -> None:
    folder = write([{"asin": "nan"}], {})
    with pytest.raises(InvalidData, match="found none"):
        load_catalog(str(folder))


def test_a_broken_file_leaves_nothing_behind(folder: Path) -> None:
    path = folder / "items_shuffle.json"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InvalidData, match="cut short or broken"):
        load_catalog(str(folder))
    assert not any((folder / ".envrl").iterdir())


def test_goals_of_a_large_catalogue_are_stored_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = list(load_catalog(str(folder)).goals("synthetic", 4))
    monkeypatch.setattr(catalog_module, "_GOALS_IN_MEMORY", 0)
    forget()
    assert list(load_catalog(str(folder)).goals("synthetic", 4)) == in_memory
    stored = folder / ".envrl" / "items_shuffle" / "goals-synthetic-4"
    assert stored.is_file()
    forget()
    monkeypatch.setattr(catalog_module, "draw_goals", lambda *_: pytest.fail("they were drawn again"))
    assert list(load_catalog(str(folder)).goals("synthetic", 4)) == in_memory


def test_processes_that_start_together_all_get_it(folder: Path) -> None:
    code = (
        "import os, sys; from envrl.envs.webshop.opening import load_catalog;"
        "c = load_catalog(sys.argv[1]); print(len(c), *c.search('canvas shoes'), os.stat(c._folder).st_ino)"
    )
    with opening._locked(folder / ".envrl"):  # so that all of them come to where it would be built
        started = [
            subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        with pytest.raises(subprocess.TimeoutExpired):
            started[0].wait(3)
    said = {process.communicate(timeout=120)[0] for process in started}
    # one of them built it, the others found it: a folder built again would be another one
    assert len(said) == 1 and said.pop().startswith("6 B000000003 B000000001 B000000006 ")
    assert [path.name for path in (folder / ".envrl").iterdir()] == ["items_shuffle"]


@pytest.mark.skipif(not has_spacy(), reason="needs the extra `nouns`: spacy and its small English model")
def test_titles_are_parsed_when_the_catalogue_is_built_and_at_no_other_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "title_nouns.json").unlink()
    assert "shoes" in (load_catalog(str(folder)).products[0].title_nouns or ())
    items = json.loads((folder / "items_shuffle.json").read_text())
    items[0]["name"] = "Blue Umbrella"
    (folder / "items_shuffle.json").write_text(json.dumps(items))
    assert load_catalog(str(folder)).products[0].title_nouns == ("blue", "umbrella")
    forget()
    monkeypatch.setattr(opening, "read_products", lambda *_: pytest.fail("the files were read again"))
    assert len(load_catalog(str(folder))) == 6


# ---- synthetic catalogues ------------------------------------------------------------------------------------


def test_synthetic_catalogues_have_a_size_and_a_seed() -> None:
    default = load_catalog()
    assert len(default) == 1000 and default is load_catalog("synthetic", 1000)
    small = load_catalog("synthetic", 50)
    assert len(small) == 50 and list(small.products) != list(load_catalog("synthetic", 50, seed=1).products)


def test_large_ones_are_stored_in_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, builds: list[Path]
) -> None:
    monkeypatch.setattr(opening, "_IN_MEMORY", 40)
    stored = load_catalog("synthetic", 60, seed=9)
    assert builds == [Path(os.environ["XDG_CACHE_HOME"], "envrl", "webshop", "synthetic-60-9")]
    forget()
    monkeypatch.setattr(opening, "_IN_MEMORY", 2000)
    assert list(load_catalog("synthetic", 60, seed=9).products) == list(stored.products)
    shutil.rmtree(builds[0])


# ---- records -----------------------------------------------------------------------------------------------

texts = st.text(max_size=8)
several = st.lists(texts, max_size=3).map(tuple)
people = st.builds(HumanInstruction, texts, several, several)
products = st.builds(
    Product,
    asin=texts,
    title=st.text(st.characters(codec=None), max_size=8),  # lone surrogates too
    description=texts,
    bullets=several,
    category=texts,
    product_category=texts,
    query=texts,
    attributes=several,
    options=st.dictionaries(texts, several, max_size=3),
    pricing=st.lists(st.floats(0, 1e9), min_size=1, max_size=2).map(tuple),
    image=texts,
    option_images=st.dictionaries(texts, texts, max_size=2),
    instruction=st.none() | texts,
    instruction_attributes=several,
    human_instructions=st.lists(people, max_size=2).map(tuple),
    title_nouns=st.none() | several,
)


@given(products)
def test_a_record_brings_back_the_product(product: Product) -> None:
    assert decode(encode(product)) == product


def test_a_product_is_found_by_its_asin_in_any_case(catalog: Catalog) -> None:
    assert catalog.product("b000000004").title == "Silk Scarf" and "B000000004" in catalog
    assert "B00000004" not in catalog and "" not in catalog and 3 not in catalog
    with pytest.raises(KeyError, match="no product has the ASIN 'nothing'"):
        catalog.product("nothing")


def test_special_queries_list_by_attribute_category_and_query(catalog: Catalog) -> None:
    def last(query: str) -> str:
        return "".join(asin[-1] for asin in catalog.search(query))

    assert last("<a> canvas upper") == "13" and last("<a> dummy_attr") == "" and last("<a>") == ""
    assert last("<c> garden") == "5" and last("<c>") == "" and last("<c> garden tools") == "5"
    assert last("<q> walking shoes") == "136" and last("<q>  scarves ") == "4"
    drawn = last("<r>")
    assert sorted(drawn) == list("123456") and last("<r>") == drawn
    assert catalog.search("<c>garden") == catalog.search("garden")  # not special: no blank


def test_products_are_a_sequence(folder: Path) -> None:
    stored = load_catalog(str(folder)).products
    assert [product.asin for product in stored[1:3]] == ["B000000002", "B000000003"]
    assert stored[-1].asin == "B000000006" and stored[0] is stored[0]
    with pytest.raises(IndexError, match="below 6"):
        stored[6]
