"""`envrl eval` with real models and real episodes."""

import io
import json
from dataclasses import replace

import gymnasium
import pytest
from rich.console import Console
from toy_env import ROOMS, ToyEnv

from envrl.agents.checkpoint import save_checkpoint
from envrl.agents.eval_command import evaluate
from envrl.agents.eval_config import EvalConfig
from envrl.agents.eval_tables import sample_counts
from envrl.agents.statistics import success_interval, wilson_interval
from envrl.agents.viewer.view import view
from envrl.wrappers.recording import iter_episodes


class CoinEnv(ToyEnv):
    """A task that chance solves now and then, of four kinds."""

    def task_type(self, task_id):
        return ROOMS[int(task_id.split("-")[1]) % 4]

    def _info(self, status):
        return {**super()._info(status), "action_templates": ()}


if "Toy/Coins-v0" not in gymnasium.registry:
    gymnasium.register("Toy/Coins-v0", entry_point=CoinEnv, max_episode_steps=25)
TASKS = 12


@pytest.fixture(scope="module")
def runs(make_lm, tmp_path_factory):
    """Two runs of `envrl train`, as far as an evaluation looks at them: the same model but for some noise."""
    folder = tmp_path_factory.mktemp("runs")
    for name, noise in (("first", 0.0), ("second", 0.2)):
        lm = make_lm()
        with_noise = lm.model.get_output_embeddings().weight
        with_noise.data += noise * with_noise.data.flip(0)
        save_checkpoint(folder / name / "checkpoints" / "1", lm, None, {"serial": 1, "stage": "done"})
        settings = {"env": "Toy/Coins-v0", "exclude_actions": ["go to attic"], "temperature": 1.0}
        (folder / name / "config.json").write_text(json.dumps(settings))
    return folder


def run(config):
    console = Console(record=True, width=160, file=io.StringIO())
    return evaluate(config, console), console.export_text()


@pytest.fixture(scope="module")
def base(runs):
    return EvalConfig(
        model=runs / "first",
        env="Toy/Coins-v0",
        env_kwargs={"tasks": 40},
        episodes=TASKS,
        batch=8,
        temperature=5.0,
    )


def test_samples_of_each_task(base, tmp_path):
    config = replace(base, samples=3, output=tmp_path / "e")
    result, shown = run(config)
    assert result.n == 3 * TASKS and len(result.outcomes) == TASKS
    assert 0 < result.successes < result.n  # or the figures would show little
    assert all(len(solved) == 3 for solved in result.outcomes.values())
    assert (result.low, result.high) == success_interval(list(result.outcomes.values()), "bootstrap")
    assert "pass@1 " in shown and "pass@2 " in shown and "pass@3 " in shown
    written = json.loads((tmp_path / "e" / "evaluation.json").read_text())
    assert written["outcomes"] == result.outcomes
    assert written["pass_at_k"] == {str(k): result.pass_at(k) for k in (1, 2, 3)}
    assert set(written["kinds"].values()) == set(ROOMS)
    episodes = list(iter_episodes(tmp_path / "e" / "transitions"))
    assert len(episodes) == 3 * TASKS
    # the first sample is the episode that a single one would have been
    single, _ = run(replace(base, output=tmp_path / "single"))
    assert {task: solved[:1] for task, solved in result.outcomes.items()} == single.outcomes
    assert (single.low, single.high) == wilson_interval(single.successes, TASKS)
    played = {tuple(row.action for row in rows) for rows in episodes}
    assert {
        tuple(row.action for row in rows) for rows in iter_episodes(tmp_path / "single" / "transitions")
    } <= played


def test_a_run_is_evaluated_where_it_was_trained(runs, base):
    """Environment, arguments and split are the run's; another environment has arguments of its own."""
    trained = {"env": "Toy/Coins-v0", "env_kwargs": {"tasks": 7}, "eval_split": "test"}
    config = replace(base, env=None, env_kwargs=None, split=None)
    found = config.for_run(trained)
    assert (found.env, found.env_kwargs, found.split) == ("Toy/Coins-v0", {"tasks": 7}, "test")
    assert replace(config, env_kwargs={"tasks": 9}).for_run(trained).env_kwargs == {"tasks": 9}
    found = replace(config, env="alfworld").for_run(trained)
    assert (found.env, found.env_kwargs, found.split) == ("EnvRL/ALFWorld-v0", {}, "valid_unseen")
    assert config.for_run({}).env == "EnvRL/ALFWorld-v0"
    assert config.for_run({"env": "alfworld", "eval_split": "valid_seen"}).split == "valid_seen"
    result, _ = run(replace(config, env_kwargs={"tasks": 40}))
    assert result.outcomes == run(base)[0].outcomes


