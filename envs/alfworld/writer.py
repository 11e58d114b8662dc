"""Writing games as ``game.tw-pddl`` files, which the original stack (alfworld with textworld) plays.

A file holds the PDDL domain and the text grammar next to the problem. Both belong to ALFWorld and are not
part of EnvRL: they are taken at run time from the installed ``alfworld`` package or from an official game.
"""

import importlib.util
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envrl.envs.alfworld.engine import initial_state
from envrl.envs.alfworld.game import Game
from envrl.envs.alfworld.privileged import remaining_plan
from envrl.envs.errors import DataNotFound, InvalidData

_TASK = re.compile(r"Your task is to: [^\"]*")
#: predicates by the spelling of ALFRED's domain, in the order in which they are written
_PREDICATES = {
    name.lower(): name
    for name in (
        *("receptacleType", "objectType", "canContain", "isReceptacleObject", "inReceptacleObject"),
        *("pickupable", "openable", "opened", "atLocation", "holds", "holdsAny"),
        *("cleanable", "heatable", "coolable", "sliceable", "toggleable"),
        *("isClean", "isHot", "isCool", "isSliced", "isToggled"),
        *("inReceptacle", "receptacleAtLocation", "objectAtLocation"),
    )
}
#: types that the domain's own rules name, so that every problem has to declare them
_DOMAIN_TYPES = {
    "otype": ("butterknifetype", "knifetype", "sinktype"),
    "rtype": ("fridgetype", "microwavetype", "sinkbasintype"),
}
_IN_PLACE = """
  (exists (?r - receptacle) (exists (?o - object)
    (and{traits} (objectType ?o {o}type) (receptacleType ?r {t}type) (inReceptacle ?o ?r))))"""
_TWO = """
  (exists (?r - receptacle) (exists (?o1 - object)
    (and (objectType ?o1 {o}type) (receptacleType ?r {t}type) (inReceptacle ?o1 ?r)
      (exists (?o2 - object) (and (not (= ?o1 ?o2))
        (objectType ?o2 {o}type) (receptacleType ?r {t}type) (inReceptacle ?o2 ?r))))))"""
_LIT = """
  (exists (?ot - object ?r - receptacle ?a - agent ?l - location)
    (and (objectType ?ot {t}type) (toggleable ?ot) (isToggled ?ot)
      (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)))
  (exists (?o - object ?a - agent) (and (objectType ?o {o}type) (holds ?a ?o)))"""
#: task type -> the PDDL of its goal
_GOALS = {
    "pick_and_place_simple": _IN_PLACE.replace("{traits}", ""),
    "look_at_obj_in_light": _LIT,
    "pick_clean_then_place_in_recep": _IN_PLACE.replace("{traits}", " (cleanable ?o) (isClean ?o)"),
    "pick_heat_then_place_in_recep": _IN_PLACE.replace("{traits}", " (heatable ?o) (isHot ?o)"),
    "pick_cool_then_place_in_recep": _IN_PLACE.replace("{traits}", " (coolable ?o) (isCool ?o)"),
    "pick_two_obj_and_place": _TWO,
}


@dataclass(frozen=True, slots=True)
class Rules:
    """The texts that all games share.

    Attributes:
        domain: PDDL domain.
        grammar: text grammar with one "Your task is to: ..." line.
    """

    domain: str
    grammar: str


def load_rules(source: str | Path | None = None) -> Rules:
    """The rules from an official game file, or from the installed ``alfworld`` package.

    Args:
        source: path of an official ``game.tw-pddl``; None reads the package's files, without importing it.

    Raises:
        DataNotFound: there is no such file, or no ``alfworld`` package.
        InvalidData: the file is no game file.
    """
    if source is not None:
        path = Path(source)
        if not path.is_file():
            raise DataNotFound(
                f"expected a game.tw-pddl file to take ALFWorld's domain and grammar from, found no {path}"
            )
        try:
            game = json.loads(path.read_text(encoding="utf-8"))
            rules = Rules(game["pddl_domain"], game["grammar"])
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidData(
                f"{path} is no game.tw-pddl file ({error!r}); name one of the official games"
            ) from None
        return _checked(rules, path)
    spec = importlib.util.find_spec("alfworld")
    folders = (
        [] if spec is None else [Path(place) / "data" for place in spec.submodule_search_locations or ()]
    )
    for folder in folders:
        domain, grammar = folder / "alfred.pddl", folder / "alfred.twl2"
        if domain.is_file() and grammar.is_file():
            return _checked(
                Rules(domain.read_text(encoding="utf-8"), grammar.read_text(encoding="utf-8")), folder
            )
    raise DataNotFound(
        "a game.tw-pddl file needs ALFWorld's domain and grammar, found no alfworld package with them; "
        "install it with: pip install 'envrl[reference]', or name an official game file: load_rules(PATH)"
    )


