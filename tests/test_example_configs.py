"""The shipped settings of larger runs: they load, hold the paper's values, and can be planned without a network."""

import io
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from huggingface_hub import constants
from rich.console import Console

pytest.importorskip("torch", reason="extra train")

from accelerate.commands.config.config_args import ClusterConfig, load_config_from_file
from accelerate.utils import DistributedType

from envrl.agents.config import TrainConfig
from envrl.agents.planning.dry_run import dry_run
from envrl.agents.planning.layout import Layout, configured_layout
from envrl.agents.settings_file import load_settings
from envrl.agents.trainer import train
from envrl.cli import parse_options
from envrl.commands.train import TrainCommand

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "configs"
RUNS = sorted(FOLDER.glob("*_qwen*.yaml"))
#: small data that are made on the spot, in the place of those to download
MADE = {"EnvRL/ALFWorld-v0": "games=procedural", "EnvRL/WebShop-v0": "num_products=300"}


def test_there_is_one_for_each_model_and_environment() -> None:
    assert [path.stem for path in RUNS] == [
        f"{env}_qwen2.5_{size}" for env in ("alfworld", "webshop") for size in ("1.5b", "7b")
    ]


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_settings_are_the_papers(path: Path) -> None:
    config = load_settings(path, TrainConfig)
    assert (config.groups, config.group_size, config.updates, config.lr) == (16, 8, 150, 1e-6)
    assert (config.temperature, config.eval_temperature, config.kl) == (1.0, 0.4, 0.01)
    assert (config.context, config.history, config.response, config.policy) == ("step", 2, "tags", "generate")
    assert (config.max_response_tokens, config.invalid_penalty) == (512, 0.1)
    assert (config.reward, config.reward_scale, config.sft_episodes) == ("success", 10.0, 0)
    assert config.max_prompt_tokens == (2048 if "alfworld" in path.stem else 4096)
    weight = 0.2 if "1.5b" in path.stem else 0.1
    assert config.state_prediction == config.inverse_dynamics == weight and config.aux_schedule == "cosine"
    size = path.stem.rpartition("_")[2].upper()
    assert config.output.name == path.stem and config.model == f"Qwen/Qwen2.5-{size}-Instruct"
    gigpo, _ = parse_options(TrainCommand, "envrl train", ["--config", str(path), "--algorithm", "gigpo"])
    differing = {k for k, v in asdict(gigpo.settings).items() if v != asdict(config)[k]}
    assert differing == {"algorithm"}


def test_sizes_differ_in_little() -> None:
    for env in ("alfworld", "webshop"):
        small, large = (
            asdict(load_settings(FOLDER / f"{env}_qwen2.5_{size}.yaml", TrainConfig))
            for size in ("1.5b", "7b")
        )
        assert {key for key in small if small[key] != large[key]} == {
            "model", "output", "batch_tokens", "state_prediction", "inverse_dynamics",
        }  # fmt: skip


@pytest.mark.parametrize("name, sharded", [("ddp", False), ("fsdp", True)])
def test_accelerate_understands_its_configurations(name: str, sharded: bool) -> None:
    path = FOLDER / f"{name}.yaml"
    config = load_config_from_file(str(path))
    assert isinstance(config, ClusterConfig) and config.mixed_precision == "bf16"
    assert config.distributed_type == (DistributedType.FSDP if sharded else DistributedType.MULTI_GPU)
    assert config.fsdp_config.get("fsdp_version", 0) == (2 if sharded else 0)
    assert configured_layout(path) == Layout(8, sharded=sharded, mixed=True, recompute=sharded)


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_each_is_planned_without_weights(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    env = load_settings(path, TrainConfig).env
    words = ["--config", str(path), "--env-kwargs", MADE[env], "--output", "/nowhere"]
    command, _ = parse_options(TrainCommand, "envrl train", words)
    launch = FOLDER / ("fsdp.yaml" if "7b" in path.stem else "ddp.yaml")
    console = Console(file=io.StringIO(), width=160)
    plan = dry_run(command.settings, launch, console)
    assert plan is not None and plan.batches.optimizer_steps == 150 * 16 and plan.batches.groups == 2
    assert plan.batches.steps == (50 if "alfworld" in path.stem else 15)
    assert plan.preview is not None and plan.preview.prompt.count("<|im_start|>") == 3
    assert sum(part.bytes for part in plan.memory if part.when != "rollout") < 80 * 2**30
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for text in ("between <action> and </action>", "Possible actions:", "state prediction (weight 0."):
        assert text in shown


@pytest.mark.parametrize(
    ("name", "env"), [("webshop_tiny", "EnvRL/WebShop-v0"), ("smart_home_tiny", "EnvRL/EnvFactory-v0")]
)
def test_settings_for_the_small_model(name: str, env: str) -> None:
    config = load_settings(FOLDER / f"{name}.yaml", TrainConfig)
    assert (config.env, config.model, config.output.name) == (env, "tiny", name)
    assert config.state_prediction > 0 and config.inverse_dynamics > 0 and config.sft_updates > 0


def test_the_small_model_runs_with_its_settings(tmp_path: Path) -> None:
    config = replace(
        load_settings(FOLDER / "webshop_tiny.yaml", TrainConfig), output=tmp_path / "run", sft_episodes=8,
        sft_updates=2, updates=1, groups=2, group_size=2, eval_episodes=2,
    )  # fmt: skip
    assert list(train(config)) == ["untrained", "imitation", "reinforcement"]
