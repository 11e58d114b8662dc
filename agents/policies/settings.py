"""From settings to a policy: the same for training, evaluation, and for what a run has written down."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

from envrl.agents.chat_format import ChatFormat
from envrl.agents.chat_texts import ChatTexts
from envrl.agents.choices import ContextKind, PolicyKind, ResponseKind
from envrl.agents.models import LanguageModel
from envrl.agents.policies.chat_endpoint import ChatEndpointPolicy
from envrl.agents.policies.constrained import ConstrainedPolicy
from envrl.agents.policies.endpoint import Endpoint, EndpointPolicy
from envrl.agents.policies.generate import GeneratePolicy
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.policies.score import ScorePolicy
from envrl.agents.prompts import ActionMenu, EpisodeFormat
from envrl.agents.tagged_format import TaggedFormat
from envrl.agents.transcripts import Context


@dataclass(frozen=True)
class PolicySettings:
    """How a model's probabilities become actions, and what it sees.

    Names and meanings are those of `TrainConfig`, whose fields these are.
    """

    policy: PolicyKind = "constrained"
    exclude_actions: tuple[str, ...] = ()
    context: ContextKind = "concat"
    history: int = 2
    response: ResponseKind = "bare"
    list_actions: bool | None = None
    instructions: str | None = None
    max_observation_tokens: int = 1024
    max_response_tokens: int = 64
    max_prompt_tokens: int = 0
    score_per_token: bool = False
    endpoint: str = ""
    endpoint_model: str = ""
    endpoint_timeout: float = 120.0

    @classmethod
    def of(cls, values: Any, **changes: Any) -> "PolicySettings":
        """From a configuration, or from the settings that a run has written.

        Args:
            values: the one or the other; what it lacks has its default.
            changes: taken instead, where not None.
        """
        known = {f.name for f in fields(cls)}
        given = {**(values if isinstance(values, Mapping) else vars(values))}
        given |= {key: value for key, value in changes.items() if value is not None}
        found = {key: value for key, value in given.items() if key in known and value is not None}
        if "exclude_actions" in found:
            found["exclude_actions"] = tuple(found["exclude_actions"])
        return cls(**found)


def make_format(lm: LanguageModel, settings: PolicySettings) -> EpisodeFormat:
    """The format that suits the model: structure tokens where its tokenizer has ours, else its chat template."""
    if lm.is_tiny:
        return TaggedFormat(lm, settings.max_observation_tokens)
    return ChatFormat(lm, _texts(settings), settings.max_observation_tokens)


def make_policy(
    lm: LanguageModel, format: EpisodeFormat, settings: PolicySettings, temperature: float
) -> ModelPolicy:
    """A policy of a local model."""
    menu = ActionMenu(settings.exclude_actions)
    context = Context(settings.context, settings.history, settings.max_prompt_tokens)
    longest = settings.max_response_tokens
    if settings.policy == "constrained":
        return ConstrainedPolicy(lm, format, menu, temperature, context, longest)
    if settings.policy == "score":
        return ScorePolicy(lm, format, menu, temperature, context, settings.score_per_token, longest)
    if settings.policy == "generate":
        return GeneratePolicy(lm, format, menu, temperature, context, longest)
    if settings.policy == "endpoint":
        return EndpointPolicy(_endpoint(settings), lm, format, menu, temperature, context, longest)
    raise ValueError(f"policy must be one of {get_args(PolicyKind)}, got {settings.policy!r}")


def chat_policy(settings: PolicySettings, temperature: float) -> ModelPolicy:
    """A policy of a model behind a chat endpoint, for evaluation."""
    return ChatEndpointPolicy(
        _endpoint(settings),
        _texts(settings),
        ActionMenu(settings.exclude_actions),
        temperature,
        Context(settings.context, settings.history),
        settings.max_response_tokens,
    )


def _texts(settings: PolicySettings) -> ChatTexts:
    generates = settings.policy in ("generate", "endpoint")
    return ChatTexts(
        settings.instructions,
        settings.response if generates else "bare",
        generates if settings.list_actions is None else settings.list_actions,
    )


def _endpoint(settings: PolicySettings) -> Endpoint:
    return Endpoint(settings.endpoint, settings.endpoint_model, settings.endpoint_timeout)
