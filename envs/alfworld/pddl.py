"""Reading ``game.tw-pddl`` files: JSON that holds a PDDL problem, a text grammar and a walkthrough.

All official games share one PDDL domain and one grammar except for the goal sentence, so only the initial
facts, the goal and that sentence are read here; the rules themselves live in `envrl.envs.alfworld.actions`.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from envrl.envs.alfworld.game import TASK_TYPES, Game, Goal
from envrl.envs.errors import InvalidData

_TYPED = re.compile(r"objecttype \?\w+ (\w+?)type\b")
_RECEPTACLE_TYPED = re.compile(r"receptacletype \?\w+ (\w+?)type\b")
#: the goal sentence in a text grammar (inside a JSON string, hence the escapes)
TASK_LINE = re.compile(r'"Your task is to: ((?:[^"\\]|\\.)*)"')
_CONTAIN = "(cancontain"


def parse_game(source: str | Mapping[str, Any], task_id: str) -> Game:
    """A game from the text (or the decoded JSON) of a ``game.tw-pddl`` file, in the 0.4 or the 0.3 wording.

    Args:
        source: the file's text, or a mapping with ``pddl_problem``, ``grammar`` and, optionally,
            ``walkthrough``.
        task_id: the id under which the game is known; errors name it.

    Raises:
        InvalidData: not a game file, cut off, or a goal that ALFRED's six task types do not cover.
    """
    if isinstance(source, str):
        try:
            source = json.loads(source)
        except ValueError as error:
            raise InvalidData(
                f"game {task_id}: expected the JSON of a game.tw-pddl file, found {error}"
            ) from None
    if not isinstance(source, Mapping):
        raise InvalidData(f"game {task_id}: expected a JSON object, found {type(source).__name__}")
    for field in ("pddl_problem", "grammar"):
        if not isinstance(source.get(field), str):
            raise InvalidData(
                f"game {task_id}: expected the text field {field!r} of a game.tw-pddl file, found none"
            )
    sentence = goal_sentence(source["grammar"], task_id)
    walkthrough = source.get("walkthrough") or ()
    return parse_problem(source["pddl_problem"], sentence, walkthrough, task_id)


def goal_sentence(grammar: str, task_id: str) -> str:
    """The goal in words, from the text grammar of a game file."""
    task = TASK_LINE.search(grammar)
    if task is None:
        raise InvalidData(f"game {task_id}: the grammar has no 'Your task is to: ...' line")
    return str(json.loads(f'"{task.group(1)}"', strict=False))


def parse_problem(problem: str, sentence: str, walkthrough: Iterable[str], task_id: str) -> Game:
    """A game from the text of its PDDL problem, its goal sentence and its walkthrough (see `parse_game`)."""
    start, end = problem.find("(:init"), problem.rfind("(:goal")
    if not 0 <= start < end:
        raise InvalidData(f"game {task_id}: the PDDL problem has no (:init ...) followed by (:goal ...)")
    facts = _facts(problem[start + len("(:init") : end].lower())
    commands = tuple(_in_0_4_wording(command) for command in walkthrough)
    goal = parse_goal(problem[end:].lower(), task_id)
    return Game.from_facts(facts, task_id=task_id, goal=goal, sentence=sentence, walkthrough=commands)


def _facts(init: str) -> dict[str, Iterable[tuple[str, ...]]]:
    """The facts between ``(:init`` and ``(:goal``, by predicate."""
    facts: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    # Half of an official game are its canContain facts, in one block that many games share.
    first, last = init.find(_CONTAIN), init.find(")", max(init.rfind(_CONTAIN), 0)) + 1
    block = init[first:last]
    apart = first >= 0 and block.count("(") == block.count(_CONTAIN)
    for text in (init[:first], init[last:]) if apart else (init,):
        # The words of each innermost pair of brackets; costs and other numbers stand outside of them.
        for piece in text.split(")"):
            words = piece[piece.rfind("(") + 1 :].split()
            if words:
                facts[words[0]].append(tuple(words[1:]))
    return {**facts, "cancontain": _contain_block(block)} if apart else {**facts}


@lru_cache(maxsize=256)
def _contain_block(block: str) -> frozenset[tuple[str, ...]]:
    pieces = (piece.split() for piece in block.replace("(", " ").split(")"))
    return frozenset(tuple(words[1:]) for words in pieces if words)


def task_type_of(problem: str, task_id: str) -> str:
    """The task type of a PDDL problem, read off its goal."""
    text = problem[problem.rfind("(:goal") :]
    return parse_goal(text.lower(), task_id).task_type


def parse_goal(text: str, task_id: str) -> Goal:
    """The goal from the lower-case text of a PDDL ``(:goal ...)``."""
    objects, receptacle = _TYPED.findall(text), _RECEPTACLE_TYPED.search(text)
    if "istoggled" in text:
        if len(objects) == 2:
            return Goal("look_at_obj_in_light", objects[1], objects[0])
    elif objects and receptacle is not None:
        for mark, task_type in (
            ("?o2", "pick_two_obj_and_place"),
            ("isclean", "pick_clean_then_place_in_recep"),
            ("ishot", "pick_heat_then_place_in_recep"),
            ("iscool", "pick_cool_then_place_in_recep"),
            ("inreceptacle", "pick_and_place_simple"),
        ):
            if mark in text:
                return Goal(task_type, objects[0], receptacle.group(1))
    found = " ".join(text.split())[:300]
    raise InvalidData(
        f"game {task_id}: the goal is none of ALFRED's six task types ({', '.join(TASK_TYPES)}): {found}"
    )


def _in_0_4_wording(command: str) -> str:
    if command.startswith("put ") and " in/on " in command:
        return command.replace("put ", "move ", 1).replace(" in/on ", " to ", 1)
    return command
