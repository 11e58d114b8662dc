"""Experiments with sessions: play an exploration again, alone, side by side, saved and loaded in between."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import pydantic
import pydantic_core

from envrl.envs.envfactory.delta import Change, delta
from envrl.envs.envfactory.factory.arguments import Proposal
from envrl.envs.envfactory.factory.explore import Episode, Exploration, Probe, run_probe
from envrl.envs.envfactory.session import Session
from envrl.envs.envfactory.sources import Source, ToolkitSource
from envrl.envs.envfactory.state import Original
from envrl.envs.envfactory.toolkit import ToolError, Toolkit


class Outcome(NamedTuple):
    """What a call came to: the text the agent reads, and the digest of the state after it."""

    ok: bool
    text: str
    digest: str


class Fault(NamedTuple):
    """A call that shows what is wrong. episode and step say where it stands; -1 for none."""

    tool: str | None
    arguments: Any
    reason: str
    episode: int = -1
    step: int = -1


def play(source: Source, found: Exploration) -> list[list[Outcome]]:
    """Every episode by itself, each in a new session."""
    return [_play_one(source, found, episode) for episode in found.episodes]


def play_side_by_side(source: Source, found: Exploration) -> list[list[Outcome]]:
    """Every episode step by step with the next one, in two sessions that live at the same time."""
    played: list[list[Outcome]] = [[] for _ in found.episodes]
    for index, episode in enumerate(found.episodes):
        other = found.episodes[(index + 1) % len(found.episodes)]
        one, two = _begin(source, found, episode.state), _begin(source, found, other.state)
        try:
            for step, probe in enumerate(episode.probes):
                played[index].append(_step(source, one, probe))
                if step < len(other.probes):
                    _step(source, two, other.probes[step])
        finally:
            one.close()
            two.close()
    return played


def reload_faults(source: Source, found: Exploration, expected: list[list[Outcome]]) -> list[Fault]:
    """Where a state that is saved and loaded is another, or behaves differently from then on.

    Args:
        source, found: what was explored.
        expected: the outcomes of `play`, as far as they are the same every time.
    """
    faults: list[Fault] = []
    for index, episode in enumerate(found.episodes):
        session = _begin(source, found, episode.state)
        twins: list[tuple[int, Session]] = []
        halts = {len(expected[index]) // 3, 2 * len(expected[index]) // 3}
        try:
            for step, probe in enumerate(episode.probes[: len(expected[index])]):
                if step in halts:
                    twins.append((step, source.open()))
                    twins[-1][1].reset(source.load(_json(session.data())))
                for halt, twin in twins:
                    outcome = _step(source, twin, probe)
                    if outcome != expected[index][step]:
                        reason = _difference(expected[index][step], outcome, session)
                        reason = f"after saving and loading before call {halt + 1}: {reason}"
                        faults.append(Fault(probe.tool, probe.arguments, reason, index, step))
                before = session.digest()
                _step(source, session, probe)
                if session.digest() != before:
                    again = source.open()
                    again.reset(source.load(_json(session.data())))
                    if again.digest() != session.digest():
                        changes = delta(session.data(), again.data())
                        faults.append(Fault(probe.tool, probe.arguments, _lost(changes), index, step))
                    again.close()
                if faults:
                    return faults
        finally:
            session.close()
            for _, twin in twins:
                twin.close()
    return faults


def bare_faults(source: ToolkitSource, found: Exploration) -> tuple[list[Fault], list[Fault]]:
    """(of the error contract, of saving and loading): a Python toolkit without the environment's protection.

    A call that fails must leave the state alone and raise nothing but `ToolError`; one that is marked as
    reading must leave it alone too; what `Toolkit.save` gives must load as the same state.
    """
    contract: list[Fault] = []
    fixpoint: list[Fault] = []
    kind = source.kind
    for index, episode in enumerate(found.episodes):
        toolkit = kind(kind.State.model_validate_json(_json(found.states[episode.state])))
        for step, probe in enumerate(episode.probes):
            spec = source.tools[probe.tool]
            arguments, _ = spec.check(probe.arguments)
            if arguments is None:
                continue
            before = _text(toolkit)
            problem, failed = "", True
            try:
                pydantic_core.to_json(getattr(toolkit, kind.method_name(probe.tool))(**arguments))
                failed = False
            except ToolError:
                pass
            except (Exception, SystemExit) as error:
                problem = f"raised {type(error).__name__}: {error}; a tool raises nothing but ToolError"
            changed = _text(toolkit) != before
            if changed and (failed or spec.effect == "read"):
                problem = problem or f"{'failed' if failed else 'is marked as reading'} and changed the state"
            if changed and (refused := _refused(kind, toolkit)):
                problem = problem or f"left a state that its model refuses: {refused}"
            if problem:
                contract.append(Fault(probe.tool, probe.arguments, problem, index, step))
                break
            if changed or step == 0:
                lost = _save_and_load(kind, toolkit)
                if lost:
                    fixpoint.append(Fault(probe.tool, probe.arguments, lost, index, step))
                    break
        if contract or fixpoint:
            break
    return contract, fixpoint


def unchanged_faults(source: Source, found: Exploration) -> list[Fault]:
    """The error contract as far as it shows from outside: calls that failed, or only read, and changed the state."""
    for index, episode in enumerate(found.episodes):
        for step, probe in enumerate(episode.probes):
            reads = source.tools[probe.tool].effect == "read"
            if probe.changed and (reads or not probe.ok):
                what = "is marked as reading" if reads else "failed"
                return [Fault(probe.tool, probe.arguments, f"{what} and changed the state", index, step)]
    return []


def first_difference(
    found: Exploration, one: Sequence[Sequence[Outcome]], other: Sequence[Sequence[Outcome]], what: str
) -> Fault | None:
    """The first call at which two plays of an exploration differ."""
    for index, (episode, a, b) in enumerate(zip(found.episodes, one, other, strict=True)):
        for step, (probe, x, y) in enumerate(zip(episode.probes, a, b, strict=False)):
            if x != y:
                return Fault(probe.tool, probe.arguments, f"{what}: {_difference(x, y)}", index, step)
    return None


def common(one: Sequence[Sequence[Outcome]], other: Sequence[Sequence[Outcome]]) -> list[list[Outcome]]:
    """Each episode up to the first call at which two plays differ."""
    kept = []
    for a, b in zip(one, other, strict=True):
        same = next(
            (step for step, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
        )
        kept.append(list(a[:same]))
    return kept


def _play_one(source: Source, found: Exploration, episode: Episode) -> list[Outcome]:
    session = _begin(source, found, episode.state)
    try:
        return [_step(source, session, probe) for probe in episode.probes]
    finally:
        session.close()


def _begin(source: Source, found: Exploration, state: int) -> Session:
    session = source.open()
    session.reset(source.load(_json(found.states[state])))
    return session


def _step(source: Source, session: Session, probe: Probe) -> Outcome:
    again = run_probe(source, session, probe.tool, Proposal(probe.arguments, probe.origins))
    return Outcome(again.ok, again.text, f"{session.digest():032x}")


def _difference(expected: Outcome, got: Outcome, session: Session | None = None) -> str:
    if (expected.ok, expected.text) != (got.ok, got.text):
        return f"expected the result {_short(expected.text)}, found {_short(got.text)}"
    return "the result is the same, the state is another"


def _save_and_load(kind: type[Toolkit], toolkit: Toolkit) -> str:
    """What is lost on the way through `Toolkit.save` and `Toolkit.load`; "" if nothing."""
    try:
        again = kind.load(json.loads(json.dumps(toolkit.save())))
    except Exception as error:
        return f"save and load raised {type(error).__name__}: {error}"
    if _text(again) == _text(toolkit):
        return ""
    # Sets are written in an order that says nothing: only now is it worth looking more closely.
    if Original(kind.State, again.state).weight == Original(kind.State, toolkit.state).weight:
        return ""
    return _lost(delta(_plain(toolkit.state), _plain(again.state)))


def _text(toolkit: Toolkit) -> str:
    text: str = toolkit.state.model_dump_json(warnings=False)
    return text


def _refused(kind: type[Toolkit], toolkit: Toolkit) -> str:
    """Why the state's model does not take the state; "" if it does."""
    try:
        kind.State.model_validate_json(_text(toolkit))
    except pydantic.ValidationError as error:
        return " ".join(str(error).split())
    return ""


def _plain(state: Any) -> Any:
    return pydantic_core.from_json(state.model_dump_json())


def _lost(changes: list[Change]) -> str:
    first = changes[0] if changes else Change((), "set")
    return f"saving and loading changes the state at {'.'.join(first.path) or 'the order of its keys'}"


def _json(data: Any) -> bytes:
    return json.dumps(data).encode()


def _short(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:120] + "...")
