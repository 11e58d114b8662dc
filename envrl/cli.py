"""The ``envrl`` command: finds the subcommand, imports only that one, reads its options, runs it.

Every subcommand is a frozen dataclass of options and a function that takes it; tyro turns the dataclass into
the command line and its ``--help``. Exit codes: 0 done, 2 wrong use or missing data (one line on stderr, no
traceback), 130 interrupted. Adding a subcommand is one line in `COMMANDS`.
"""

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from envrl import __version__
from envrl.envs.errors import EnvironmentFault, EnvRLError

DONE, WRONG_USE, INTERRUPTED = 0, 2, 130


class Command(NamedTuple):
    """Where a subcommand lives, as ``module:name``; two places, so that ``--help`` need not import the work.

    config: frozen dataclass of options. run: function of one; it may return an exit code, anything else
    counts as 0. summary: a few words.
    """

    config: str
    run: str
    summary: str


_IN = "envrl.commands"
COMMANDS: dict[str, Command] = {
    "data list": Command(
        f"{_IN}.data:ListConfig", f"{_IN}.data:list_data", "data sets and where they are expected"
    ),
    "data download": Command(
        f"{_IN}.data:DownloadConfig", f"{_IN}.data:download", "fetch and unpack a data set"
    ),
    "data verify": Command(f"{_IN}.data:VerifyConfig", f"{_IN}.data:verify", "count and check what is there"),
    "play": Command(f"{_IN}.play:PlayConfig", f"{_IN}.play:play", "act in an environment yourself"),
    "record": Command(
        f"{_IN}.record:RecordConfig", f"{_IN}.record:record", "write episodes of a policy to Parquet"
    ),
    "train": Command(
        f"{_IN}.train:TrainCommand", f"{_IN}.train:run", "train an agent, go on, or see what it takes"
    ),
    "eval": Command(
        "envrl.agents.eval_config:EvalConfig",
        "envrl.agents.eval_command:evaluate",
        "measure a trained agent",
    ),
    "study": Command(
        "envrl.agents.study.config:StudyConfig",
        "envrl.agents.study.command:study",
        "compare training with and without the objectives over seeds",
    ),
    "view": Command(f"{_IN}.view:ViewConfig", f"{_IN}.view:view", "a run as one HTML page"),
    "export minari": Command(
        f"{_IN}.export:MinariConfig", f"{_IN}.export:export_minari", "a recording for Minari"
    ),
    "factory build": Command(
        f"{_IN}.factory:BuildConfig", f"{_IN}.factory:build", "make verified tasks from toolkits: all stages"
    ),
    "factory explore": Command(
        f"{_IN}.factory:ExploreConfig", f"{_IN}.factory:explore", "call a source's tools"
    ),
    "factory verify": Command(
        f"{_IN}.factory:VerifyConfig", f"{_IN}.factory:verify", "put a source through the gates"
    ),
    "factory graph": Command(
        f"{_IN}.factory:GraphConfig", f"{_IN}.factory:graph", "which results fill which arguments"
    ),
    "factory sample": Command(f"{_IN}.factory:SampleConfig", f"{_IN}.factory:sample", "chains of calls"),
    "factory synthesize": Command(
        f"{_IN}.factory:SynthesizeConfig", f"{_IN}.factory:synthesize", "chains in words"
    ),
    "factory refine": Command(f"{_IN}.factory:RefineConfig", f"{_IN}.factory:refine", "keep what is a task"),
    "factory export": Command(f"{_IN}.factory:ExportConfig", f"{_IN}.factory:export", "tasks for trainers"),
}


