"""From settings to a policy: the same for training, evaluation, and for what a run has written down."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from envrl.agents.models import LanguageModel
from envrl.agents.policies.constrained import ConstrainedPolicy
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.prompts import ActionMenu, EpisodeFormat
from envrl.agents.tagged_format import TaggedFormat
from envrl.agents.transcripts import Context, ContextKind

PolicyKind = Literal["constrained", "score", "generate", "endpoint"]


@dataclass(frozen=True)
class PolicySettings:
    """How a model's probabilities become actions, and what it sees. Names and defaults are those of `TrainConfig`."""

    policy: PolicyKind = "constrained"
    exclude_actions: tuple[str, ...] = ()
    context: ContextKind = "concat"
    history: int = 2

    @classmethod
    def of(cls, values: Any) -> "PolicySettings":
        """From a configuration, or from the settings that a run has written."""
        known = {f.name for f in fields(cls)}
        given = values if isinstance(values, Mapping) else vars(values)
        found = {key: value for key, value in given.items() if key in known and value is not None}
        if "exclude_actions" in found:
            found["exclude_actions"] = tuple(found["exclude_actions"])
        return cls(**found)


def make_format(lm: LanguageModel, settings: PolicySettings) -> EpisodeFormat:
    """The format that suits the model."""
    return TaggedFormat(lm)


def make_policy(
    lm: LanguageModel, format: EpisodeFormat, settings: PolicySettings, temperature: float
) -> ModelPolicy:
    """A policy of a local model."""
    menu, context = ActionMenu(settings.exclude_actions), Context(settings.context, settings.history)
    if settings.policy == "constrained":
        return ConstrainedPolicy(lm, format, menu, temperature, context)
    raise ValueError(f"policy must be one of {get_args(PolicyKind)}, got {settings.policy!r}")
