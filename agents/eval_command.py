"""``envrl eval``: a trained model on the held-out tasks of an environment, with an interval and by kind of task."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from envrl.agents.chat_texts import ResponseKind
from envrl.agents.checkpoint import model_folder, run_settings
from envrl.agents.display import Bar, Display
from envrl.agents.evaluate import Evaluation, evaluate_policy
from envrl.agents.models import load_model
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.policies.settings import PolicyKind, PolicySettings, chat_policy, make_format, make_policy
from envrl.agents.statistics import wilson_interval
from envrl.agents.tasks import evaluation_tasks, make_envs, task_ids
from envrl.agents.transcripts import ContextKind
from envrl.wrappers.shards import ShardWriter


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


def evaluate(config: EvalConfig, console: Console | None = None) -> Evaluation:
    """Play the tasks, print the result, and write it where asked.

    Raises:
        DataNotFound: there is no model, or the games are missing.
        ValueError: a setting that cannot work.
    """
    if config.episodes < 1 or config.batch < 1:
        raise ValueError(f"episodes and batch must be at least 1, got {config.episodes} and {config.batch}")
    policy = _policy(config)
    envs = make_envs(config.env, min(config.batch, config.episodes), config.split, config.env_kwargs)
    tasks = evaluation_tasks(task_ids(envs[0]), config.episodes)
    with Display(console) as display:
        title = f"Evaluation of {config.model or config.endpoint_model}"
        with display.stage(title, len(tasks)) as bar:
            result, episodes = evaluate_policy(
                policy,
                envs,
                tasks,
                config.seed,
                _counted(bar),
                config.env_timeout,
                None if policy.lm is None else policy.lm.max_tokens,
            )
        display.console.print(result_by_type(result))
        if config.output is not None:
            config.output.mkdir(parents=True, exist_ok=True)
            path = config.output / "evaluation.json"
            path.write_text(json.dumps(result.to_dict(), indent=1) + "\n")
            with ShardWriter(config.output / "transitions") as writer:
                for episode in episodes:
                    writer.extend(episode.transitions)
            display.say(f"evaluation: {path}")
    return result


def _policy(config: EvalConfig) -> ModelPolicy:
    """The policy that the run has, with what the command line changes; of a chat endpoint where there is no model."""
    changes = {
        name: getattr(config, name)
        for name in (
            "policy",
            "context",
            "response",
            "list_actions",
            "max_response_tokens",
            "score_per_token",
            "endpoint",
            "endpoint_model",
        )
    }
    if config.model is None:
        return chat_policy(PolicySettings.of({"policy": "endpoint"}, **changes), config.temperature)
    if config.model.exists():
        lm, trained = load_model(str(model_folder(config.model))), run_settings(config.model)
    else:
        lm, trained = load_model(str(config.model)), {}
    settings = PolicySettings.of(trained, **changes)
    return make_policy(lm, make_format(lm, settings), settings, config.temperature)


def result_by_type(result: Evaluation) -> Table:
    """Success by kind of task, with 95 % Wilson intervals."""
    table = Table(title=f"Success, {result.mean_steps:.1f} steps an episode, {result.faulted} faulted")
    for heading in ("task", "solved", "episodes", "rate", "95 % interval"):
        table.add_column(heading, justify="left" if heading == "task" else "right")
    rows = dict(result.by_type) if set(result.by_type) != {""} else {}
    for kind, (won, n) in [*rows.items(), ("all", (result.successes, result.n))]:
        low, high = wilson_interval(won, n)
        table.add_row(kind, str(won), str(n), f"{won / max(n, 1):.1%}", f"{low:.1%} - {high:.1%}")
    return table


def _counted(bar: Bar) -> Any:
    return lambda ended, steps: bar.advance(ended)
