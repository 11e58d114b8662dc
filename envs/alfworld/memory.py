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
    """Everything read so far.

    Attributes:
        receptacles: names, in the order in which they became known.
        contents: receptacle -> objects last seen in it; a receptacle that was never looked into is absent.
        looks: receptacle -> how often its inside was described.
        closed: receptacles known to be closed. opened: receptacles known to be open.
        here: receptacles at the present location.
        holding: the object in hand, or None.
        treated: object -> what was done to it (subset of clean, heat, cool; heat and cool undo each other).
    """

    receptacles: dict[str, None] = field(default_factory=dict)
    contents: dict[str, list[str]] = field(default_factory=dict)
    looks: dict[str, int] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    here: tuple[str, ...] = ()
    holding: str | None = None
    treated: dict[str, set[str]] = field(default_factory=dict)

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
        if (match := _TAKEN.fullmatch(observation)) is not None:
            thing, where = match.groups()
            self.holding = thing
            if thing in self.contents.get(where, ()):
                self.contents[where].remove(thing)
        elif (match := _PUT.fullmatch(observation)) is not None:
            thing, where = match.groups()
            self.holding = None
            if where in self.contents:
                self.contents[where].append(thing)
        elif (match := _TREATED.fullmatch(observation)) is not None:
            done, thing, _ = match.groups()
            states = self.treated.setdefault(thing, set())
            states.add(done)
            states.discard({"heat": "cool", "cool": "heat"}.get(done, ""))

    def notice(self, admissible: Iterable[str]) -> None:
        """Take in what the list of admissible commands gives away: receptacles, what is here and in hand."""
        here, held = [], None
        takes: dict[str, list[str]] = {}
        for command in admissible:
            match = _OFFERED.fullmatch(command)
            if match is None:
                continue
            verb, name, thing, where = match.groups()
            if verb is None:
                takes.setdefault(where, []).append(thing)
            elif verb == "go to":
                self.receptacles.setdefault(name)
            elif verb == "examine":
                if name in self.receptacles or kind_of(name) in RECEPTACLES:
                    here.append(name)
                else:
                    held = name
            elif verb == "open":
                self.closed.add(name)
                self.opened.discard(name)
            else:
                self.opened.add(name)
                self.closed.discard(name)
        self._know(here)
        self.here, self.holding = tuple(here), held
        if held is None:
            # What may be taken is all that lies in the open here, but for things that nobody can pick up.
            for where in here:
                if where not in self.closed and (where in takes or where in self.contents):
                    fixed = [thing for thing in self.contents.get(where, ()) if kind_of(thing) in FIXTURES]
                    self._see(where, takes.get(where, []) + fixed)

    def where(self, thing: str) -> str | None:
        """The receptacle in which the object was last seen."""
        return next((place for place, things in self.contents.items() if thing in things), None)

    def objects(self, kind: str) -> list[str]:
        """Objects of a type that were seen and lie in a receptacle, in the order of the receptacles seen."""
        return [thing for things in self.contents.values() for thing in things if kind_of(thing) == kind]

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
