"""One run of a study as a process: ``python -m envrl.agents.study.worker CONFIG.json``.

It stops as after Ctrl-C, with a checkpoint, when the process that started it is gone.
"""

import os
import signal
import sys
import threading
from pathlib import Path

from pydantic import TypeAdapter
from rich.console import Console

from envrl.agents.config import TrainConfig
from envrl.agents.display import Display
from envrl.agents.trainer import Interrupted, train
from envrl.envs.errors import EnvRLError


def main(path: Path) -> int:
    """Train by the settings in a JSON file; the exit code is that of `envrl train`."""
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    config = TypeAdapter(TrainConfig).validate_json(path.read_bytes())
    try:
        train(config, Display(Console(file=sys.stdout, width=160)))
    except EnvRLError as error:
        print(f"envrl: {error}", file=sys.stderr)
        return 2
    except Interrupted as stop:
        print(f"envrl: {stop}", file=sys.stderr)
        return 130
    return 0


def _stop_with_parent() -> None:
    """Standard input is a pipe that the parent holds and never writes to: its end is the parent's."""
    while os.read(
        sys.stdin.fileno(), 1
    ):  # not sys.stdin.read(), whose lock would hold up the end of the process
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
