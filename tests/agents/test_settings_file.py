"""Settings from files, and what is said of files that hold none."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from envrl.agents.config import TrainConfig
from envrl.agents.settings_file import load_settings
from envrl.envs.errors import EnvRLError, WrongUse


def test_yaml(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(
        "lr: 1e-6  # YAML 1.1 reads a string\nexclude_actions: [help]\ninit: runs/first\nclip_high:\n"
    )
    expected = replace(TrainConfig(), lr=1e-6, exclude_actions=("help",), init=Path("runs/first"))
    assert load_settings(path, TrainConfig) == expected


def test_what_a_run_has_written_down_are_its_settings(tmp_path):
    config = TrainConfig(
        env_kwargs={"task_types": ["look_at_obj_in_light"], "difficulty": {"hidden": 0.0}},
        demonstrations=tmp_path,
        lr=1e-5,
        redraws=2,
        list_actions=True,
    )
    (tmp_path / "config.json").write_text(config.to_json())
    assert load_settings(tmp_path / "config.json", TrainConfig) == config


@pytest.mark.parametrize(
    "text, reason",
    [
        ("groupsize: 8", r"no setting is called 'groupsize'; did you mean 'group_size'\?"),
        ("xyz: 8", r"no setting is called 'xyz' \("),
        ("8: 8", "no setting is called 8"),
        ("lr: fast", "lr: input should be a valid number, .* got 'fast'"),
        ("lora_rank: 1.5", "lora_rank: .* got 1.5"),
        ("aux_targets: off", "aux_targets: input should be 'true' or 'shuffled', got False"),
        ("groups: 0", r"settings\.yaml: groups must be at least 1, got 0"),
        ("- groups", "expected a mapping of settings, found list"),
        ("", "expected a mapping of settings, found NoneType"),
        ("groups: [", r"settings\.yaml is not YAML"),
    ],
)
def test_a_wrong_file_is_told_why(text, reason, tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text(text)
    with pytest.raises(WrongUse, match=reason):
        load_settings(path, TrainConfig)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(EnvRLError, match="there is no file"):
        load_settings(tmp_path / "absent.yaml", TrainConfig)
    for name, reason in (("a.json", "is not JSON"), ("a.toml", "expected a file that ends in .yaml")):
        (tmp_path / name).write_text("lr = 1")
        with pytest.raises(EnvRLError, match=reason):
            load_settings(tmp_path / name, TrainConfig)
    assert json.loads(TrainConfig().to_json())
