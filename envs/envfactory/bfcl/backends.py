"""`Backends`: the benchmark's own Python classes at work on one task, kept apart from all others.

The classes are used as they are. What they lack is added around them: a canonical digest of everything they
remember, snapshots, and walls against what they share (constants of their modules that end up in a state,
precisions of ``mpmath`` and ``decimal`` that one call sets for the whole process).
"""

import copy
import decimal
import importlib
import json
import pickle
import random
from collections.abc import Mapping, Sequence
from datetime import date, time
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple

#: backend -> module, which is also the name of its file of tool descriptions
MODULES: dict[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
#: time of the wall clock at which a file was written: shown nowhere, compared nowhere
_UNSEEN = {"_last_modified"}
_MOST_DIGITS = 10_000
_MOST_BITS = 100_000


class Outcome(NamedTuple):
    """What a call gave: the text that the benchmark compares, and whether the tool refused."""

    text: str
    refused: bool


class Backends:
    """The instances of one task.

    Args:
        classes: names of `MODULES`.
        config: backend -> scenario to load.
        long_context: load and answer with the long versions.
    """

    def __init__(self, classes: Sequence[str], config: Mapping[str, Any], long_context: bool) -> None:
        self._instances: dict[str, Any] = {}
        for name in classes:
            instance = backend_class(name)()
            if hasattr(instance, "_load_scenario"):
                instance._load_scenario(copy.deepcopy(config.get(name, {})), long_context=long_context)
            self._instances[name] = instance
        # Loading may have put constants of the modules into the state: part with them before a call changes them.
        self.restore(self.snapshot())

    def call(self, backend: str, method: str, arguments: Mapping[str, Any]) -> Outcome:
        """Call a method; what it raises is a refusal."""
        arguments = copy.deepcopy(dict(arguments))  # some backends keep the very list they were given
        if backend == "MathAPI" and (excess := _excess(method, arguments)):
            return Outcome(json.dumps({"error": excess}), True)
        try:
            if backend == "MathAPI":
                return _alone(getattr(self._instances[backend], method), arguments)
            return _outcome(getattr(self._instances[backend], method)(**arguments))
        except Exception as error:
            return Outcome(f"Error during execution: {error}", True)

    def digest(self) -> bytes:
        """128 bits of everything the instances remember, in any process the same."""
        return blake2b(repr(_plain(self._instances, {})).encode(), digest_size=16).digest()

    def snapshot(self) -> bytes:
        """All instances as bytes."""
        return pickle.dumps(self._instances, protocol=pickle.HIGHEST_PROTOCOL)

    def restore(self, snapshot: bytes) -> None:
        """Take up a snapshot."""
        self._instances = pickle.loads(snapshot)

    def equal(self, other: "Backends") -> bool:
        """The benchmark's comparison: public attributes, by the classes' own ``==``."""
        try:
            for name, wanted in other._instances.items():
                mine = vars(self._instances[name])
                for attribute, value in vars(wanted).items():
                    if not attribute.startswith("_") and mine.get(attribute) != value:
                        return False
        except RecursionError:  # folders that were moved into themselves
            return False
        return True

    def data(self) -> dict[str, Any]:
        """Backend -> public attributes in plain words."""
        return {
            name: {key: repr(value) for key, value in vars(instance).items() if not key.startswith("_")}
            for name, instance in self._instances.items()
        }


@cache  # one entry a backend
def backend_class(name: str) -> Any:
    """The class of a backend."""
    return getattr(importlib.import_module(f"{_PACKAGE}.{MODULES[name]}"), name)


def _alone(method: Any, arguments: Mapping[str, Any]) -> Outcome:
    """Calls that set the precision of ``mpmath`` or ``decimal`` for everybody, with that taken back."""
    from mpmath import mp

    digits = mp.dps
    try:
        with decimal.localcontext():
            return _outcome(method(**arguments))
    finally:
        mp.dps = digits


def _outcome(result: Any) -> Outcome:
    """A result as the benchmark writes it down."""
    refused = isinstance(result, dict) and "error" in result
    if isinstance(result, str):
        return Outcome(result, refused)
    if isinstance(result, dict):
        try:
            return Outcome(json.dumps(result), refused)
        except (TypeError, ValueError, RecursionError):
            pass
    return Outcome(str(result), refused)


def _excess(method: str, arguments: Mapping[str, Any]) -> str:
    """Why a calculation would take the machine and not the benchmark; "" if it would not."""
    if arguments.get("precision", 0) > _MOST_DIGITS:
        return f"precision is at most {_MOST_DIGITS}"
    base, exponent = arguments.get("base"), arguments.get("exponent")
    if method == "power" and isinstance(base, int) and isinstance(exponent, int):
        too_large = abs(base) > 1 and base.bit_length() * exponent > _MOST_BITS
        return "the result is too large" if too_large else ""
    return ""


def _plain(value: Any, seen: dict[int, int]) -> Any:
    """A value as nested tuples whose ``repr`` is the same in every process.

    Objects that stand in several places, or in themselves (a folder knows its parent), are numbered in the order
    in which they are met.
    """
    if value is None or isinstance(value, str | int | float | bool | date | time):
        return value
    if isinstance(value, set | frozenset):
        return ("set", *sorted(repr(_plain(item, seen)) for item in value))
    if id(value) in seen:
        return ("again", seen[id(value)])
    seen[id(value)] = len(seen)
    if isinstance(value, dict):
        return ("dict", *((_plain(key, seen), _plain(item, seen)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return ("list", *(_plain(item, seen) for item in value))
    if isinstance(value, random.Random):
        return ("random", hash(value.getstate()[1]))  # of whole numbers: in every process the same
    if hasattr(value, "__dict__"):
        held = {key: item for key, item in vars(value).items() if key not in _UNSEEN}
        return (type(value).__name__, *((key, _plain(item, seen)) for key, item in held.items()))
    return repr(value)
