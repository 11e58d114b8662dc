"""The command line as a whole: dispatch, help, exit codes, and what gets imported."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields

import pytest

from envrl import __version__
from envrl.agents.config import TrainConfig
from envrl.cli import COMMANDS, Command, load, main
from envrl.envs.errors import DataNotFound


def envrl(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "envrl", *words], input=stdin, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_and_documents_every_option(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in ("train", "eval", "study"):
        pytest.importorskip("torch", reason="extra train")
    command = COMMANDS[name]
    assert callable(load(command.run))
    assert main([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"usage: envrl {name} " in shown
    config = load(command.config)
    names = [field.name for field in fields(config)]  # type: ignore[arg-type]
    if name == "train":
        names = [*names[:-1], *(field.name for field in fields(TrainConfig))]  # options of their own
    for option in (f"--{each.replace('_', '-')}" for each in names):
        assert option in shown or option[2:].upper() in shown, f"{option} is not in the help"
    assert config.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert config.__doc__ and not config.__doc__.startswith(config.__name__)  # type: ignore[attr-defined]


def test_overview_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"  {name} " in shown and command.summary in shown
    assert main(["data", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "data verify" in shown and "record" not in shown


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"envrl {__version__}\n"


@pytest.mark.parametrize(
    "words, reason",
    [
        (["nonsense"], "unknown command 'nonsense'; expected one of: data, play, record"),
        (["data", "fetch"], "unknown subcommand 'fetch'; expected one of: list, download, verify"),
        (["play"], "envrl play: Missing from envrl play: ENV"),
        (["play", "alfworld", "--speed", "2"], "envrl play: Unrecognized options: --speed, 2"),
        (["play", "alfworld", "--seed", "one"], "envrl play: Error parsing --seed"),
        (["play", "Nowhere-v0"], "no environment is called 'Nowhere-v0'; EnvRL has EnvRL/ALFWorld-v0"),
        (["play", "alfword"], "did you mean EnvRL/ALFWorld-v0?"),
        (["play", "alfworld", "--env-kwargs", "split"], "expected key=value or a JSON object, got 'split'"),
        (["play", "alfworld", "--env-kwargs", "{"], "'{' is not JSON"),
        (["play", "alfworld", "--env-kwargs", "speed=3"], "unexpected keyword argument 'speed'"),
        (["play", "alfworld", "--split", "test"], "split"),
        (["play", "alfworld", "--task-id", "no/such/task"], "no/such/task"),
        (["play", "CartPole-v1"], "needs an envrl.envs.core.TextEnv"),
        (["play", "alfworld", "--env-kwargs", "games=/no/such/folder"], "/no/such/folder"),
        (["data", "download", "everything"], "no data set is called 'everything'; expected one of: alfworld"),
    ],
)
def test_wrong_use_is_one_line_on_stderr_and_2(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert reason in err and err.startswith("envrl") and err.count("\n") == 1 and out == ""


def test_no_command_shows_the_overview_and_counts_as_wrong_use() -> None:
    result = envrl()
    assert result.returncode == 2 and "usage: envrl COMMAND" in result.stdout
    assert envrl("data").returncode == 2


# ---- what a command's function may do ---------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """No options."""


def succeed(options: Options) -> dict[str, int]:
    return {"result": 1}


def answer_3(options: Options) -> int:
    return 3


def miss_data(options: Options) -> None:
    raise DataNotFound("no games;\n  run `envrl data download alfworld`")


def fill_the_disk(options: Options) -> None:
    raise OSError(28, "No space left on device", "run/metrics")


def be_interrupted(options: Options) -> None:
    raise KeyboardInterrupt


def have_a_bug(options: Options) -> None:
    raise RuntimeError("a bug")


@pytest.mark.parametrize(
    "function, code, message",
    [
        (succeed, 0, ""),
        (answer_3, 3, ""),
        (miss_data, 2, "envrl: no games; run `envrl data download alfworld`\n"),
        (fill_the_disk, 2, "envrl: [Errno 28] No space left on device: 'run/metrics'\n"),
        (be_interrupted, 130, "envrl: interrupted\n"),
    ],
)
def test_exit_codes(
    function: Callable[[Options], object], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = {"do": Command(f"{__name__}:Options", f"{__name__}:{function.__name__}", "does")}
    assert main(["do"], commands) == code
    assert capsys.readouterr().err == message


def test_a_bug_keeps_its_traceback() -> None:
    commands = {"do": Command(f"{__name__}:Options", f"{__name__}:have_a_bug", "does")}
    with pytest.raises(RuntimeError, match="a bug"):
        main(["do"], commands)


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m envrl data list | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and result.stderr == ""
