"""An expert that a policy can imitate: it acts on what the player has read, never on the hidden state.

It looks into likely receptacles first (`envrl.envs.alfworld.placements`), remembers all it saw, and takes up
any situation, including the middle of somebody else's episode:

>>> expert = ImitableExpert("put a clean mug in shelf.")                  # doctest: +SKIP
>>> observation, info = env.reset()                                       # doctest: +SKIP
>>> expert.observe(observation)                                           # doctest: +SKIP
>>> while True:                                                           # doctest: +SKIP
...     action = expert.act(info["admissible_actions"])
...     observation, reward, terminated, truncated, info = env.step(action)
...     expert.observe(observation, action)
"""

from collections.abc import Iterable, Sequence
from math import exp
from random import Random

from envrl.envs.alfworld.game import Goal
from envrl.envs.alfworld.goals import TREATMENTS, read_sentence
from envrl.envs.alfworld.memory import Memory, kind_of
from envrl.envs.alfworld.placements import PLACEMENTS
from envrl.envs.alfworld.rooms import APPLIANCES, CAN_CONTAIN, OPENABLE, kind_of_room
from envrl.envs.errors import NoExpert

#: chance, relative to the likeliest place (100), of an object where the tables never saw its type
_POSSIBLE, _ODD = 1.0, 0.1