def test_the_limit_of_a_run_holds_in_its_evaluation(runs, base):
    path = runs / "first" / "config.json"
    before = path.read_text()
    path.write_text(json.dumps({**json.loads(before), "max_episode_tokens": 60}))
    try:
        short, _ = run(base)
    finally:
        path.write_text(before)
    assert short.mean_steps < run(base)[0].mean_steps


def test_intervals_are_made_as_asked(base):
    result, _ = run(replace(base, interval="bootstrap"))
    assert (result.low, result.high) == success_interval(list(result.outcomes.values()), "bootstrap")


def test_against_another_model_and_against_what_was_written(runs, base, tmp_path):
    config = replace(base, against=runs / "second", output=tmp_path / "e")
    _, shown = run(config)
    assert f"{runs / 'first'} less {runs / 'second'}" in shown and "McNemar, exact: p = " in shown
    comparison = json.loads((tmp_path / "e" / "comparison.json").read_text())
    assert comparison["overall"]["tasks"] == TASKS and list(comparison["by_type"]) == sorted(ROOMS)
    first, second = (
        json.loads((tmp_path / "e" / name / "evaluation.json").read_text()) for name in ("", "against")
    )
    assert first["outcomes"].keys() == second["outcomes"].keys()
    assert comparison["overall"]["mean"] == pytest.approx(first["success_rate"] - second["success_rate"])
    assert (comparison["only_first"], comparison["only_second"]) != (0, 0)
    again = replace(base, against=tmp_path / "e" / "against", output=tmp_path / "again")
    run(again)
    repeated = json.loads((tmp_path / "again" / "comparison.json").read_text())
    assert {k: v for k, v in repeated.items() if k != "second"} == {
        k: v for k, v in comparison.items() if k != "second"
    }
    assert not (tmp_path / "again" / "against").exists()


def test_a_model_against_itself_differs_in_nothing(base, runs, tmp_path):
    run(replace(base, against=runs / "first", output=tmp_path / "e"))
    comparison = json.loads((tmp_path / "e" / "comparison.json").read_text())
    assert comparison["overall"] == {"tasks": TASKS, "mean": 0, "low": 0, "high": 0}
    assert comparison["p_value"] == 1


def test_an_evaluation_can_be_viewed(base, tmp_path):
    run(replace(base, output=tmp_path / "e"))
    text = view(tmp_path / "e", episodes=2)
    data = json.loads(text.split('type="application/json">')[1].split("</script>")[0])
    assert [e["stage"] for e in data["evaluations"]] == ["evaluation"]
    assert len(data["episodes"]) == 2 and data["notes"]["model"] == "1"
    offered = {action for e in data["episodes"] for t in e["turns"] for action, _ in t["choices"]}
    assert offered and "go to attic" not in offered  # the menu of the run, not a default one


def test_counts_of_pass_at_k():
    assert [sample_counts(n) for n in (1, 2, 3, 8, 10)] == [
        [1],
        [1, 2],
        [1, 2, 3],
        [1, 2, 4, 8],
        [1, 2, 4, 8, 10],
    ]


@pytest.mark.parametrize(
    "bad, message",
    [
        ({"episodes": 0}, "episodes must be at least 1, got 0"),
        ({"samples": 0}, "samples must be at least 1"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"temperature": -0.1}, "temperature must be >= 0"),
        ({"env_timeout": -1.0}, "env_timeout must be >= 0"),
        ({"max_response_tokens": 0}, "max_response_tokens must be at least 1"),
        ({"model": None}, "give a model, or the endpoint"),
    ],
)
def test_settings_that_cannot_work_are_refused(base, bad, message):
    with pytest.raises(ValueError, match=message):
        replace(base, **bad)
