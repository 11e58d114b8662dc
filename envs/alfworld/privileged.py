"""The expert that knows the hidden state: a short plan that wins from wherever the game stands.

Every task of ALFWorld is won by the same few errands (free the hand, fetch, treat, deliver or light), so the
plan is the shortest of all ways to run them: over the objects that qualify, the receptacles that count and
the places where a thing in hand can be left. No planner process and no search beyond these choices is needed.
"""

from collections.abc import Iterator

from envrl.envs.alfworld.engine import State, is_won
from envrl.envs.alfworld.game import Game, bits
from envrl.envs.alfworld.goals import TREATMENTS
from envrl.envs.alfworld.rooms import APPLIANCES
from envrl.envs.errors import NoExpert


class _Walk:
    """Commands so far, and what they change that later commands depend on: the location and what is open."""

    __slots__ = ("commands", "game", "location", "opened")

    def __init__(self, game: Game, location: int, opened: int, commands: tuple[str, ...] = ()) -> None:
        self.game, self.location, self.opened, self.commands = game, location, opened, commands

    def visit(self, r: int) -> "_Walk":
        """Stand at receptacle ``r``."""
        there = self.game.receptacle_locations[r]
        if there == self.location:
            return self
        return _Walk(
            self.game, there, self.opened, (*self.commands, f"go to {self.game.receptacle_names[r]}")
        )

    def reach(self, r: int) -> "_Walk":
        """Stand at receptacle ``r`` with its inside in reach."""
        there = self.visit(r)
        if not self.game.openable & ~self.opened & 1 << r:
            return there
        command = f"open {self.game.receptacle_names[r]}"
        return _Walk(self.game, there.location, self.opened | 1 << r, (*there.commands, command))

    def do(self, command: str) -> "_Walk":
        return _Walk(self.game, self.location, self.opened, (*self.commands, command))

    def take(self, o: int, r: int) -> "_Walk":
        return self.reach(r).do(f"take {self.game.object_names[o]} from {self.game.receptacle_names[r]}")

    def put(self, o: int, r: int) -> "_Walk":
        return self.reach(r).do(f"move {self.game.object_names[o]} to {self.game.receptacle_names[r]}")


def remaining_plan(game: Game, state: State) -> list[str]:
    """Commands (0.4 wording) that win from ``state``, [] if it is won already. Neither argument changes.

    Raises:
        NoExpert: nothing wins any more: what is in hand fits nowhere, or what the goal names is out of reach.
    """
    if is_won(game, state):
        return []
    best = min(_plans(game, state), key=lambda walk: len(walk.commands), default=None)
    if best is None:
        raise NoExpert(f"{game.task_id} cannot be won from here: {_reason(game, state)}")
    return list(best.commands)


def _plans(game: Game, state: State) -> Iterator[_Walk]:
    start = _Walk(game, state.location, state.opened)
    held = state.holding
    if held >= 0 and game.goal_objects >> held & 1:
        yield from _finish(game, state, state.contents, start, held)
        return
    errands = []
    for o, r in _fetchable(game, state.contents):
        # In official games an object may stand in two receptacles; taken from one it stays in the other.
        contents = state.contents.copy()
        contents[r] ^= 1 << o
        errands.append((o, r, contents))
    for walk in _free_hand(game, state, start):
        for o, r, contents in errands:
            yield from _finish(game, state, contents, walk.take(o, r), o)


def _free_hand(game: Game, state: State, start: _Walk) -> Iterator[_Walk]:
    """Ways to leave a useless thing in hand: here, where the next object lies, or at the nearest place."""
    held = state.holding
    if held < 0:
        yield start
        return
    kind, can_contain = game.object_types[held], game.can_contain
    fitting = [r for r, place in enumerate(game.receptacle_types) if (place, kind) in can_contain]
    places = game.receptacle_locations
    on_the_way = {start.location, *(places[r] for _, r in _fetchable(game, state.contents))}
    near = [r for r in fitting if places[r] in on_the_way]
    if fitting:
        near.append(min(fitting, key=lambda r: len(start.reach(r).commands)))
    for r in dict.fromkeys(near):
        yield start.put(held, r)


def _fetchable(game: Game, contents: list[int]) -> Iterator[tuple[int, int]]:
    """(object, receptacle) pairs that could serve the goal."""
    wanted = game.goal_objects & game.pickupable
    for r, inside in enumerate(contents):
        for o in bits(inside & wanted):
            yield o, r


def _finish(game: Game, state: State, contents: list[int], walk: _Walk, o: int) -> Iterator[_Walk]:
    """Ways to win with the object in hand at the end of ``walk``; ``contents`` are those without it."""
    task_type = game.goal.task_type
    if task_type == "look_at_obj_in_light":
        for lamp in bits(game.lamps):
            for r, inside in enumerate(contents):
                if inside >> lamp & 1:
                    lit = walk.visit(r)
                    yield lit if state.toggled >> lamp & 1 else lit.do(f"use {game.object_names[lamp]}")
        return
    places = _places(game, o)
    if task_type == "pick_two_obj_and_place":
        others = [(second, r) for second, r in _fetchable(game, contents) if second != o]
        for place in places:
            put = walk.put(o, place)
            if contents[place] & game.goal_objects & ~(1 << o):
                yield put
            else:
                yield from (put.take(second, r).put(second, place) for second, r in others)
        return
    for treated in _treat(game, state, walk, o):
        if any(contents[r] >> o & 1 for r in game.goal_receptacles):
            yield treated
        else:
            yield from (treated.put(o, r) for r in places)


def _treat(game: Game, state: State, walk: _Walk, o: int) -> Iterator[_Walk]:
    """Ways to clean, heat or cool the object in hand, if the task asks for it and it is not so yet."""
    treatment = TREATMENTS.get(game.goal.task_type)
    if treatment is None or {"clean": state.clean, "heat": state.hot, "cool": state.cool}[treatment] >> o & 1:
        yield walk
        return
    for r, kind in enumerate(game.receptacle_types):
        if kind == APPLIANCES[treatment]:
            # Appliances work closed.
            yield walk.visit(r).do(f"{treatment} {game.object_names[o]} with {game.receptacle_names[r]}")


def _places(game: Game, o: int) -> list[int]:
    """Receptacles of the goal's type that take the object."""
    if (game.goal.target_type, game.object_types[o]) not in game.can_contain:
        return []
    return list(game.goal_receptacles)


def _reason(game: Game, state: State) -> str:
    held = state.holding
    if held >= 0 and not game.goal_objects >> held & 1:
        kind = game.object_types[held]
        if not any((place, kind) in game.can_contain for place in game.receptacle_types):
            return f"{game.object_names[held]} is in hand and no receptacle takes it"
    return f"too few reachable {game.goal.object_type}s, or no {game.goal.target_type} or appliance for them"