class ImitableExpert:
    """A scripted player with a memory; deterministic in what it has read.

    Args:
        goal: the goal, or its sentence with or without ``Your task is to:``.
        rng: with ``noise``, the source of it.
        noise: standard deviation, on a log scale, of the jitter on how promising a receptacle looks. 0 gives
            one demonstration a game; 0.5 to 2 gives various sensible ones.

    Raises:
        NoExpert: the sentence states none of ALFRED's six tasks.
    """

    def __init__(self, goal: Goal | str, *, rng: Random | None = None, noise: float = 0.0) -> None:
        stated = read_sentence(goal) if isinstance(goal, str) else goal
        if stated is None:
            raise NoExpert(f"expected the goal sentence of an ALFWorld task, got {goal!r}")
        if noise and rng is None:
            raise ValueError("noise needs an rng: pass rng=random.Random(seed), or noise=0")
        self.goal = stated
        self.memory = Memory()
        self._treatment = TREATMENTS.get(stated.task_type)
        self._rng, self._noise = rng, noise
        self._jitter: dict[str, float] = {}
        self._useless: set[str] = set()

    def observe(self, observation: str, action: str | None = None) -> None:
        """Take in an observation and, if there was one, the action that led to it (anybody's)."""
        self.memory.read(observation)

    def act(self, admissible: Sequence[str]) -> str:
        """The next command, one of ``admissible``.

        Raises:
            NoExpert: nothing is admissible, or the thing in hand fits nowhere and the game is lost.
        """
        if not admissible:
            raise NoExpert("expected a non-empty list of admissible commands")
        memory, offered = self.memory, set(admissible)
        memory.notice(admissible)
        for command in self._wishes(offered):
            if command in offered:
                return command
        raise NoExpert(f"no way to go on with {memory.holding or 'an empty hand'} is known")

    # ---- what to do ------------------------------------------------------------------------------------

    def _wishes(self, offered: set[str]) -> Iterable[str]:
        """Commands in order of preference; the first admissible one is taken."""
        if self.memory.holding is None:
            yield from self._fetch(offered)
        elif kind_of(self.memory.holding) != self.goal.object_type or self.memory.holding in self._useless:
            yield from self._put_away(offered)
        elif self.goal.task_type == "look_at_obj_in_light":
            yield from self._light(offered)
        elif self._treatment is not None and not self._is_treated(self.memory.holding):
            yield from self._treat(offered)
        else:
            yield from self._deliver(offered)

    def _fetch(self, offered: set[str]) -> Iterable[str]:
        """Take an object that the goal asks for, or look where one may be."""
        done = self._destination() if self.goal.task_type.startswith("pick_two") else None
        candidates = [
            (thing, place)
            for thing, place in self.memory.places(self.goal.object_type)
            if place != done and thing not in self._useless
        ]
        if candidates:
            here = self.memory.here
            thing, place = min(candidates, key=lambda c: (not self._is_treated(c[0]), c[1] not in here))
            yield f"take {thing} from {place}"
            yield from self._reach(place)
        yield from self._search(self.goal.object_type)

    def _put_away(self, offered: set[str]) -> Iterable[str]:
        """Free the hand of something that the goal does not ask for."""
        yield from sorted(command for command in offered if command.startswith(("move ", "put ")))
        assert self.memory.holding is not None
        kind = kind_of(self.memory.holding)
        fitting = [name for name in self.memory.receptacles if kind in CAN_CONTAIN.get(kind_of(name), ())]
        fitting.sort(key=lambda name: (name not in self.memory.here, self._cost(name)))
        for name in fitting:
            yield from self._reach(name)

    def _light(self, offered: set[str]) -> Iterable[str]:
        """Carry the object to a lamp and turn it on."""
        lamps = self.memory.places(self.goal.target_type)
        yield from (f"use {lamp}" for lamp, _ in lamps)
        yield from (f"go to {place}" for _, place in lamps)
        yield from self._search(self.goal.target_type)

    def _treat(self, offered: set[str]) -> Iterable[str]:
        """Clean, heat or cool the object in hand."""
        thing = self.memory.holding
        assert thing is not None and self._treatment is not None
        tools = self.memory.of_kind(APPLIANCES[self._treatment])
        yield from (f"{self._treatment} {thing} with {tool}" for tool in tools)
        if any(tool in self.memory.here for tool in tools):
            # It stands here and does not work on this thing: not every object of a type need have the trait.
            self._useless.add(thing)
            yield from self._put_away(offered)
        yield from (f"go to {tool}" for tool in tools)

    def _deliver(self, offered: set[str]) -> Iterable[str]:
        """Put the object where the goal wants it."""
        place = self._destination()
        if place is None:
            return
        yield f"move {self.memory.holding} to {place}"
        yield f"put {self.memory.holding} in/on {place}"
        yield from self._reach(place)

    # ---- where to go -----------------------------------------------------------------------------------

    def _reach(self, place: str) -> Iterable[str]:
        """Commands that bring the place within reach."""
        yield f"open {place}" if place in self.memory.here else f"go to {place}"

    def _destination(self) -> str | None:
        """The receptacle that is to hold what the goal asks for."""
        memory, kind = self.memory, self.goal.object_type

        def preference(name: str) -> tuple[int, float]:
            inside = sum(kind_of(thing) == kind for thing in memory.inside(name))
            return (-inside if self.goal.task_type.startswith("pick_two") else 0, self._cost(name))

        return min(memory.of_kind(self.goal.target_type), key=preference, default=None)

    def _cost(self, name: str) -> float:
        """Commands needed to see, or use, the inside of a receptacle."""
        going = 0.0 if name in self.memory.here else 1.0
        closed = self.memory.is_closed(name)
        return going + (OPENABLE.get(kind_of(name), 0.0) if closed is None else closed)

    def _search(self, kind: str) -> Iterable[str]:
        """Look into the receptacle that promises most for each command it costs."""
        memory = self.memory
        places = [name for name in memory.receptacles if not memory.knows(name, kind)]
        if not places:
            # All was looked into, so something is not where this memory has it: look again, least seen first.
            fewest = min((memory.looks.get(name, 0) for name in memory.receptacles), default=0)
            places = [name for name in memory.receptacles if memory.looks.get(name, 0) == fewest]
        usual = self._usual(kind)

        def promise(name: str) -> float:
            place = kind_of(name)
            chance = usual.get(place) or (_POSSIBLE if kind in CAN_CONTAIN.get(place, ()) else _ODD)
            return chance / max(self._cost(name), 0.5) * self._noisy(name)

        for name in sorted(places, key=promise, reverse=True):
            if name not in memory.here:
                yield f"go to {name}"
            elif name in memory.shut:
                yield f"open {name}"
            else:
                yield f"examine {name}"

    def _usual(self, kind: str) -> dict[str, int]:
        """Where objects of a type tend to lie in the kind of room that this looks like."""
        room = kind_of_room({kind_of(name) for name in self.memory.receptacles})
        placement = PLACEMENTS[room].get(kind)
        return placement.attraction if placement is not None else {}

    def _noisy(self, name: str) -> float:
        if not self._noise or self._rng is None:
            return 1.0
        if name not in self._jitter:
            self._jitter[name] = exp(self._noise * self._rng.gauss(0.0, 1.0))
        return self._jitter[name]

    def _is_treated(self, thing: str) -> bool:
        return self._treatment is not None and self._treatment in self.memory.treated.get(thing, ())
