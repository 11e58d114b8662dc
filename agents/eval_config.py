"""`EvalConfig`: every setting of an evaluation, one documented field each."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envrl.agents.choices import ContextKind, PolicyKind, ResponseKind
from envrl.agents.statistics import Interval
from envrl.agents.workers import LOCAL, ray_actors


@dataclass(frozen=True)
class EvalConfig:
    """Settings of `envrl eval`."""

    model: Path | None = None
    """A run of `envrl train`, one of its checkpoints, a model folder, or the name of a model; none for one behind a
    chat endpoint."""
    env: str = "EnvRL/ALFWorld-v0"
    """Gymnasium id of the environment."""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the environment, as JSON (``{"games": "official"}``)."""
    split: str = "valid_unseen"
    """Split of the tasks."""
    episodes: int = 300
    """Tasks to play, the first ones of the split."""
    samples: int = 1
    """Episodes of each task; with several, pass@k is reported too."""
    interval: Interval | None = None
    """``wilson`` takes all episodes as independent, ``bootstrap`` resamples tasks; None: the first for one sample a
    task, else the second."""
    against: Path | None = None
    """Another model on the same tasks (or the output of an earlier evaluation of them): the paired difference."""
    policy: PolicyKind | None = None
    """How probabilities become actions; None: as the run was trained, else constrained."""
    temperature: float = 0.4
    """Sampling temperature; 0 takes the most probable action."""
    context: ContextKind | None = None
    """``concat`` or ``step``; None: as the run was trained."""
    response: ResponseKind | None = None
    """``bare`` or ``tags``; None: as the run was trained."""
    list_actions: bool | None = None
    """Whether messages list the possible actions; None: as the run was trained."""
    max_response_tokens: int | None = None
    """Longest response; None: as the run was trained."""
    score_per_token: bool | None = None
    """Divide an action's log-probability by its number of tokens; None: as the run was trained."""
    endpoint: str | None = None
    """Base URL of an OpenAI-compatible server, for ``--policy endpoint``: with ``--model`` it is given token ids of
    that model's tokenizer, without it messages."""
    endpoint_model: str | None = None
    """The model's name there."""
    seed: int = 0
    """Seed of the sampler."""
    output: Path | None = None
    """Folder for ``evaluation.json`` and the episodes' transitions; nothing is written without it."""
    batch: int = 128
    """Environments that are stepped together."""
    env_timeout: float = 300.0
    """Seconds after which an environment that does not answer costs its episode; 0 waits for ever."""
    rollout_workers: str = LOCAL
    """Where they are stepped: ``local``, in this process; ``ray:N``, in N Ray actors (extra ``ray``)."""

    def __post_init__(self) -> None:
        ray_actors(self.rollout_workers)
        for name in ("episodes", "samples", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.temperature < 0:
            raise ValueError(f"temperature must be >= 0, got {self.temperature}")
        if self.env_timeout < 0:
            raise ValueError(f"env_timeout must be >= 0 (0 waits for ever), got {self.env_timeout}")
        if self.max_response_tokens is not None and self.max_response_tokens < 1:
            raise ValueError(f"max_response_tokens must be at least 1, got {self.max_response_tokens}")
        if self.model is None and not self.endpoint:
            raise ValueError("give a model, or the endpoint of one that takes messages")
