"""The expert that knows the hidden state: a short plan that wins from wherever the game stands.

Every task of ALFWorld is won by the same few errands (free the hand, fetch, treat, deliver or light), so the plan
is the shortest of all ways to run them: over the objects that qualify, the receptacles that count and the places
where a thing in hand can be left. No planner process is needed, and no search beyond these choices.
"""

from collections.abc import Iterator

from envrl.envs.alfworld.engine import State, is_won, step
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
        return _Walk(self.game, there, self.opened, (*self.commands, f"go to {self.game.receptacle_names[r]}"))

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
        NoExpert: no commands win any more: something in hand fits nowhere, or what the goal names is out of reach.
    """
    if is_won(game, state):
        return []
    best = min(_plans(game, state), key=lambda walk: len(walk.commands), default=None)
    if best is None:
        raise NoExpert(f"{game.task_id} cannot be won from here: {_reason(game, state)}")
    after, plan = state.copy(), []
    for command in best.commands:
        step(game, after, command)
        plan.append(command)
        if is_won(game, after):
            # Things that stand in two receptacles at once (official games) may win early.
            break
    return plan


def _plans(game: Game, state: State) -> Iterator[_Walk]:
    start = _Walk(game, state.location, state.opened)
    held = state.holding
    if held >= 0 and game.goal_objects >> held & 1:
        yield from _finish(game, state, start, held)
        return
    for walk in _free_hand(game, state, start):
        for o, r in _fetchable(game, state):
            yield from _finish(game, state, walk.take(o, r), o)


def _free_hand(game: Game, state: State, start: _Walk) -> Iterator[_Walk]:
    """Ways to leave what is in hand and of no use: here, where the next object lies, or at the nearest fitting place."""
    held = state.holding
    if held < 0:
        yield start
        return
    kind, can_contain = game.object_types[held], game.can_contain
    fitting = [r for r, place in enumerate(game.receptacle_types) if (place, kind) in can_contain]
    on_the_way = {start.location, *(game.receptacle_locations[r] for _, r in _fetchable(game, state))}
    near = [r for r in fitting if game.receptacle_locations[r] in on_the_way]
    if fitting:
        near.append(min(fitting, key=lambda r: len(start.reach(r).commands)))
    for r in dict.fromkeys(near):
        yield start.put(held, r)


def _fetchable(game: Game, state: State) -> Iterator[tuple[int, int]]:
    """(object, receptacle) pairs that could serve the goal."""
    wanted = game.goal_objects & game.pickupable
    for r, inside in enumerate(state.contents):
        for o in bits(inside & wanted):
            yield o, r


def _finish(game: Game, state: State, walk: _Walk, o: int) -> Iterator[_Walk]:
    """Ways to win with the object in hand at the end of ``walk``."""
    task_type = game.goal.task_type
    if task_type == "look_at_obj_in_light":
        for lamp in bits(game.lamps):
            for r, inside in enumerate(state.contents):
                if inside >> lamp & 1:
                    lit = walk.visit(r)
                    yield lit if state.toggled >> lamp & 1 else lit.do(f"use {game.object_names[lamp]}")
        return
    if task_type == "pick_two_obj_and_place":
        yield from _finish_two(game, state, walk, o)
        return
    for treated in _treat(game, state, walk, o):
        for r in _places(game, o):
            yield treated.put(o, r)


def _finish_two(game: Game, state: State, walk: _Walk, first: int) -> Iterator[_Walk]:
    others = [(o, r) for o, r in _fetchable(game, state) if o != first]
    for place in _places(game, first):
        put = walk.put(first, place)
        if state.contents[place] & game.goal_objects & ~(1 << first):
            yield put
            continue
        for o, r in others:
            yield put.take(o, r).put(o, place)


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
