"""Language models in the factory: functions and endpoints that reword turns, and policies that try tasks."""

import importlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from envrl.envs.envfactory.conversation import mentions
from envrl.envs.envfactory.factory.chain import Chain
from envrl.envs.envfactory.factory.phrasing import words_for
from envrl.envs.envfactory.factory.refine import Policy
from envrl.envs.envfactory.factory.synthesize import Reword
from envrl.envs.envfactory.user import UserFault, complete
from envrl.envs.errors import DataNotFound

_ORDER = (
    "Say the following request in other words, as one person would to another. Keep every name, number and "
    "quotation exactly, and leave nothing out. Write the request only.\n\n"
)


def load_reword(place: str | None) -> Reword | None:
    """What says a turn in other words.

    Args:
        place: ``module:function`` with the arguments of `Reword`, an endpoint as ``http://HOST/v1#MODEL``, or None.

    Raises:
        DataNotFound: there is no such function.
    """
    if place is None:
        return None
    if place.startswith(("http://", "https://")):
        return _endpoint_reword(place)
    function: Reword = _load(place)
    return function


def load_policy(place: str | None) -> Policy | None:
    """What tries tasks: ``module:function`` with the arguments of `Policy`, an endpoint, or None."""
    if place is None:
        return None
    if place.startswith(("http://", "https://")):
        return _endpoint_policy(place)
    function: Policy = _load(place)
    return function


def keeps_all(text: str, original: str, chain: Chain) -> bool:
    """Whether a turn in other words has every value that the original had."""
    values = [value for call in chain.calls for value in call.arguments.values()]
    values += [value for call in chain.calls for o in call.origins.values() for value in o.clause.values()]
    said = [words_for(value) for value in values if mentions(original, words_for(value))]
    return all(mentions(text, word) for word in said)


def _endpoint_reword(place: str) -> Reword:
    url, _, model = place.partition("#")

    def reword(text: str, chain: Chain) -> str:
        try:
            answer = complete(url, model, [{"role": "user", "content": _ORDER + text}])
        except UserFault:
            return text
        return answer if keeps_all(answer, text, chain) else text

    return reword


def _endpoint_policy(place: str) -> Policy:
    url, _, model = place.partition("#")
    history: list[dict[str, str]] = []

    def act(observation: str, info: Mapping[str, Any]) -> str:
        # The first observation of an episode is the only one that ends with the whole request.
        if observation.endswith(f"User: {info['goal']}"):
            history[:] = [{"role": "system", "content": json.dumps(info["tools"])}]
        history.append({"role": "user", "content": observation})
        text = complete(url, model, history, temperature=1.0)
        history.append({"role": "assistant", "content": text})
        return text

    return act


def _load(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    try:
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise DataNotFound(f"expected 'module:function' or an endpoint, got {place!r}: {error}") from error
    return function
