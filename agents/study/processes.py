"""Running many commands, a few at a time, each in a process of its own with a log of its own."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

#: seconds between looks at the processes
_LOOK = 0.2


class Job(NamedTuple):
    """A command to run.

    name: of the job. words: the command. log: where its output goes, appended. environment: variables that it gets
    besides those of this process.
    """

    name: str
    words: Sequence[str]
    log: Path
    environment: Mapping[str, str] = {}


def run_jobs(
    jobs: Sequence[Job],
    parallel: int,
    started: Callable[[str], None] = lambda name: None,
    ended: Callable[[str, int], None] = lambda name, code: None,
    waiting: Callable[[], None] = lambda: None,
) -> dict[str, int]:
    """Run all jobs, in order, at most ``parallel`` at a time.

    Ctrl-C is handed on to the running ones once, and waited for. Each has a pipe to this process as its standard
    input, which ends with it, so that a job can notice that nobody waits for it any more.

    Args:
        jobs: what to run.
        parallel: how many at a time.
        started, ended: told of a job; ``ended`` with its exit code, negative for a signal.
        waiting: called between looks.

    Returns:
        Exit codes by name.

    Raises:
        KeyboardInterrupt: after the running jobs have ended.
    """
    left, running = list(jobs), dict[str, subprocess.Popen[bytes]]()
    codes: dict[str, int] = {}
    try:
        while left or running:
            while left and len(running) < parallel:
                job = left.pop(0)
                running[job.name] = _start(job)
                started(job.name)
            time.sleep(_LOOK)
            for name in [name for name, process in running.items() if process.poll() is not None]:
                codes[name] = _finish(running.pop(name))
                ended(name, codes[name])
            waiting()
    except BaseException:
        for process in running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for name, process in running.items():
            process.wait()
            ended(name, _finish(process))
        raise
    return codes


def _start(job: Job) -> subprocess.Popen[bytes]:
    job.log.parent.mkdir(parents=True, exist_ok=True)
    with job.log.open("ab") as log:
        return subprocess.Popen(
            list(job.words),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **job.environment},
            # a terminal's Ctrl-C reaches this process alone: a second one would stop a run at once
            start_new_session=True,
        )


def _finish(process: subprocess.Popen[bytes]) -> int:
    if process.stdin is not None:
        process.stdin.close()
    return process.returncode
