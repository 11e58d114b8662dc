"""Stage 2, verify: eight gates, each decided by a program that ran the tools.

| gate | what it finds |
|---|---|
| schema | no usable schema, description, state model or sample |
| isolation | instances share state (class attributes, modules, servers that serve everybody) |
| fixpoint | a state that is saved and loaded is another one, or behaves differently from then on |
| determinism | two processes with different hash seeds disagree |
| error_contract | a call that failed changed the state, or a reading one did; anything but ToolError is raised |
| coverage | a tool never went well, or nothing was ever refused |
| purity | clock, unseeded chance, environment variables, network, processes, files and databases written, files of
|        | others read; in `sample_state` too |
| mutation | a broken variant of the toolkit that no generated task notices |
"""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from envrl.envs.envfactory.factory.explore import Exploration
from envrl.envs.envfactory.factory.mutation import weakest_mutant
from envrl.envs.envfactory.factory.trials import Fault, common, first_difference
from envrl.envs.envfactory.factory.worker import WorkerFailed, explore_apart, replay_apart
from envrl.envs.envfactory.session import SessionFault
from envrl.envs.envfactory.sources import Source, ToolkitSource, open_source
from envrl.envs.errors import DataNotFound, EnvRLError

_SMALLER = {"rounds": 2, "length": 30}

GATES = (
    "schema", "isolation", "fixpoint", "determinism", "error_contract", "coverage", "purity", "mutation",
)  # fmt: skip
_HASH_SEEDS = (1, 4242)
_SHOWN_REFUSALS = 3
_UNDECIDED = "not decided"


@dataclass(frozen=True)
class Gate:
    """How a gate was passed. tool and input show a failure: arguments of a call, or whatever was put in."""

    passed: bool
    tool: str | None = None
    input: Any = None
    reason: str = ""


@dataclass
class Report:
    """What the gates say about a toolkit.

    Attributes:
        toolkit, source: its name and spec. tools: how many it has. seed: of the exploration.
        gates: gate -> result, in the order of `GATES`.
        coverage: see `Exploration.coverage`.
    """

    toolkit: str
    source: str
    tools: int
    seed: int
    gates: dict[str, Gate] = field(default_factory=dict)
    coverage: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """All gates are."""
        return len(self.gates) == len(GATES) and all(gate.passed for gate in self.gates.values())

    def to_json(self) -> str:
        """As JSON, see docs/envfactory-design.md."""
        return json.dumps({**asdict(self), "passed": self.passed}, indent=2, ensure_ascii=False) + "\n"

    def complaint(self) -> str:
        """What failed first, in a line; "" if nothing did. What is impure is mostly not deterministic either."""
        failed = {name: gate for name, gate in self.gates.items() if not gate.passed}
        # A gate that was not decided says why; that matters only where none was.
        decided = [name for name, gate in failed.items() if not gate.reason.startswith(_UNDECIDED)]
        first = "purity" if "purity" in decided else next(iter(decided or failed), None)
        if first is None:
            return ""
        gate = failed[first]
        where = f" ({gate.tool} with {json.dumps(gate.input, ensure_ascii=False)})" if gate.tool else ""
        return f"gate {first}{where}: {gate.reason}"


