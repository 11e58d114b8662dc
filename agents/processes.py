"""The processes of a run under ``accelerate launch``, and how they work on one update together.

Every process holds the model and knows all episodes of an update (they are text: little beside a model). So tasks,
advantages, minibatches and random draws are the same everywhere; rollouts and forward passes are shared out, and
gradients and figures summed. A run of several processes thus has the numbers of a run of one but for the order of sums.
"""

import atexit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import gather_object
from torch import Tensor, distributed
from torch.distributed.tensor import DTensor

T = TypeVar("T")


class Processes:
    """One process among those of a run.

    Args:
        state: accelerate's; None for a run of one process.
    """

    def __init__(self, state: PartialState | None = None) -> None:
        self._state = state
        self.count: int = 1 if state is None else state.num_processes
        self.index: int = 0 if state is None else state.process_index
        self.device: torch.device = torch.device("cpu") if state is None else state.device

    @classmethod
    def launched(cls) -> "Processes":
        """The processes that this one was started with; on this machine's accelerator where it has one."""
        # without an accelerator, processes find each other only if they are told that there is none
        state = PartialState(cpu=not torch.accelerator.is_available())
        if state.num_processes > 1:
            atexit.register(_leave)
        return cls(state)

    @property
    def is_main(self) -> bool:
        """Whether it is the one that writes files and shows the run."""
        return self.index == 0

    def slice(self, total: int, group: int = 1) -> slice:
        """This process's part of ``total`` items that come in groups which stay together; even but for one group."""
        groups = -(-total // group)
        start, stop = (groups * i // self.count * group for i in (self.index, self.index + 1))
        return slice(start, min(stop, total))

    def share(self, items: Sequence[T], cost: Callable[[T], float]) -> list[T]:
        """This process's part of some items, in their order, with about equal sums of costs everywhere."""
        if self.count == 1:
            return list(items)
        spent = [0.0] * self.count
        mine = []
        for i in sorted(range(len(items)), key=lambda i: (-cost(items[i]), i)):
            process = spent.index(min(spent))
            spent[process] += cost(items[i])
            if process == self.index:
                mine.append(i)
        return [items[i] for i in sorted(mine)]

    def gather(self, items: Sequence[T]) -> list[T]:
        """The items of all processes, in the order of the processes."""
        return list(items) if self.count == 1 else gather_object(list(items))

    def rounds(self, batches: Sequence[T], together: bool) -> Iterator[T | None]:
        """Some batches; with ``together`` every process has as many rounds, in some of which it has nothing (None)."""
        yield from batches
        if together and self.count > 1:
            yield from [None] * (max(self.gather([len(batches)])) - len(batches))

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Put in the place of each tensor its sum over the processes; split ones are sums already."""
        parts = [t for t in tensors if not isinstance(t, DTensor)]
        if self.count == 1 or not parts:
            return
        flat = torch.cat([t.reshape(-1) for t in parts])
        distributed.all_reduce(flat)
        for tensor, total in zip(parts, flat.split([t.numel() for t in parts]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def add_figures(self, figures: dict[str, float]) -> dict[str, float]:
        """The sums of figures over the processes; a process may lack some."""
        if self.count == 1:
            return figures
        everywhere = self.gather([figures])
        keys = dict.fromkeys(key for each in everywhere for key in each)
        return {key: sum(each.get(key, 0.0) for each in everywhere) for key in keys}

    def any(self, flag: bool) -> bool:
        """Whether any process says so."""
        return any(self.gather([flag]))

    @contextmanager
    def main_first(self) -> Iterator[None]:
        """The block is run by the main process, and then by the others, which find what it wrote."""
        if not self.is_main:
            self.wait()
        yield
        if self.is_main:
            self.wait()

    def wait(self) -> None:
        """Until all processes are here."""
        if self._state is not None:
            self._state.wait_for_everyone()


def _leave() -> None:
    """Leave the group of processes as PyTorch asks for."""
    if distributed.is_initialized():
        distributed.destroy_process_group()
