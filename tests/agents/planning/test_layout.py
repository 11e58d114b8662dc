"""How many processes share a model, and how."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envrl.agents.planning.layout import Layout, configured_layout, launched_layout
from envrl.envs.errors import WrongUse


def test_alone():
    layout = launched_layout({})
    assert layout == Layout() and layout.shards == 1 and layout.words == "1 process, fp32"


def test_a_process_that_accelerate_launched_says_how(tmp_path: Path):
    """The real launcher, two processes; each writes the layout that it finds, in one piece."""
    code = "import os; from envrl.agents.planning.layout import launched_layout as l; os.write(1, f'{l()}\\n'.encode())"
    (tmp_path / "show.py").write_text(code)
    words = ["--multi_gpu", "--num_processes", "2", "--mixed_precision", "bf16", "--main_process_port", "0"]
    result = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", *words, str(tmp_path / "show.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [repr(Layout(2, mixed=True))] * 2


def test_from_a_configuration(tmp_path: Path):
    path = tmp_path / "two.json"
    path.write_text(
        json.dumps(
            {
                "distributed_type": "FSDP",
                "num_processes": 2,
                "mixed_precision": "bf16",
                "fsdp_config": {"fsdp_version": 2, "fsdp_activation_checkpointing": True},
            }
        )
    )
    layout = configured_layout(path)
    assert layout == Layout(2, sharded=True, mixed=True, recompute=True) and layout.shards == 2
    assert layout.words == "2 processes, FSDP, bf16 over fp32 weights, activations recomputed"


@pytest.mark.parametrize("text", ["distributed_type: MULTI_GPU\nspeed: 3\n", "num_processes: 2\n", "3\n"])
def test_what_accelerate_does_not_understand_is_refused(text: str, tmp_path: Path):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(WrongUse, match=r"c\.yaml is no accelerate configuration"):
        configured_layout(tmp_path / "c.yaml")
    with pytest.raises(WrongUse, match="no accelerate configuration"):
        configured_layout(tmp_path / "absent.yaml")