def main(argv: Sequence[str] | None = None, commands: Mapping[str, Command] = COMMANDS) -> int:
    """Run ``envrl`` with ``argv`` (default: the process arguments) and return the exit code.

    Args:
        argv: words after ``envrl``.
        commands: the table of subcommands.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(words, commands)
    except (EnvRLError, EnvironmentFault) as error:
        return _refuse(f"envrl: {_one_line(str(error))}")
    except KeyboardInterrupt:
        print("envrl: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has gone; without this the interpreter complains once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:  # a full disk, a folder that may not be written
        return _refuse(f"envrl: {_one_line(str(error))}")


def _dispatch(words: list[str], commands: Mapping[str, Command]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_overview("", commands))
        return DONE if words else WRONG_USE
    if words[0] == "--version":
        print(f"envrl {__version__}")
        return DONE
    name = next((n for n in (" ".join(words[:2]), words[0]) if n in commands), None)
    if name is None:
        return _unknown(words, commands)
    command = commands[name]
    config, code = parse_options(load(command.config), f"envrl {name}", words[len(name.split()) :])
    if config is None:
        return code
    result = load(command.run)(config)
    return result if type(result) is int else DONE


def load(place: str) -> Any:
    """What stands at ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _unknown(words: list[str], commands: Mapping[str, Command]) -> int:
    """No such subcommand; a bare group name (``envrl data``) shows the group."""
    group = {n: c for n, c in commands.items() if n.startswith(words[0] + " ")}
    if group and words[1:] in ([], ["-h"], ["--help"]):
        print(_overview(words[0] + " ", group))
        return DONE if words[1:] else WRONG_USE
    if group:
        choices = ", ".join(n.split(" ", 1)[1] for n in group)
        return _refuse(f"envrl {words[0]}: unknown subcommand {words[1]!r}; expected one of: {choices}")
    first = ", ".join(dict.fromkeys(n.split()[0] for n in commands))
    return _refuse(
        f"envrl: unknown command {words[0]!r}; expected one of: {first} (`envrl --help` describes them)"
    )


def _overview(prefix: str, commands: Mapping[str, Command]) -> str:
    width = max(len(name) for name in commands)
    lines = [f"  {name:<{width}}  {command.summary}" for name, command in commands.items()]
    what = "" if prefix else "EnvRL: language-model agent environments, recording and training.\n\n"
    return (
        f"usage: envrl {prefix}COMMAND [OPTIONS]\n\n{what}commands:\n"
        + "\n".join(lines)
        + "\n\n`envrl COMMAND --help` describes the options of a command."
    )


def parse_options(config: Any, prog: str, words: list[str]) -> tuple[Any, int]:
    """Read the words of a command into its dataclass.

    Args:
        config: the dataclass; one whose defaults depend on the words has a class method ``defaults`` of them.
        prog: how the command is called in messages.
        words: what follows the command's name.

    Returns:
        (the options, 0), or (None, exit code) where help was asked for or the words were refused.
    """
    import tyro

    from envrl.commands.environment import kwargs_rule

    complaint = io.StringIO()
    registry = tyro.constructors.ConstructorRegistry()
    registry.primitive_rule(kwargs_rule)
    try:
        defaults = {"default": config.defaults(words)} if hasattr(config, "defaults") else {}
        with contextlib.redirect_stderr(complaint), registry:
            options = tyro.cli(config, prog=prog, args=words, **defaults)
    except SystemExit as stop:
        if not stop.code:
            return None, DONE
        return None, _refuse(f"{prog}: {_unbox(complaint.getvalue())} (see `{prog} --help`)")
    sys.stderr.write(complaint.getvalue())  # warnings
    return options, DONE


def _unbox(text: str) -> str:
    """Tyro's complaint as one line: what stands below the title of its box, drawn or in ASCII."""
    drawn = "╭" in text
    parts: list[list[str]] = [[]]
    for line in text.splitlines():
        inner = line.strip("│ ")
        if inner and not inner.strip("─-"):
            parts.append([])
        elif inner and not inner.startswith(("╭", "╰")):
            parts[-1].append(inner)
    told = parts if drawn else parts[1:]  # the title stands in the frame, or above a rule
    return _one_line(" ".join(told[0])) if told and told[0] else _one_line(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _refuse(reason: str) -> int:
    print(reason, file=sys.stderr)
    return WRONG_USE
