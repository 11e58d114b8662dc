"""A small kitchen made by hand, and the recorded games."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envrl.envs.alfworld.game import Game, Goal
from envrl.envs.alfworld.official import OfficialLibrary, open_official


@pytest.fixture(autouse=True, scope="session")
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the caches of tests out of the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


#: Two cabinets share a spot; the desk lamp stands in the closed cabinet 1; the apple in the closed fridge.
KITCHEN: dict[str, list[tuple[str, ...]]] = {
    "atlocation": [("agent1", "loc_bar_0")],
    "receptacletype": [
        ("cabinet_bar_a", "cabinettype"),
        ("cabinet_bar_b", "cabinettype"),
        ("countertop_bar_a", "countertoptype"),
        ("fridge_bar_a", "fridgetype"),
        ("microwave_bar_a", "microwavetype"),
        ("sink_bar_a_bar_sinkbasin", "sinkbasintype"),
    ],
    "receptacleatlocation": [
        ("cabinet_bar_a", "loc_bar_1"),
        ("cabinet_bar_b", "loc_bar_1"),
        ("countertop_bar_a", "loc_bar_2"),
        ("fridge_bar_a", "loc_bar_3"),
        ("microwave_bar_a", "loc_bar_4"),
        ("sink_bar_a_bar_sinkbasin", "loc_bar_5"),
    ],
    "openable": [("cabinet_bar_a",), ("cabinet_bar_b",), ("fridge_bar_a",), ("microwave_bar_a",)],
    "objecttype": [
        ("apple_bar_a", "appletype"),
        ("bowl_bar_a", "bowltype"),
        ("desklamp_bar_a", "desklamptype"),
        ("knife_bar_a", "knifetype"),
        ("mug_bar_a", "mugtype"),
        ("mug_bar_b", "mugtype"),
        ("pen_bar_a", "pentype"),
    ],
    "inreceptacle": [
        ("apple_bar_a", "fridge_bar_a"),
        ("bowl_bar_a", "countertop_bar_a"),
        ("pen_bar_a", "countertop_bar_a"),
        ("desklamp_bar_a", "cabinet_bar_b"),
        ("knife_bar_a", "countertop_bar_a"),
        ("mug_bar_a", "countertop_bar_a"),
        ("mug_bar_b", "cabinet_bar_a"),
    ],
    "objectatlocation": [
        ("apple_bar_a", "loc_bar_3"),
        ("bowl_bar_a", "loc_bar_2"),
        ("pen_bar_a", "loc_bar_2"),
        ("desklamp_bar_a", "loc_bar_1"),
        ("knife_bar_a", "loc_bar_2"),
        ("mug_bar_a", "loc_bar_2"),
        ("mug_bar_b", "loc_bar_1"),
    ],
    "inreceptacleobject": [("pen_bar_a", "bowl_bar_a")],
    "isreceptacleobject": [("bowl_bar_a",)],
    "pickupable": [
        ("apple_bar_a",),
        ("bowl_bar_a",),
        ("knife_bar_a",),
        ("mug_bar_a",),
        ("mug_bar_b",),
        ("pen_bar_a",),
    ],
    "cleanable": [("apple_bar_a",), ("bowl_bar_a",), ("mug_bar_a",), ("mug_bar_b",), ("knife_bar_a",)],
    "heatable": [("apple_bar_a",), ("mug_bar_a",), ("mug_bar_b",)],
    "coolable": [("apple_bar_a",), ("mug_bar_a",), ("mug_bar_b",)],
    "sliceable": [("apple_bar_a",)],
    "toggleable": [("desklamp_bar_a",)],
    "cancontain": [
        ("cabinettype", "mugtype"),
        ("cabinettype", "bowltype"),
        ("countertoptype", "appletype"),
        ("countertoptype", "bowltype"),
        ("countertoptype", "knifetype"),
        ("countertoptype", "mugtype"),
        ("countertoptype", "pentype"),
        ("fridgetype", "appletype"),
        ("fridgetype", "mugtype"),
        ("microwavetype", "mugtype"),
        ("sinkbasintype", "appletype"),
        ("sinkbasintype", "mugtype"),
    ],
}


@pytest.fixture
def kitchen_facts() -> dict[str, list[tuple[str, ...]]]:
    """The facts of the kitchen, free to be changed."""
    return {predicate: list(rows) for predicate, rows in KITCHEN.items()}


@pytest.fixture(scope="session")
def kitchen_for() -> Callable[[Goal], Game]:
    """The kitchen with a goal of one's choice."""

    def build(goal: Goal) -> Game:
        return Game.from_facts(KITCHEN, task_id="kitchen/by/hand", goal=goal, sentence="do something.")

    return build


@pytest.fixture(scope="session")
def kitchen(kitchen_for: Callable[[Goal], Game]) -> Game:
    """The kitchen, where a mug must go into the microwave."""
    return kitchen_for(Goal("pick_and_place_simple", "mug", "microwave"))


@pytest.fixture(scope="session")
def valid_seen(shared_data: Path) -> OfficialLibrary:
    """The 140 official validation games."""
    return open_official(str(shared_data / "alfworld" / "valid_seen.tar.xz"), "valid_seen")
