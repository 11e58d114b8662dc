"""A model whose layers are split over two real processes trains as one that is whole."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from chat_model import chat_model
from launched import figures, train, weights
from safetensors.torch import load_file

from envrl.agents import checkpoint, sharding
from envrl.agents.checkpoint import newest
from envrl.agents.models import load_model
from envrl.envs.errors import EnvRLError

RUNS: dict[str, dict[str, Any]] = {
    "all": {"kl": 0.01, "aux_mode": "pass", "updates": 2},
    "rows": {"algorithm": "ppo", "aux_mode": "rows", "groups": 3},
    "adapter": {"lora_rank": 2, "kl": 0.01},
    "supervised": {"env": "EnvRL/ALFWorld-v0", "sft_episodes": 12, "sft_updates": 3, "updates": 0},
}
for _settings in RUNS.values():
    _settings["sft_muon_lr"] = 0.0
SPLIT = "--use_fsdp --fsdp_version 2 --fsdp_activation_checkpointing true"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders of the same runs, whole in one process and split over two."""
    root = tmp_path_factory.mktemp("runs")
    chat_model(["You are in the hall. You see an attic, a cellar.", "go to attic"] * 20).save(root / "base")
    settings = {**RUNS, "adapter": {**RUNS["adapter"], "model": str(root / "base")}}
    train(root / "one", 1, settings)
    train(root / "two", 2, settings, SPLIT)
    return root / "one", root / "two"


@pytest.mark.parametrize("name", ["all", "rows", "supervised"])
def test_the_numbers_are_those_of_a_whole_model(runs: tuple[Path, Path], name: str) -> None:
    one, two = (folder / name for folder in runs)
    if name != "supervised":
        for alone, split in zip(figures(one), figures(two), strict=True):
            for key, value in alone.items():
                assert (value is None) == (split[key] is None), key
                assert value is None or math.isclose(value, split[key], rel_tol=1e-4, abs_tol=1e-5), key
    before, after = weights(one), weights(two)
    assert before.keys() == after.keys()
    assert max(float((before[k] - after[k]).abs().max()) for k in before) < 1e-5


def test_an_adapter_too(runs: tuple[Path, Path]) -> None:
    found = []
    for run in runs:
        last = newest(run / "adapter" / "checkpoints")
        assert last is not None
        found.append(load_file(last / "model" / "adapter_model.safetensors"))
        assert load_model(str(last / "model")).has_adapter
    assert found[0].keys() == found[1].keys()
    assert max(float((found[0][k] - found[1][k]).abs().max()) for k in found[0]) < 1e-5


@pytest.mark.parametrize("processes", [1, 2])
def test_a_checkpoint_is_whole_and_resumes_split_or_not(
    runs: tuple[Path, Path], tmp_path: Path, processes: int
) -> None:
    """From the checkpoint that two processes left after the first update."""
    _, two = runs
    shutil.copytree(two / "all", tmp_path / "all")
    for later in (tmp_path / "all" / "checkpoints").iterdir():
        if not later.name.endswith("reinforcement-1") and checkpoint.load_state(later)["serial"] > 2:
            shutil.rmtree(later)
    train(tmp_path, processes, {"all": {**RUNS["all"], "resume": True}}, SPLIT)
    before, after = weights(two / "all"), weights(tmp_path / "all")
    assert max(float((before[k] - after[k]).abs().max()) for k in before) < 1e-5


def test_what_the_launcher_may_not_ask_for() -> None:
    lm = chat_model(["a room"] * 20)
    with pytest.raises(EnvRLError, match="--fsdp_version 2"):
        sharding.shard(lm.model, 2, {"FSDP_VERSION": "1"})
    with pytest.raises(EnvRLError, match="--fsdp_offload_params false"):
        sharding.shard(lm.model, 2, {"FSDP_OFFLOAD_PARAMS": "true"})
