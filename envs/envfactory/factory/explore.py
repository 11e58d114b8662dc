"""Stage 1, explore: call every tool with arguments that make sense, and with some that do not.

Exploring is a set of episodes: from a sampled state, calls one after the other. All that is learned is in the
result, and every episode can be played again.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from envrl.envs.envfactory.factory.arguments import Pools, Proposal, Proposer
from envrl.envs.envfactory.factory.leaves import readable_data
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.envfactory.session import Session
from envrl.envs.envfactory.sources import Source

#: a plausible call is repeated until each tool has so many results of either kind, as far as it can be done
_ENOUGH = 6


@dataclass(frozen=True)
class Probe:
    """One call and what came of it.

    Attributes:
        tool, arguments: the call.
        origins: argument -> where its value came from (see `Proposal`).
        ok: the tool did it. checked: the arguments were sent at all; False: the schema refused them.
        text, value: the result; text is the complaint for one that failed.
        changed: the state's digest is another than before.
    """

    tool: str
    arguments: dict[str, Any]
    origins: dict[str, str]
    ok: bool
    checked: bool
    text: str
    value: Any
    changed: bool


@dataclass(frozen=True)
class Episode:
    """Probes in a row, from the state with this index on."""

    state: int
    probes: list[Probe]


@dataclass(frozen=True)
class Exploration:
    """What was found out about a source.

    Attributes:
        source: its spec. seed: of all that was drawn.
        states: initial states as JSON data.
        episodes: what was played.
    """

    source: str
    seed: int
    states: list[Any]
    episodes: list[Episode] = field(default_factory=list)

    def probes(self) -> list[Probe]:
        """All probes, in order."""
        return [probe for episode in self.episodes for probe in episode.probes]

    def coverage(self, tools: Mapping[str, ToolSpec]) -> dict[str, dict[str, int]]:
        """Tool -> how many calls there were, went well, were refused by the tool, by the schema; changed."""
        found = {name: Counter[str]() for name in tools}
        for probe in self.probes():
            kind = "ok" if probe.ok else "refused" if probe.checked else "unfit"
            found[probe.tool].update(["calls", kind, *(["changed"] if probe.changed else [])])
        keys = ("calls", "ok", "refused", "unfit", "changed")
        return {name: {key: counts[key] for key in keys} for name, counts in found.items()}

    def to_json(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Exploration":
        """From `to_json`."""
        data = json.loads(text)
        episodes = [
            Episode(e["state"], [Probe(**probe) for probe in e["probes"]]) for e in data.pop("episodes")
        ]
        return cls(**data, episodes=episodes)


def sample_states(source: Source, count: int, seed: int) -> list[Any]:
    """``count`` initial states; fewer where the source has fewer different ones."""
    states: dict[bytes, Any] = {}
    for index in range(count):
        data = source.sample(np.random.default_rng([seed, index]))
        states.setdefault(blake2b(json.dumps(data, sort_keys=True).encode()).digest(), data)
    return list(states.values())


def explore(
    source: Source,
    seed: int = 0,
    states: int = 4,
    rounds: int = 5,
    length: int = 60,
    patience: int = 3,
    progress: Callable[[int, int], None] | None = None,
) -> Exploration:
    """Play ``rounds`` episodes of about ``length`` calls in each of ``states`` initial states.

    Args:
        source: what to explore.
        seed: of all that is drawn.
        states, rounds, length: how much.
        patience: go on to so many times ``rounds`` while there is a tool that never went well.
        progress: called with (episodes done, of how many).

    Raises:
        SessionFault: the source does not run.
    """
    found = Exploration(source.spec, seed, sample_states(source, states, seed))
    session, proposer = source.open(), Proposer(source.tools)
    try:
        total = len(found.states) * rounds
        for number in range(total * patience):
            if number >= total and all(count["ok"] for count in found.coverage(source.tools).values()):
                break
            state = number % len(found.states)
            rng = np.random.default_rng([seed, 1, number])
            session.reset(source.load(json.dumps(found.states[state]).encode()))
            found.episodes.append(Episode(state, _episode(source, session, proposer, found, rng, length)))
            if progress is not None:
                progress(number + 1, max(total, number + 1))
    finally:
        session.close()
    return found


def _episode(
    source: Source,
    session: Session,
    proposer: Proposer,
    found: Exploration,
    rng: np.random.Generator,
    length: int,
) -> list[Probe]:
    pools = Pools()
    pools.take(session.data())
    probes: list[Probe] = []
    names = list(source.tools)
    counts = found.coverage(source.tools)
    for _ in range(length):
        # Tools that were seen to work or to refuse less often come first.
        lacks = [
            max(0, _ENOUGH - counts[n]["ok"]) + max(0, _ENOUGH - counts[n]["refused"]) / 2 for n in names
        ]
        weights = np.cumsum(np.array(lacks) + 1.0)
        name = names[int(np.searchsorted(weights, rng.random() * weights[-1], side="right"))]
        odd = 0.5 if rng.random() < 0.2 else 0.0
        probe = run_probe(source, session, name, proposer.propose(name, pools, rng, odd))
        proposer.learn(name, Proposal(probe.arguments, probe.origins), probe.ok)
        kind = "ok" if probe.ok else "refused" if probe.checked else "unfit"
        counts[name][kind] += 1
        if probe.ok:
            pools.take(readable_data(probe.value), name)
        probes.append(probe)
    return probes


def run_probe(source: Source, session: Session, tool: str, proposal: Proposal) -> Probe:
    """Make one call and write down what came of it."""
    checked, complaint = source.tools[tool].check(proposal.arguments)
    if checked is None:
        return Probe(tool, proposal.arguments, proposal.origins, False, False, complaint, None, False)
    before = session.digest()
    result = session.call(tool, checked)
    changed = session.digest() != before
    return Probe(
        tool, proposal.arguments, proposal.origins, result.ok, True, result.text, result.value, changed
    )


def replay(source: Source, session: Session, probes: Sequence[Probe]) -> list[Probe]:
    """Make the same calls in a session that has been reset."""
    return [run_probe(source, session, p.tool, Proposal(p.arguments, p.origins)) for p in probes]
