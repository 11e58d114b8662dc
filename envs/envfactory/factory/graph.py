"""Stage 3, graph: which tool's results can fill which tool's arguments.

Nodes are tools, their parameters and the fields of their results. An edge leads from a field to a parameter and
says why: the names agree, values were seen to flow, or an embedding finds the descriptions alike.
"""

import importlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from envrl.envs.envfactory.factory.explore import Exploration
from envrl.envs.envfactory.factory.leaves import leaves, readable_data
from envrl.envs.envfactory.factory.wording import looks_like_id, normal, readable
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.envfactory.sources import Source

EdgeKind = Literal["name", "value", "embedding"]
#: confidence of a name that agrees in full, and of one whose last word does
_NAME, _LAST_WORD = 0.8, 0.4
_MIN_FLOWS, _MIN_SHARE = 3, 0.2
_MIN_COSINE = 0.8


@dataclass(frozen=True)
class Parameter:
    """An argument of a tool. by_id: its good values are mostly ids, which somebody must look up."""

    tool: str
    name: str
    kind: str
    required: bool
    by_id: bool = False


@dataclass(frozen=True)
class Field:
    """A field in the results of a tool; "" names a bare value."""

    tool: str
    name: str
    kind: str


@dataclass(frozen=True)
class Edge:
    """A field whose values can fill a parameter.

    Attributes:
        producer, output: tool and field. consumer, parameter: tool and argument.
        kind: why. confidence: from 0 to 1; for ``value`` the share of good values that the field had.
        seen: how many good values the field had (0 for other kinds).
    """

    producer: str
    output: str
    consumer: str
    parameter: str
    kind: EdgeKind
    confidence: float
    seen: int = 0


