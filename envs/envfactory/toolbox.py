"""`Toolbox`: the tools of one to three toolkits under names that differ, and the words that present them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from envrl.envs.envfactory.actions import Call
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.envfactory.sources import Source

_INTRODUCTION = """You help a user with the tools below. Answer with exactly one of:
- a tool call as JSON: {"name": "<tool>", "arguments": {...}}, or a list of such calls;
- a message to the user, in plain text.
Look things up before you change them, ask the user only for what no tool can tell, and when everything that was \
asked for is done, tell the user the results."""


class Toolbox:
    """What an agent can call in a task.

    Where two toolkits have a tool of the same name, both become ``<toolkit>_<tool>``.

    Args:
        sources: toolkit name -> source.
        hidden: tools, by the name used here, that are not the agent's.
    """

    def __init__(self, sources: Mapping[str, Source], hidden: Sequence[str] = ()) -> None:
        counts = Counter(name for source in sources.values() for name in source.tools)
        self._places: dict[str, tuple[str, ToolSpec]] = {}
        self._names: dict[tuple[str, str], str] = {}
        for toolkit, source in sources.items():
            for name, spec in source.tools.items():
                shown = name if counts[name] == 1 else f"{toolkit}_{name}"
                self._places[shown], self._names[toolkit, name] = (toolkit, spec), shown
        self._hidden = frozenset(hidden)
        own = {name: spec for name, (_, spec) in self._places.items() if name not in self._hidden}
        self.openai: tuple[dict[str, Any], ...] = tuple(_named(spec, name) for name, spec in own.items())
        self.templates = (*(_template(spec, name) for name, spec in own.items()), "<message to the user>")
        self._signatures = "\n".join(_signature(spec, name) for name, spec in own.items())
        theirs = {name: spec for name, (_, spec) in self._places.items() if name in self._hidden}
        #: the tools that only the user has, in OpenAI's format and one a line
        self.openai_of_user: tuple[dict[str, Any], ...] = tuple(_named(s, name) for name, s in theirs.items())
        self.signatures_of_user = "\n".join(_signature(spec, name) for name, spec in theirs.items())
        self._policies = [source.policy.strip() for source in sources.values() if source.policy]

    def __iter__(self) -> Any:
        return iter(self._places)

    def name_of(self, toolkit: str, tool: str) -> str:
        """The name by which agents call a tool of a toolkit."""
        return self._names[toolkit, tool]

    def place(self, name: str) -> tuple[str, ToolSpec]:
        """(toolkit, spec) of a tool. Raises KeyError."""
        return self._places[name]

    def check(self, call: Call, by_user: bool = False) -> tuple[dict[str, Any] | None, str]:
        """(checked arguments, ""), or (None, complaint)."""
        place = self._places.get(call.name)
        if place is None or (call.name in self._hidden and not by_user):
            known = ", ".join(name for name in self._places if by_user or name not in self._hidden)
            return None, f"there is no tool {call.name!r}; the tools are {known}"
        arguments, complaint = place[1].check(call.arguments)
        if arguments is None:
            return None, f"{call.name}: {complaint} (expected {_signature(place[1], call.name)})"
        return arguments, ""

    def introduction(self, policy: str, listing: bool = True) -> str:
        """How the agent is told what it can do.

        Args:
            policy: rules of the task.
            listing: with one line a tool; without it the agent must take the tools from ``info``.
        """
        parts = [_INTRODUCTION, *self._policies, *([policy.strip()] if policy else [])]
        if listing:
            parts.append(f"Tools:\n{self._signatures}")
        return "\n\n".join(parts)


def _named(spec: ToolSpec, name: str) -> dict[str, Any]:
    described = spec.openai()
    described["function"]["name"] = name
    return described


def _signature(spec: ToolSpec, name: str) -> str:
    return name + spec.signature()[len(spec.name) :]


def _template(spec: ToolSpec, name: str) -> str:
    properties = spec.parameters.get("properties", {})
    blanks = [
        f"{json.dumps(key)}: "
        + (f'"<{key}>"' if properties.get(key, {}).get("type") == "string" else f"<{key}>")
        for key in spec.required
    ]
    return f'{{"name": {json.dumps(name)}, "arguments": {{{", ".join(blanks)}}}}}'
