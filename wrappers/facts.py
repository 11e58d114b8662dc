"""What a step's ``info`` says, as columns of a recording: the contract's keys, and whatever else it holds."""

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np

#: info keys that become columns, and their types there
FACTS: dict[str, type] = {
    "goal": str,
    "task_id": str,
    "admissible_actions": tuple,
    "action_status": str,
    "is_success": bool,
    "state_key": str,
    "fault": str,
}
#: other keys of the contract: open actions, which belong to the step that comes, and a mark that is mostly false
_TEMPLATES, _CUT = "action_templates", "text_cut"
_ABSENT = object()


class InfoReader:
    """Reads the facts out of ``info``.

    Args:
        info_keys: names that a foreign environment uses for the facts.
        trusted: ``info`` is that of a `TextEnv`: all keys are there, with the right types. Values of others
            are converted, and copied, since the environment may go on to change them.

    Raises:
        ValueError: ``info_keys`` maps something that is no fact.
    """

    def __init__(self, info_keys: Mapping[str, str] | None = None, *, trusted: bool = False) -> None:
        names = dict(info_keys or {})
        unknown = sorted(set(names) - set(FACTS))
        if unknown:
            raise ValueError(f"info_keys may rename {', '.join(FACTS)}; found {unknown[0]!r}")
        # pairs and not a dict: two facts may come from one key
        self._kinds = [(names.get(fact, fact), kind) for fact, kind in FACTS.items()]
        self._known = frozenset(key for key, _ in self._kinds) | {_TEMPLATES, _CUT}
        self._contract = itemgetter(*FACTS) if trusted and not names else None

    def facts(self, info: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of `FACTS` in their order, None where ``info`` has none."""
        if self._contract is not None:
            values: tuple[Any, ...] = self._contract(info)
            return values
        facts = []
        for key, kind in self._kinds:
            value = info.get(key)
            if kind is tuple:
                value = _actions(value)
            elif value is not None and type(value) is not kind:
                value = kind(value)
            facts.append(value)
        return tuple(facts)

    def extras(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of everything else in ``info`` that JSON can hold, but for `offered`."""
        extras = {}
        if self._contract is None or len(info) > len(self._known):
            for key in [key for key in info if key not in self._known]:
                copy = _json_copy(info[key])
                if copy is not _ABSENT:
                    extras[str(key)] = copy
        if info.get(_CUT):
            extras[_CUT] = True
        return extras


def offered(info: Mapping[str, Any]) -> dict[str, Any]:
    """The extras that the next step will have: the open actions which it may take, where there are any.

    >>> offered({"action_templates": ("search[<query>]",)})
    {'action_templates': ['search[<query>]']}
    """
    value = info.get(_TEMPLATES)
    templates = () if value is None else _actions(value)
    return {_TEMPLATES: list(templates)} if templates else {}


def _actions(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return None
    return tuple([action if type(action) is str else str(action) for action in value])


def _json_copy(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return _json_copy(value.tolist())
    if isinstance(value, Mapping):
        items = ((str(key), _json_copy(item)) for key, item in value.items())
        return {key: item for key, item in items if item is not _ABSENT}
    if isinstance(value, list | tuple):
        copies = [_json_copy(item) for item in value]
        return _ABSENT if any(copy is _ABSENT for copy in copies) else copies
    return _ABSENT
