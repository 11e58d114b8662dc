"""What a step's ``info`` says, as columns of a recording: the contract's keys, and whatever else it holds."""

from collections.abc import Iterable, Mapping
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
#: other keys of the contract; they say something only when they are true
_SELDOM = ("action_templates", "text_cut")
_ABSENT = object()


class InfoReader:
    """Reads the facts out of ``info``.

    Args:
        info_keys: names that a foreign environment uses for the facts.
        trusted: ``info`` keeps the contract of `TextEnv`; its tuples of actions are kept as they are. Others
            are copied, since they may be lists that the environment goes on to change.

    Raises:
        ValueError: ``info_keys`` maps something that is no fact.
    """

    def __init__(self, info_keys: Mapping[str, str] | None = None, *, trusted: bool = False) -> None:
        names = dict(info_keys or {})
        unknown = sorted(set(names) - set(FACTS))
        if unknown:
            raise ValueError(f"info_keys may rename {', '.join(FACTS)}; found {unknown[0]!r}")
        self._kinds = {names.get(fact, fact): kind for fact, kind in FACTS.items()}
        self._trusted = trusted

    def facts(self, info: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of `FACTS` in their order, None where ``info`` has none."""
        facts = []
        for key, kind in self._kinds.items():
            value = info.get(key)
            if value is not None and (type(value) is not kind or (kind is tuple and not self._trusted)):
                value = _actions(value) if kind is tuple else kind(value)
            facts.append(value)
        return tuple(facts)

    def extras(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of everything else in ``info`` that JSON can hold."""
        extras = {}
        for key, value in info.items():
            if key not in self._kinds and (key not in _SELDOM or value):
                copy = _json_copy(value)
                if copy is not _ABSENT:
                    extras[str(key)] = copy
        return extras


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