def _checked(rules: Rules, source: Path) -> Rules:
    if "(define (domain" not in rules.domain or not _TASK.search(rules.grammar):
        raise InvalidData(f"{source} has no PDDL domain, or a grammar without a 'Your task is to: ...' line")
    return rules


def game_fields(game: Game, rules: Rules) -> dict[str, Any]:
    """What a ``game.tw-pddl`` file of the game holds; JSON-able.

    The walkthrough is the game's own, else the privileged expert's plan.

    Raises:
        NoExpert: the game cannot be won.
    """
    walkthrough = game.walkthrough or remaining_plan(game, initial_state(game))
    return {
        "pddl_domain": rules.domain,
        "grammar": _TASK.sub(lambda _: f"Your task is to: {game.sentence}", rules.grammar),
        "pddl_problem": problem(game),
        "solvable": True,
        "walkthrough": list(walkthrough),
    }


def problem(game: Game) -> str:
    """The PDDL problem of a game."""
    facts = game.facts()
    declared: dict[str, set[str]] = {kind: set(names) for kind, names in _DOMAIN_TYPES.items()}
    declared["otype"].update(kind for _, kind in facts.get("objecttype", ()))
    declared["rtype"].update(kind for _, kind in facts.get("receptacletype", ()))
    for receptacle, kind in facts.get("cancontain", ()):
        declared["rtype"].add(receptacle)
        declared["otype"].add(kind)
    declared |= {
        "agent": {game.agent},
        "object": set(game.objects),
        "receptacle": set(game.receptacles),
        "location": set(game.locations),
    }
    if game.start_holding >= 0:
        facts["holdsany"] = [(game.agent,)]
    goal = _GOALS[game.goal.task_type].format(o=game.goal.object_type, t=game.goal.target_type)
    lines = [
        f"(define (problem {re.sub(r'[^a-z0-9_]+', '_', game.task_id.lower())})",
        "(:domain alfred)",
        "(:objects",
        *(f"  {name} - {kind}" for kind, group in declared.items() for name in sorted(group)),
        ")",
        "(:init",
        *(
            f"  ({spelt} {' '.join(row)})"
            for name, spelt in _PREDICATES.items()
            for row in facts.get(name, ())
        ),
        ")",
        f"(:goal (and {goal.strip()}))",
        ")",
    ]
    return "\n".join(lines) + "\n"


def write_game(game: Game, path: str | Path, rules: Rules | None = None) -> Path:
    """Write the game to ``path`` (parent folders are made) and return the path.

    Args:
        game: the game.
        path: the file, or a folder to put ``game.tw-pddl`` into.
        rules: see `load_rules`, which supplies them where they are not given.
    """
    path = Path(path)
    if path.suffix != ".tw-pddl":
        path = path / "game.tw-pddl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(game_fields(game, rules or load_rules())), encoding="utf-8")
    return path


def write_games(
    games: Iterable[Game], root: str | Path, split: str, rules: Rules | None = None
) -> list[Path]:
    """Write games in the layout of the official data, ``root/split/<task>/<trial>/game.tw-pddl``.

    ``EnvRL/ALFWorld-v0`` opens the result with ``games=root, split=split``, and so does alfworld itself.
    """
    rules = rules or load_rules()
    out = []
    for game in games:
        goal = game.goal
        what = f"{goal.task_type}-{goal.object_type}-None-{goal.target_type}-0"
        out.append(
            write_game(game, Path(root) / split / what / f"trial_{game.task_id.rpartition('/')[2]}", rules)
        )
    return out
