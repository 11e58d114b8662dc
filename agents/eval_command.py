"""``envrl eval``: a trained model on the held-out tasks of an environment, with an interval and by kind of task."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from envrl.agents.checkpoint import model_folder, run_settings
from envrl.agents.display import Bar, Display
from envrl.agents.evaluate import Evaluation, evaluate_policy
from envrl.agents.models import load_model
from envrl.agents.policies.settings import PolicySettings, make_format, make_policy
from envrl.agents.statistics import wilson_interval
from envrl.agents.tasks import evaluation_tasks, make_envs, task_ids
from envrl.wrappers.shards import ShardWriter


@dataclass(frozen=True)
class EvalConfig:
    """Settings of `envrl eval`."""

    model: Path
    """A run of `envrl train`, one of its checkpoints, or a model folder."""
    env: str = "EnvRL/ALFWorld-v0"
    """Gymnasium id of the environment."""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the environment, as JSON (``{"games": "official"}``)."""
    split: str = "valid_unseen"
    """Split of the tasks."""
    episodes: int = 300
    """Tasks to play, the first ones of the split."""
    policy: Literal["constrained"] = "constrained"
    """How probabilities become actions."""
    temperature: float = 0.4
    """Sampling temperature; 0 takes the most probable action."""
    seed: int = 0
    """Seed of the sampler."""
    output: Path | None = None
    """Folder for ``evaluation.json`` and the episodes' transitions; nothing is written without it."""
    batch: int = 128
    """Environments that are stepped together."""


def evaluate(config: EvalConfig, console: Console | None = None) -> Evaluation:
    """Play the tasks, print the result, and write it where asked.

    Raises:
        DataNotFound: there is no model, or the games are missing.
        ValueError: a setting that cannot work.
    """
    if config.episodes < 1 or config.batch < 1:
        raise ValueError(f"episodes and batch must be at least 1, got {config.episodes} and {config.batch}")
    lm = load_model(str(model_folder(config.model)))
    settings = PolicySettings.of(run_settings(config.model))
    policy = make_policy(lm, make_format(lm, settings), settings, config.temperature)
    envs = make_envs(config.env, min(config.batch, config.episodes), config.split, config.env_kwargs)
    tasks = evaluation_tasks(task_ids(envs[0]), config.episodes)
    with Display(console) as display:
        with display.stage(f"Evaluation of {config.model}", len(tasks)) as bar:
            result, episodes = evaluate_policy(policy, envs, tasks, config.seed, _counted(bar))
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
