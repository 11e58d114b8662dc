"""Arguments to try: values that stand in the state or came out of tools, and made-up ones."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from envrl.envs.envfactory.factory.leaves import leaves
from envrl.envs.envfactory.factory.wording import normal, words_of
from envrl.envs.envfactory.schema import ToolSpec

_NUMBERS = (1, 2, 3, 5, 8, 10, 12, 20, 25, 40, 50, 75, 100, 120, 200, 250, 500)
_WORDS = (
    "Bring the blue folder",
    "Call back after lunch",
    "Meet at the north gate",
    "Keep this for Friday",
    "Two boxes, no rush",
    "Ask about the window seat",
    "Check the second page",
    "Ready for pick-up",
)
_TITLES = ("Garden plan", "Spring review", "Team lunch", "Night shift", "Board notes", "Paint order")
_DAYS = ("2025-03-10", "2025-03-12", "2025-03-18", "2025-03-21", "2025-04-02", "2025-04-15")
_TIMES = ("08:30", "09:00", "11:15", "13:00", "15:45", "18:00")
#: values that a schema lets pass and a tool should mostly refuse
_ODD: dict[str, tuple[Any, ...]] = {
    "string": ("", " ", "nobody", "X-0", "0", "../x", "x" * 300, "ünïcode ✓"),
    "integer": (0, -1, 10**9, 7),
    "number": (0, -1.5, 1e12, 0.004),
    "boolean": (True, False),
}
_MAX_PER_NAME = 200
_TOGETHER = 0.6  # share of proposals whose values are drawn to belong together
_PROVEN = 3  # successes that show that a pool of another name fits
_MADE = "made"  # the origin of a made-up value


class Proposal(NamedTuple):
    """Arguments for a call, and where each comes from: ``made``, or the name of a pool."""

    arguments: dict[str, Any]
    origins: dict[str, str]


class Pools:
    """Values by the normalised name of the field they stood in, in the order in which they were met.

    With each value goes the company it keeps: the texts in the record it stood in. Values that share company
    belong together (an account and a card of one owner), and many tools want arguments that do.
    """

    def __init__(self) -> None:
        self._values: dict[str, dict[tuple[type, Any], frozenset[str]]] = defaultdict(dict)

    def take(self, data: Any, name: str = "") -> None:
        """Take in all scalar values of JSON data; ``name`` is that of a bare value."""
        for leaf in leaves(data, name):
            if not isinstance(leaf.value, bool) and leaf.value != "":
                pool = self._values[normal(leaf.name) if leaf.name else ""]
                key = (type(leaf.value), leaf.value)
                if key in pool or len(pool) < _MAX_PER_NAME:
                    beside = (leaf.record or {}).values()
                    company = {value for value in beside if isinstance(value, str)} | {str(leaf.value)}
                    pool[key] = pool.get(key, frozenset()) | company

    def names(self, kind: str) -> list[str]:
        """Pools that have a value of a JSON type."""
        return [name for name, pool in self._values.items() if any(_fits(value, kind) for _, value in pool)]

    def values(self, name: str, kind: str) -> list[Any]:
        """The values of a pool that have a JSON type."""
        return [value for _, value in self._values.get(name, {}) if _fits(value, kind)]

    def company(self, name: str, value: Any) -> frozenset[str]:
        """The texts beside a value of a pool, and its own."""
        return self._values.get(name, {}).get((type(value), value), frozenset())

    def related(self, name: str, kind: str, company: frozenset[str], closely: bool = False) -> list[Any]:
        """The values of a pool that share company with others; if ``closely``, those that share the most."""
        pool = self._values.get(name, {})
        shares = [(value, len(own & company)) for (_, value), own in pool.items() if _fits(value, kind)]
        least = max((share for _, share in shares), default=0) if closely else 1
        return [value for value, share in shares if share >= max(1, least)]


@dataclass
class _Record:
    """How often values of a pool were tried as an argument, and how often the call then went well."""

    tries: int = 0
    good: int = 0

    @property
    def score(self) -> float:
        """Twice the share that went well, as far as so few tries tell; 1 where there was none."""
        return 2.0 * (self.good + 1) / (self.tries + 2)


class Proposer:
    """Draws arguments for tools, and learns from which pools a parameter's good values come.

    Args:
        tools: name -> spec.
        sober: draw only from pools whose name or record of success speaks for them, as a person would. While
            exploring, anything may be tried.
    """

    def __init__(self, tools: Mapping[str, ToolSpec], sober: bool = False) -> None:
        self._tools, self._sober = tools, sober
        self._learned: dict[tuple[str, str], dict[str, _Record]] = defaultdict(dict)

    def propose(
        self, tool: str, pools: Pools, rng: np.random.Generator, odd: float = 0.0, optional: float = 0.3
    ) -> Proposal:
        """Arguments that fit the schema, as far as the schema's types go.

        Args:
            tool: its name.
            pools: values to draw from.
            rng: draws them.
            odd: probability that a value is one that the tool will probably refuse.
            optional: probability that an optional argument is given.
        """
        spec = self._tools[tool]
        arguments, origins = {}, {}
        company: frozenset[str] = frozenset()
        together = rng.random() < _TOGETHER
        for name, schema in spec.parameters.get("properties", {}).items():
            if name in spec.required or rng.random() < optional:
                given = company if together else frozenset()
                value, origin = self._value(tool, name, schema, spec.parameters, pools, rng, odd, given)
                arguments[name], origins[name] = value, origin
                company |= pools.company(origin, value) if isinstance(value, str) else frozenset()
        return Proposal(arguments, origins)

    def sensible(self, tool: str, proposal: Proposal) -> bool:
        """Whether a person might have chosen these values: no text in the place of another kind of text."""
        for name, value in proposal.arguments.items():
            origin = proposal.origins[name]
            near = origin.rpartition("_")[2] == normal(name).rpartition("_")[2]
            free = is_text(name) or self._learned[tool, name].get(_MADE, _Record()).score > 1.0
            if isinstance(value, str) and free and origin != _MADE and not near:
                return False
        return True

    def learn(self, tool: str, proposal: Proposal, ok: bool) -> None:
        """A call with these arguments went well, or not."""
        for name, origin in proposal.origins.items():
            record = self._learned[tool, name].setdefault(origin, _Record())
            record.tries += 1
            record.good += ok

    def _value(
        self,
        tool: str,
        name: str,
        schema: Mapping[str, Any],
        root: Mapping[str, Any],
        pools: Pools,
        rng: np.random.Generator,
        odd: float,
        company: frozenset[str] = frozenset(),
    ) -> tuple[Any, str]:
        schema = resolve(schema, root, rng)
        if "const" in schema:
            return schema["const"], _MADE
        if "enum" in schema:
            return _one_of(schema["enum"], rng), _MADE
        kind = schema.get("type", "string")
        kind = kind[0] if isinstance(kind, list) else kind
        if kind == "array":
            count = int(
                rng.integers(max(1, schema.get("minItems", 1)), max(2, schema.get("minItems", 1)) + 1)
            )
            drawn = [
                self._value(tool, name, schema.get("items", {}), root, pools, rng, odd) for _ in range(count)
            ]
            return [value for value, _ in drawn], drawn[0][1]
        if kind == "object":
            fields = schema.get("properties", {})
            return {
                key: self._value(tool, key, sub, root, pools, rng, odd)[0] for key, sub in fields.items()
            }, _MADE
        if kind not in _ODD:
            return None, _MADE
        if rng.random() < odd:
            return _one_of(_ODD[kind], rng), "odd"
        pool = self._pool(tool, name, kind, pools, rng, bool(schema.get("examples")))
        if pool != _MADE:
            related = pools.related(pool, kind, company, bool(rng.integers(2))) if company else []
            return _one_of(related or pools.values(pool, kind), rng), pool
        return made_up(name, kind, schema, rng), _MADE

    def _pool(
        self, tool: str, name: str, kind: str, pools: Pools, rng: np.random.Generator, examples: bool
    ) -> str:
        """The pool to draw from: likely by its name, or by what went well before, or what the schema shows."""
        if kind == "boolean":
            return _MADE
        learned, wanted, new = self._learned[tool, name], normal(name), _Record()
        last = wanted.rpartition("_")[2]
        free = is_text(name) or learned.get(_MADE, new).score > 1.0
        made = 12.0 if examples else 3.0 if free or kind != "string" else 1.0
        names, weights = [_MADE], [made * learned.get(_MADE, new).score]
        for pool in pools.names(kind):
            near = 8.0 if pool == wanted else 3.0 if pool.rpartition("_")[2] == last else 0.5
            record = learned.get(pool, new)
            if self._sober and near < 1 and (free or record.good < _PROVEN):
                continue
            names.append(pool)
            weights.append(near * record.score)
        total = np.cumsum(weights)
        return names[int(np.searchsorted(total, rng.random() * total[-1], side="right"))]


def made_up(name: str, kind: str, schema: Mapping[str, Any], rng: np.random.Generator) -> Any:
    """A plausible value that nothing has to know of."""
    if kind == "boolean":
        return bool(rng.integers(2))
    if schema.get("examples"):
        return _one_of(schema["examples"], rng)
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 1000))
        fitting = [n for n in _NUMBERS if low < n < high] or [low + (high - low) / 2]
        value = _one_of(fitting, rng)
        return int(value) if kind == "integer" else value
    words, form = set(words_of(name)), schema.get("format", "")
    if form == "date-time":
        return f"{_one_of(_DAYS, rng)}T{_one_of(_TIMES, rng)}:00"
    if form == "date" or words & {"date", "day", "on", "deadline", "due"}:
        return _one_of(_DAYS, rng)
    if form == "time" or words & {"time", "at", "start", "end"}:
        return _one_of(_TIMES, rng)
    if form == "email" or words & {"email", "mail"}:
        return f"{_one_of(('kim', 'lee', 'noor', 'sasha'), rng)}@example.com"
    if words & {"name", "title", "subject", "label", "city", "place"}:
        return _one_of(_TITLES, rng)
    if words & {"path", "file", "filename"}:
        return f"{_one_of(('draft', 'list', 'plan'), rng)}.txt"
    return _one_of(_WORDS, rng)


def resolve(
    schema: Mapping[str, Any], root: Mapping[str, Any], rng: np.random.Generator
) -> Mapping[str, Any]:
    """A schema without references and choices; one of several alternatives is drawn, null only if alone."""
    while True:
        if "$ref" in schema:
            target: Any = root
            for part in schema["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            schema = target
            continue
        options = schema.get("anyOf") or schema.get("oneOf")
        if options is None:
            return schema
        schema = _one_of([o for o in options if o.get("type") != "null"] or list(options), rng)


def _fits(value: Any, kind: str) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if isinstance(value, bool):
        return kind == "boolean"
    return (
        isinstance(value, int) if kind == "integer" else isinstance(value, int | float) and kind == "number"
    )


def is_text(name: str) -> bool:
    """Whether a name says that the value is free text, which people say word by word."""
    text = {
        "text",
        "body",
        "message",
        "comment",
        "note",
        "notes",
        "content",
        "description",
        "reason",
        "title",
    }
    return bool(text & set(words_of(name)) or {"subject", "label"} & set(words_of(name)))


def _one_of(items: Sequence[Any], rng: np.random.Generator) -> Any:
    return items[int(rng.integers(len(items)))]
