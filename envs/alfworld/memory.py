"""What a player knows of a game from reading it: where it is, what it holds, what it saw where.

The memory is built only from observations and the lists of admissible commands. It may start in the middle of
somebody else's episode: whatever it has not seen is simply unknown.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from envrl.envs.alfworld.rooms import FIXTURES, RECEPTACLES

_ON = re.compile(r"On the (\w+ \d+), you see ([^.]*)\.")
_OPEN = re.compile(r"The (\w+ \d+) is open\. In it, you see ([^.]*)\.")
_CLOSED = re.compile(r"The (\w+ \d+) is closed\.")
_SHUT = re.compile(r"You close the (\w+ \d+)\.")
_TAKEN = re.compile(r"You pick up the (\w+ \d+) from the (\w+ \d+)\.")
_PUT = re.compile(r"You (?:move|put) the (\w+ \d+) (?:to|in/on) the (\w+ \d+)\.")
_TREATED = re.compile(r"You (clean|heat|cool) the (\w+ \d+) using the (\w+ \d+)\.")
_INTRO = re.compile(r"Looking quickly around you, you see ([^.]*)\.")
_THING = re.compile(r"\ba (\w+ \d+)")
_OFFERED = re.compile(r"(go to|examine|open|close) (\w+ \d+)|take (\w+ \d+) from (\w+ \d+)")


def kind_of(name: str) -> str:
    """The type in a name: ``countertop`` of ``countertop 2``."""
    return name.partition(" ")[0]


@dataclass(slots=True)
class Memory:
    """Everything read so far, and what the present list of admissible commands tells.

    The list tells about here and now only and is not remembered, so that whoever has read the same
    observations remembers the same.

    Attributes:
        receptacles: names, in the order in which they became known.
        contents: receptacle -> objects last seen in it; a receptacle that was never looked into is absent.
        looks: receptacle -> how often its inside was described.
        closed, opened: receptacles last seen closed and open.
        treated: object -> what was done to it (subset of clean, heat, cool; heat and cool undo each other).
        here: receptacles at the present location. shut: those of them that are closed.
        takes: receptacle here -> objects that may be taken from it now.
        holding: the object in hand, or None.
    """

    receptacles: dict[str, None] = field(default_factory=dict)
    contents: dict[str, list[str]] = field(default_factory=dict)
    looks: dict[str, int] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    treated: dict[str, set[str]] = field(default_factory=dict)
    here: tuple[str, ...] = ()
    shut: frozenset[str] = frozenset()
    takes: dict[str, list[str]] = field(default_factory=dict)
    holding: str | None = None

    def read(self, observation: str) -> None:
        """Take in one observation."""
        intro = _INTRO.search(observation)
        if intro is not None:
            self._know(_THING.findall(intro.group(1)))
        for match in (*_ON.finditer(observation), *_OPEN.finditer(observation)):
            self._see(match.group(1), _THING.findall(match.group(2)))
            self.looks[match.group(1)] = self.looks.get(match.group(1), 0) + 1
            if match.re is _OPEN:
                self.opened.add(match.group(1))
                self.closed.discard(match.group(1))
        for match in (*_CLOSED.finditer(observation), *_SHUT.finditer(observation)):
            self._know((match.group(1),))
            self.closed.add(match.group(1))
            self.opened.discard(match.group(1))
        if (taken := _TAKEN.fullmatch(observation)) is not None:
            thing, where = taken.groups()
            self.holding = thing
            if thing in self.contents.get(where, ()):
                self.contents[where].remove(thing)
        elif (put := _PUT.fullmatch(observation)) is not None:
            thing, where = put.groups()
            self.holding = None
            if where in self.contents:
                self.contents[where].append(thing)
        elif (treated := _TREATED.fullmatch(observation)) is not None:
            done, thing, _ = treated.groups()
            states = self.treated.setdefault(thing, set())
            states.add(done)
            states.discard({"heat": "cool", "cool": "heat"}.get(done, ""))

    def notice(self, admissible: Iterable[str]) -> None:
        """Take in what the admissible commands tell: receptacles, what is here and what is in hand."""
        here: list[str] = []
        shut: set[str] = set()
        self.holding, self.takes = None, {}
        for command in admissible:
            match = _OFFERED.fullmatch(command)
            if match is None:
                continue
            verb, name, thing, where = match.groups()
            if verb is None:
                self.takes.setdefault(where, []).append(thing)
            elif verb == "go to":
                self.receptacles.setdefault(name)
            elif verb == "open":
                shut.add(name)
            elif verb == "examine":
                if name in self.receptacles or kind_of(name) in RECEPTACLES:
                    here.append(name)
                else:
                    self.holding = name
        self._know(here)
        self.here, self.shut = tuple(here), frozenset(shut)

    def inside(self, name: str) -> list[str]:
        """Objects in a receptacle, as far as known; what may be taken is known of all that is open here."""
        seen = self.contents.get(name, [])
        if name not in self.here or name in self.shut or self.holding is not None:
            return seen
        return self.takes.get(name, []) + [thing for thing in seen if kind_of(thing) in FIXTURES]

    def knows(self, name: str, kind: str) -> bool:
        """Whether objects of a type would have been noticed, were they in the receptacle."""
        in_reach = name in self.here and name not in self.shut and self.holding is None
        return name in self.contents or (in_reach and kind not in FIXTURES)

    def is_closed(self, name: str) -> bool | None:
        """Whether the receptacle is closed; None if that is not known."""
        if name in self.here:
            return name in self.shut
        return (
            True if name in self.closed else False if name in self.opened or name in self.contents else None
        )

    def places(self, kind: str) -> list[tuple[str, str]]:
        """(object, receptacle) for the objects of a type that are known to lie somewhere."""
        return [
            (thing, name)
            for name in self.receptacles
            for thing in self.inside(name)
            if kind_of(thing) == kind
        ]

    def of_kind(self, kind: str) -> list[str]:
        """Receptacles of a type."""
        return [name for name in self.receptacles if kind_of(name) == kind]

    def _know(self, names: Iterable[str]) -> None:
        for name in names:
            self.receptacles.setdefault(name)

    def _see(self, where: str, things: Sequence[str]) -> None:
        self._know((where,))
        for place, others in self.contents.items():
            if place != where:
                others[:] = [thing for thing in others if thing not in things]
        self.contents[where] = list(things)
