"""`EvalConfig`: every setting of an evaluation, one documented field each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from envrl.agents.choices import ContextKind, PolicyKind, ResponseKind
from envrl.agents.config import TrainConfig
from envrl.agents.statistics import Interval
from envrl.agents.workers import LOCAL, ray_actors
from envrl.envs.errors import WrongUse
from envrl.envs.lookup import full_env_id


@dataclass(frozen=True)
class EvalConfig:
    """Settings of `envrl eval`."""

    model: Path | None = None
    """A run of `envrl train`, one of its checkpoints, a model folder, or the name of a model; none for one behind a
    chat endpoint."""
    env: str | None = None
    """Gymnasium id of the environment; None: that of the run, else ALFWorld."""
    env_kwargs: dict[str, Any] | None = None
    """Arguments of the environment, as JSON (``{"games": "official"}``); None: those of the run, if it had the same
    environment."""
    split: str | None = None
    """Split of the tasks; None: that of the run's evaluations, if it had the same environment, else valid_unseen."""
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

    def for_run(self, trained: Mapping[str, Any]) -> "EvalConfig":
        """Itself with an environment, arguments and split.

        Args:
            trained: settings of the run that is evaluated, {} where there is none.
        """
        before = trained.get("env", TrainConfig.env)
        env = full_env_id(self.env or before)
        run = trained if self.env is None or env == _known(before) else {}
        return replace(
            self,
            env=env,
            env_kwargs=run.get("env_kwargs", {}) if self.env_kwargs is None else self.env_kwargs,
            split=self.split or run.get("eval_split") or TrainConfig.eval_split,
        )


def _known(env: str) -> str | None:
    """The full id of an environment, None where it is not registered here."""
    try:
        return full_env_id(env)
    except WrongUse:
        return None
