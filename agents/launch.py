"""Several training processes on this machine: ``envrl train --processes 2`` without a launcher.

They find each other as under ``accelerate launch`` or ``torchrun``, through the usual environment variables. Ctrl-C on
a terminal reaches all of them, and they stop together after an update; so the parent only waits.
"""

import os
import socket
from collections.abc import Callable
from typing import Any

from torch import multiprocessing
from torch.multiprocessing import ProcessExitedException

from envrl.envs.errors import EnvRLError


def is_launched() -> bool:
    """Whether this process is one of several that a launcher has started."""
    return "LOCAL_RANK" in os.environ


def launch(run: Callable[..., Any], argument: Any, processes: int) -> Any:
    """Call ``run(argument)`` in so many new processes.

    Args:
        run: a function of a module, since it goes to the processes by name.
        argument: its argument; pickled.
        processes: how many.

    Returns:
        What the first process returned.

    Raises:
        EnvRLError: a process ended without a reason of its own.
        BaseException: what the first process raised.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    answers = multiprocessing.get_context("spawn").SimpleQueue()
    context = multiprocessing.start_processes(
        _work, (run, argument, processes, port, answers), processes, join=False, start_method="spawn"
    )
    try:
        ended = False
        while not ended:
            try:
                ended = context.join()
            except KeyboardInterrupt:
                continue  # the processes have it too, and stop in their own way
    except ProcessExitedException as error:
        if answers.empty():
            raise EnvRLError(
                f"training process {error.error_index} of {processes} ended (exit code {error.exit_code}"
                f"{', killed by ' + error.signal_name if error.signal_name else ''}); go on with --resume"
            ) from None
    done, answer = answers.get()
    if not done:
        raise answer
    return answer


def _work(
    index: int, run: Callable[..., Any], argument: Any, processes: int, port: int, answers: Any
) -> None:
    numbers = {"RANK": index, "LOCAL_RANK": index, "WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": processes}
    os.environ |= {key: str(value) for key, value in numbers.items()}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    try:
        answer = True, run(argument)
    except BaseException as error:
        if index == 0:
            answers.put((False, error))
            os._exit(1)
        raise
    if index == 0:
        answers.put(answer)