@dataclass(frozen=True)
class ToolGraph:
    """Tools (name -> effect), their parameters and fields, and the edges between these."""

    source: str
    tools: dict[str, str]
    parameters: list[Parameter] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def producers(self, tool: str, parameter: str) -> list[Edge]:
        """Edges into a parameter, the most trustworthy first; several kinds of one pair count together."""
        best: dict[tuple[str, str], Edge] = {}
        for edge in self.edges:
            if (edge.consumer, edge.parameter) == (tool, parameter):
                key = (edge.producer, edge.output)
                if key not in best or best[key].confidence < edge.confidence:
                    best[key] = edge
        return sorted(best.values(), key=lambda edge: (-edge.confidence, edge.producer, edge.output))

    def count(self) -> dict[str, int]:
        """Edges by kind."""
        counts = {"name": 0, "value": 0, "embedding": 0}
        for edge in self.edges:
            counts[edge.kind] += 1
        return counts

    def to_json(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "ToolGraph":
        """From `to_json`."""
        data = json.loads(text)
        return cls(
            data["source"],
            data["tools"],
            [Parameter(**item) for item in data["parameters"]],
            [Field(**item) for item in data["fields"]],
            [Edge(**item) for item in data["edges"]],
        )


def build_graph(source: Source, found: Exploration, embed: str | None = None) -> ToolGraph:
    """The graph of what an exploration found.

    Args:
        source: the toolkit.
        found: the exploration.
        embed: ``module:function`` from a list of texts to an array of one vector each, for embedding edges.
    """
    tools = source.tools
    graph = ToolGraph(source.spec, {name: spec.effect for name, spec in tools.items()})
    good = _good_values(found)
    for name, spec in tools.items():
        for key, schema in spec.parameters.get("properties", {}).items():
            values = [value for _, value in good.get((name, key), ()) if isinstance(value, str)]
            by_id = 2 * sum(map(looks_like_id, values)) > len(values)
            graph.parameters.append(Parameter(name, key, _kind_of(schema), key in spec.required, by_id))
    outputs = _outputs(found)
    for (tool, name), observed in outputs.items():
        graph.fields.append(Field(tool, name, _kind_of_values({value for _, value in observed})))
    graph.edges.extend(_name_edges(graph))
    graph.edges.extend(_value_edges(graph, good, outputs))
    if embed is not None:
        graph.edges.extend(_embedding_edges(graph, tools, embed))
    return graph


def _outputs(found: Exploration) -> dict[tuple[str, str], set[tuple[int, Any]]]:
    """(tool, field) -> (state, value) pairs that came out of it."""
    outputs: dict[tuple[str, str], set[tuple[int, Any]]] = defaultdict(set)
    for episode in found.episodes:
        for probe in episode.probes:
            if probe.ok:
                for leaf in leaves(readable_data(probe.value)):
                    outputs[probe.tool, leaf.name].add((episode.state, leaf.value))
    return dict(sorted(outputs.items()))


def _name_edges(graph: ToolGraph) -> list[Edge]:
    edges = []
    for output in graph.fields:
        for parameter in graph.parameters:
            if (
                output.tool == parameter.tool
                or not _compatible(output.kind, parameter.kind)
                or not output.name
            ):
                continue
            one, other = normal(output.name), normal(parameter.name)
            if one == other:
                confidence = _NAME
            elif one.rpartition("_")[2] == other.rpartition("_")[2]:
                confidence = _LAST_WORD
            else:
                continue
            edges.append(Edge(output.tool, output.name, parameter.tool, parameter.name, "name", confidence))
    return edges


def _good_values(found: Exploration) -> dict[tuple[str, str], set[tuple[int, Any]]]:
    """(tool, argument) -> (state, value) pairs of calls that went well."""
    good: dict[tuple[str, str], set[tuple[int, Any]]] = defaultdict(set)
    for episode in found.episodes:
        for probe in episode.probes:
            if probe.ok:
                for key, value in probe.arguments.items():
                    if _telling(value):
                        good[probe.tool, key].add((episode.state, value))
    return good


def _value_edges(
    graph: ToolGraph,
    good: Mapping[tuple[str, str], set[tuple[int, Any]]],
    outputs: Mapping[tuple[str, str], set[tuple[int, Any]]],
) -> list[Edge]:
    """Values that made a call succeed and that a tool had given out in the same state."""
    edges = []
    for parameter in graph.parameters:
        values = good.get((parameter.tool, parameter.name), set())
        for output in graph.fields:
            if output.tool == parameter.tool or graph.tools[output.tool] != "read":
                continue
            shared = len(values & outputs[output.tool, output.name])
            if shared >= _MIN_FLOWS and shared / len(values) >= _MIN_SHARE:
                share = round(shared / len(values), 3)
                edges.append(
                    Edge(output.tool, output.name, parameter.tool, parameter.name, "value", share, shared)
                )
    return edges


def _embedding_edges(graph: ToolGraph, tools: Mapping[str, ToolSpec], embed: str) -> list[Edge]:
    module, _, name = embed.partition(":")
    function: Callable[[Sequence[str]], Any] = getattr(importlib.import_module(module), name)

    def described(parameter: Parameter) -> str:
        schema = tools[parameter.tool].parameters["properties"][parameter.name]
        return f"{readable(parameter.name)}: {schema.get('description', '')}"

    outputs = [output for output in graph.fields if output.name]
    left = np.asarray(function([readable(output.name) for output in outputs]), dtype=float)
    right = np.asarray(function([described(parameter) for parameter in graph.parameters]), dtype=float)
    left /= np.linalg.norm(left, axis=1, keepdims=True) + 1e-12
    right /= np.linalg.norm(right, axis=1, keepdims=True) + 1e-12
    edges = []
    for output, row in zip(outputs, left @ right.T, strict=True):
        for parameter, cosine in zip(graph.parameters, row, strict=True):
            fits = output.tool != parameter.tool and _compatible(output.kind, parameter.kind)
            if fits and cosine >= _MIN_COSINE:
                confidence = round(float(cosine), 3)
                edges.append(
                    Edge(output.tool, output.name, parameter.tool, parameter.name, "embedding", confidence)
                )
    return edges


def _telling(value: Any) -> bool:
    """Whether two equal values of this kind are likely to be the same thing: no flags, no small numbers."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return len(value) > 1 if isinstance(value, str) else abs(value) > 12


def _kind_of(schema: Mapping[str, Any]) -> str:
    options = schema.get("anyOf") or schema.get("oneOf") or [schema]
    kinds = [option.get("type") for option in options if option.get("type") != "null"]
    kind = kinds[0] if kinds else "string"
    return str(kind[0] if isinstance(kind, list) else kind)


def _kind_of_values(values: set[Any]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    if all(isinstance(value, int) for value in values):
        return "integer"
    return "number" if all(isinstance(value, int | float) for value in values) else "string"


def _compatible(output: str, parameter: str) -> bool:
    if "boolean" in (output, parameter):
        return False
    return output == parameter or (output == "integer" and parameter == "number") or parameter == "array"