def verify(
    spec: str,
    folder: Path | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> tuple[Report, Exploration | None]:
    """Put a source through all gates.

    Args:
        spec, folder: as for `open_source`.
        seed: of the exploration.
        progress: called with the name of what is done next.

    Returns:
        The report, and the exploration it rests on (None where there could be none).

    Raises:
        DataNotFound: there is no such source.
    """
    tell = progress or (lambda name: None)
    tell("schema")
    try:
        source = open_source(spec, folder)
        report = Report(source.name, spec, len(source.tools), seed)
        gate = _schema(source)
    except DataNotFound:
        raise
    except (EnvRLError, SessionFault) as error:
        report = Report(spec.rpartition(":")[2], spec, 0, seed)
        gate = Gate(False, None, spec, str(error))
    report.gates["schema"] = gate
    if not gate.passed:
        return _stopped(report, "the schema gate failed"), None
    try:
        tell("exploration")
        # A call to another process takes a thousand times as long as one to a Python toolkit.
        size = {} if isinstance(source, ToolkitSource) else _SMALLER
        explored = explore_apart(spec, folder, {"seed": seed, **size})
        found = explored.found
        report.coverage = found.coverage(source.tools)
        if explored.impurities:  # what it does outside is not done again, unwatched
            impure = explored.impurities[0]
            report.gates["coverage"] = _coverage(source, found)
            report.gates["purity"] = Gate(False, impure.tool, impure.arguments, impure.what)
            return _stopped(report, "the purity gate failed"), found
        tell("replay")
        close = replay_apart(spec, folder, found, _HASH_SEEDS[0], closely=True)
        tell("replay with another hash seed")
        far = replay_apart(spec, folder, found, _HASH_SEEDS[1])
    except (WorkerFailed, EnvRLError) as error:
        return _stopped(report, f"the toolkit cannot be run: {error}"), None
    steady = common(close.alone, far.alone)
    gates = report.gates
    gates["isolation"] = _gate(
        first_difference(found, steady, close.again, "a second instance after the first one")
        or first_difference(found, steady, close.beside, "two instances side by side")
    )
    gates["fixpoint"] = _gate(next(iter(close.fixpoint), None))
    gates["determinism"] = _determinism(found, close.states, far.states) or _gate(
        first_difference(found, close.alone, far.alone, "a process with another hash seed")
    )
    gates["error_contract"] = _gate(next(iter(close.contract), None))
    gates["coverage"] = _coverage(source, found)
    gates["purity"] = Gate(True)
    if not all(gate.passed for gate in gates.values()):
        return _stopped(report, "an earlier gate failed"), found
    tell("mutation")
    try:
        weak = weakest_mutant(source, found, seed)
    except SessionFault as error:
        return _stopped(report, f"the toolkit cannot be run: {error}"), None
    gates["mutation"] = Gate(True) if weak is None else Gate(False, weak.tool, weak.arguments, weak.reason)
    return report, found


def _gate(fault: Fault | None) -> Gate:
    return Gate(True) if fault is None else Gate(False, fault.tool, fault.arguments, fault.reason)


def _stopped(report: Report, why: str) -> Report:
    for name in GATES:
        report.gates.setdefault(name, Gate(False, None, None, f"{_UNDECIDED}: {why}"))
    report.gates = {name: report.gates[name] for name in GATES}
    return report


def _schema(source: Source) -> Gate:
    if not source.tools:
        return Gate(False, None, source.spec, "there are no tools")
    for name, spec in source.tools.items():
        if not spec.description.strip():
            return Gate(False, name, None, "the tool has no description")
        if spec.parameters.get("type") != "object" or not isinstance(spec.parameters.get("properties"), dict):
            return Gate(False, name, dict(spec.parameters), "the parameters are no JSON schema of an object")
        missing = [key for key in spec.required if key not in spec.parameters["properties"]]
        if missing:
            return Gate(False, name, missing, "required parameters that the schema does not describe")
        for key, schema in spec.parameters["properties"].items():
            if not {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"} & set(schema):
                return Gate(False, name, {key: schema}, f"parameter {key!r} has no type")
    try:
        source.load(json.dumps(source.sample(np.random.default_rng(0))).encode())
    except Exception as error:
        reason = f"no initial state: {type(error).__name__}: {error}"
        return Gate(False, "sample_state", None, reason)
    return Gate(True)


def _determinism(found: Exploration, one: list[Any], other: list[Any]) -> Gate | None:
    for index, states in enumerate(zip(found.states, one, other, strict=False)):
        if any(json.dumps(state) != json.dumps(states[0]) for state in states[1:]):
            reason = "the sampled state differs between processes"
            return Gate(False, "sample_state", {"seed": [found.seed, index]}, reason)
    return None


def _coverage(source: Source, found: Exploration) -> Gate:
    for name, counts in found.coverage(source.tools).items():
        probes = [probe for probe in found.probes() if probe.tool == name]
        if not counts["ok"]:
            refusals = {_kind_of(probe.text): probe for probe in reversed(probes) if probe.checked}
            told = "; ".join(dict.fromkeys(probe.text for probe in list(refusals.values())[:_SHOWN_REFUSALS]))
            reason = f"never went well in {counts['calls']} calls{f', but: {told}' if told else ''}"
            shown = next(iter(refusals.values()), probes[0] if probes else None)
            return Gate(False, name, shown.arguments if shown else None, reason)
        if not counts["refused"] + counts["unfit"] and source.tools[name].check({"no such argument": 1})[0]:
            return Gate(
                False, name, {"no such argument": 1}, "accepts arguments that its schema does not know"
            )
        if source.tools[name].effect == "write" and not counts["changed"]:
            good = next(probe for probe in probes if probe.ok)
            return Gate(False, name, good.arguments, "is marked as writing and never changed the state")
    return Gate(True)


def _kind_of(complaint: str) -> str:
    """A complaint without the values in it."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "?", complaint)
