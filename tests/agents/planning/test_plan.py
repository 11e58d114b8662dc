"""The plan of a run, against the run itself."""

import io
from dataclasses import replace

import pytest
import torch
from chat_model import chat_model
from rich.console import Console
from small_run import SMALL

from envrl.agents import checkpoint
from envrl.agents.demonstrate import record_demonstrations
from envrl.agents.models import load_model
from envrl.agents.planning.dry_run import dry_run
from envrl.agents.planning.layout import Layout
from envrl.agents.planning.plan import make_plan
from envrl.agents.planning.preview import ANSWER
from envrl.agents.policies.scripted import ImitablePolicy
from envrl.agents.policies.settings import PolicySettings, make_format, make_policy
from envrl.agents.tasks import make_envs
from envrl.agents.trainer import train
from envrl.envs.errors import DataNotFound
from envrl.wrappers.recording import iter_episodes


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Twenty expert episodes."""
    folder = tmp_path_factory.mktemp("recording") / "expert"
    (env,) = make_envs(SMALL.env, 1, SMALL.split, SMALL.env_kwargs)
    record_demonstrations(env, folder, ImitablePolicy(), 20, 0, label="imitable", split=SMALL.split)
    return folder


def test_tiny_is_planned_as_it_is_built(recording, tmp_path):
    """Parameters, vocabulary, and bytes on disk of a run that has made one update with AdamW."""
    config = replace(
        SMALL,
        demonstrations=recording,
        output=tmp_path / "run",
        sft_updates=1,
        sft_muon_lr=0.0,
        updates=1,
        eval_every=0,
        eval_episodes=0,
        kl=0.1,
    )
    plan = make_plan(config, Layout())
    assert not (tmp_path / "run").exists()
    train(config)
    last = checkpoint.newest(tmp_path / "run" / "checkpoints")
    reinforced = max(last.parent.glob("*-reinforcement-1"))
    weights = sum(p.stat().st_size for p in (last / "model").glob("*.safetensors"))
    assert plan.shape.parameters * 4 == pytest.approx(
        weights, rel=0.02
    )  # names of tensors stand in the file too
    state = torch.load(reinforced / "optimizer.pt", weights_only=True)
    moments = [
        t
        for part in state
        for entry in part["state"].values()
        for name, t in entry.items()
        if name.startswith("exp_avg")
    ]
    of = {part.name: part.bytes for part in plan.memory}
    assert sum(t.numel() * t.element_size() for t in moments) == of["AdamW's moments"]
    assert of["weights"] == of["reference policy"] == plan.shape.parameters * 4
    assert plan.checkpoint_bytes == 2 * of["weights"] + of["AdamW's moments"]
    assert plan.shape.vocabulary == load_model(str(last / "model")).vocabulary
    assert plan.notes == [] and plan.counted
    assert plan.batches.episodes == 8 and plan.batches.optimizer_steps == 2
    steps = max(len(rows) for rows in iter_episodes(tmp_path / "run" / "transitions"))
    assert steps <= plan.batches.steps == 50


def test_the_first_prompt_is_the_one_that_the_policy_reads(tmp_path):
    (env,) = make_envs(SMALL.env, 1, SMALL.split, SMALL.env_kwargs)
    observation, info = env.reset(seed=0)
    chat_model([observation, *info["admissible_actions"]]).save(tmp_path / "model")
    config = replace(
        SMALL,
        model=str(tmp_path / "model"),
        output=tmp_path / "run",
        policy="generate",
        context="step",
        response="tags",
        sft_episodes=0,
        state_prediction=0.2,
        inverse_dynamics=0.0,
    )
    plan = make_plan(config, Layout())
    shown = plan.preview
    assert shown.inverse_dynamics is None
    observation, info = env.reset(options={"task_id": shown.task_id})
    lm = load_model(str(tmp_path / "model"))
    settings = PolicySettings.of(config)
    policy = make_policy(lm, make_format(lm, settings), settings, 1.0)
    transcript = policy.transcript()
    transcript.begin(info["goal"], observation, policy.menu.offer(info))
    assert shown.prompt == lm.decode(transcript.prompt) and shown.tokens == len(transcript.prompt)
    assert f"<action>{shown.action}</action><|im_end|>" in shown.state_prediction.given
    assert shown.state_prediction.target == ANSWER


def test_a_critic_and_an_adapter_head_are_counted():
    plain = make_plan(SMALL, Layout()).shape
    config = replace(SMALL, algorithm="ppo", aux_head="adapter", aux_head_rank=3)
    more = make_plan(config, Layout()).shape
    width = plain.hidden
    added = (width + 1) + 3 * (width + plain.vocabulary)
    assert more.parameters - plain.parameters == more.trainable - plain.trainable == added


def shown_by(config, **options) -> str:
    console = Console(file=io.StringIO(), width=160)
    dry_run(config, console=console, **options)
    return console.file.getvalue()


def test_a_dry_run_prints_and_leaves_nothing(tmp_path, monkeypatch):
    config = replace(SMALL, output=tmp_path / "run", exclude_actions=())
    shown = shown_by(config)
    for text in (
        "EnvRL/ALFWorld-v0 with tiny: 1 process, fp32",
        "AdamW's moments",
        "most at once",
        "2 tasks x 4 episodes = 8 episodes",
        "1. expert episodes: 60 of the imitable expert on train",
        "5. reinforcement: 5 updates of 2 x 4 episodes by gigpo with state prediction 0.2",
        "| <bos>-= Welcome to TextWorld, ALFRED! =-",
        f"| {ANSWER}",
        "the tokenizer learns its words from recorded episodes",
    ):
        assert text in shown, text
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("RANK", "1")
    assert shown_by(config) == ""


def test_missing_games_are_told_and_the_rest_is_planned(tmp_path, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "nothing"))
    chat_model(["go to desk 1"]).save(tmp_path / "model")
    config = replace(SMALL, env="alfworld", env_kwargs={"games": "official"})
    with pytest.raises(DataNotFound, match=r"learns its words.*envrl data download alfworld"):
        make_plan(config, Layout())
    shown = shown_by(replace(config, model=str(tmp_path / "model")))
    assert "Missing here" in shown and "envrl data download alfworld" in shown
    assert "First prompt" not in shown and "50 steps at most" in shown


def test_processes_without_work_are_told():
    plan = make_plan(SMALL, Layout(3))
    assert any("1 of 3 processes have no group" in note for note in plan.notes)
