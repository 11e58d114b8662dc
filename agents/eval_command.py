"""``envrl eval``: a trained model on the held-out tasks of an environment, with an interval and by kind of task."""

import json
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from envrl.agents.checkpoint import model_folder, run_settings
from envrl.agents.comparison import compare
from envrl.agents.display import Bar, Display
from envrl.agents.eval_config import EvalConfig
from envrl.agents.eval_tables import comparison_table, sample_counts, success_table
from envrl.agents.evaluate import Evaluation, evaluate_policy
from envrl.agents.models import load_model
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.policies.settings import PolicySettings, chat_policy, make_format, make_policy
from envrl.agents.tasks import evaluation_tasks, make_pool, task_ids, task_type
from envrl.wrappers.shards import ShardWriter


def evaluate(config: EvalConfig, console: Console | None = None) -> Evaluation:
    """Play the tasks, print the result, and write it where asked.

    Raises:
        DataNotFound: there is no model, or the games are missing.
        WrongUse: there is no such environment, or it does not take these arguments.
    """
    config = config.for_run(_settings_of_run(config.model))
    with Display(console) as display:
        result, kinds = _evaluate(config, config.output, display)
        if config.against is not None:
            other = _other(config, config.against, display)
            comparison = compare(result, other, kinds)
            names = str(config.model or config.endpoint_model), str(config.against)
            display.say(f"{names[0]} less {names[1]}")
            display.console.print(comparison_table(comparison))
            if config.output is not None:
                text = json.dumps({"first": names[0], "second": names[1], **comparison.to_dict()}, indent=1)
                (config.output / "comparison.json").write_text(text + "\n")
    return result


def _evaluate(config: EvalConfig, output: Path | None, display: Display) -> tuple[Evaluation, dict[str, str]]:
    """Evaluate one model; the result and the kind of each task."""
    assert config.env and config.split and config.env_kwargs is not None, "EvalConfig.for_run sets them"
    policy, trained = _policy(config)
    limit = trained.get("max_episode_tokens") or (policy.lm.max_tokens if policy.lm else None)
    count = min(config.batch, config.episodes * config.samples)
    pool = make_pool(config.rollout_workers, config.env, count, config.split, config.env_kwargs)
    tasks = evaluation_tasks(task_ids(pool.example), config.episodes)
    title = f"Evaluation of {config.model or config.endpoint_model}"
    with closing(pool), display.stage(title, len(tasks) * config.samples) as bar:
        result, episodes = evaluate_policy(
            policy,
            pool,
            tasks,
            config.seed,
            _counted(bar),
            config.env_timeout,
            limit,
            config.samples,
            config.interval,
        )
    kinds = {task: task_type(pool.example, task) for task in result.outcomes}
    display.console.print(success_table(result, kinds, config.samples, config.interval))
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        chosen = {key: value for key, value in asdict(config).items() if value is not None}
        written = {
            **result.to_dict(),
            "pass_at_k": {k: result.pass_at(k) for k in sample_counts(config.samples)},
            "kinds": kinds,
            "settings": {**trained, **chosen},
        }
        path = output / "evaluation.json"
        path.write_text(json.dumps(written, indent=1, default=str) + "\n")
        with ShardWriter(output / "transitions") as writer:
            for episode in episodes:
                writer.extend(episode.transitions)
        display.say(f"evaluation: {path}")
    return result, kinds


def _other(config: EvalConfig, path: Path, display: Display) -> Evaluation:
    """The evaluation to compare with: one that was written, or the same tasks with another model."""
    written = path / "evaluation.json"
    if written.is_file():
        return Evaluation.from_dict(json.loads(written.read_text()))
    output = None if config.output is None else config.output / "against"
    return _evaluate(replace(config, model=path), output, display)[0]


def _policy(config: EvalConfig) -> tuple[ModelPolicy, dict[str, Any]]:
    """The policy that the run has, with what the command line changes; of a chat endpoint where there is no model.

    The settings of the run come with it, {} where there is none.
    """
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
        return chat_policy(PolicySettings.of({"policy": "endpoint"}, **changes), config.temperature), {}
    folder = model_folder(config.model) if config.model.exists() else config.model
    lm, trained = load_model(str(folder)), _settings_of_run(config.model)
    settings = PolicySettings.of(trained, **changes)
    return make_policy(lm, make_format(lm, settings), settings, config.temperature), trained


def _settings_of_run(model: Path | None) -> dict[str, Any]:
    return run_settings(model) if model is not None and model.exists() else {}


def _counted(bar: Bar) -> Any:
    return lambda ended, steps: bar.advance(ended)
