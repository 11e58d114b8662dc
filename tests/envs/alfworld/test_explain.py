"""The reasons of ``feedback="explain"``."""

import pytest

from envrl.envs.alfworld import engine
from envrl.envs.alfworld.explain import why_not
from envrl.envs.alfworld.game import Game

KNIFE = ("go to countertop 1", "take knife 1 from countertop 1")
MUG = ("go to countertop 1", "take mug 2 from countertop 1")


def reason(game: Game, before: tuple[str, ...], command: str, syntax: engine.ActionSyntax = "0.4") -> str:
    state = engine.initial_state(game)
    for step in before:
        assert engine.step(game, state, step) != engine.NOTHING_HAPPENS
    assert engine.step(game, state, command, syntax) == engine.NOTHING_HAPPENS
    return why_not(game, state, command, engine.parse_action(game, command, syntax), syntax)


@pytest.mark.parametrize(
    ("before", "command", "text"),
    [
        ((), "take mug 2 from countertop 1", "You are not at the countertop 1: go to it first."),
        (("go to fridge 1",), "take apple 1 from fridge 1", "The fridge 1 is closed: open it first."),
        (("go to fridge 1",), "take mug 1 from fridge 1", "The fridge 1 is closed: open it first."),
        (MUG, "take pen 1 from countertop 1", "Your hands are full: you are carrying the mug 2."),
        (MUG, "take mug 2 from countertop 1", "You are already carrying the mug 2."),
        (
            ("go to countertop 1",),
            "take apple 1 from countertop 1",
            "There is no apple 1 in or on the countertop 1.",
        ),
        (
            ("go to cabinet 1", "open cabinet 1"),
            "take desklamp 1 from cabinet 1",
            "The desklamp 1 cannot be picked up.",
        ),
        ((), "take fridge 1 from countertop 1", "The fridge 1 is a receptacle and stays where it is."),
        ((), "take mug 1 from mug 2", "The mug 2 is not a receptacle."),
        (("go to countertop 1",), "move mug 2 to countertop 1", "You are not carrying the mug 2."),
        (
            (*MUG, "go to microwave 1"),
            "move mug 2 to microwave 1",
            "The microwave 1 is closed: open it first.",
        ),
        ((*KNIFE, "go to sinkbasin 1"), "move knife 1 to sinkbasin 1", "A sinkbasin does not take a knife."),
        (("go to fridge 1",), "go to fridge 1", "You are already at the fridge 1."),
        (("go to cabinet 1",), "go to cabinet 2", "You are already at the cabinet 2."),
        ((), "go to mug 1", "The mug 1 is not a receptacle: go to what it lies on."),
        ((), "open fridge 1", "You are not at the fridge 1: go to it first."),
        (("go to fridge 1",), "close fridge 1", "The fridge 1 is already closed."),
        (("go to fridge 1", "open fridge 1"), "open fridge 1", "The fridge 1 is already open."),
        (("go to countertop 1",), "open countertop 1", "The countertop 1 cannot be opened or closed."),
        ((), "use mug 1", "The mug 1 is not something to switch on."),
        ((), "use desklamp 1", "There is no desklamp 1 where you are."),
        (KNIFE, "slice mug 2 with knife 1", "The mug 2 cannot be sliced."),
        (KNIFE, "slice apple 1 with mug 2", "The mug 2 does not slice: it takes a knife or a butterknife."),
        (KNIFE, "slice apple 1 with knife 1", "The apple 1 is not where you are."),
        (("go to fridge 1",), "slice apple 1 with knife 1", "You are not carrying the knife 1."),
        (MUG, "heat mug 2 with fridge 1", "The fridge 1 does not heat things: it takes a microwave."),
        (MUG, "clean pen 1 with sinkbasin 1", "The pen 1 is not something to clean."),
        (MUG, "cool mug 1 with fridge 1", "You are not carrying the mug 1."),
        (MUG, "cool mug 2 with fridge 1", "You are not at the fridge 1: go to it first."),
        (
            ("go to countertop 1",),
            "examine mug 2",
            "You can only examine what you hold or a receptacle where you are; the mug 2 is neither.",
        ),
        (
            (),
            "go to fridge 7",
            "It must read 'go to <receptacle>' with the names and numbers of",
        ),
        ((), "look around", "'look' stands alone."),
        ((), "put mug 2 in/on countertop 1", "To put something down, write 'move <object> to <receptacle>'."),
        ((), "dance", "That is no command. Commands: go to <receptacle>, open <receptacle>,"),
    ],
)
def test_reasons(kitchen: Game, before: tuple[str, ...], command: str, text: str) -> None:
    found = reason(kitchen, before, command)
    assert found == text if text.endswith(".") else found.startswith(text)


def test_a_closed_door_tells_nothing_about_what_is_behind_it(kitchen: Game) -> None:
    there = reason(kitchen, ("go to fridge 1",), "take apple 1 from fridge 1")
    not_there = reason(kitchen, ("go to fridge 1",), "take mug 1 from fridge 1")
    assert there == not_there


def test_the_old_wording(kitchen: Game) -> None:
    assert reason(kitchen, MUG, "move mug 2 to countertop 1", "0.3").endswith(
        "'put <object> in/on <receptacle>'."
    )
    assert "move" not in reason(kitchen, MUG, "dance", "0.3")
