"""Optimisers: AdamW, or Muon on weight matrices with AdamW on the rest."""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from envrl.agents.sharding import full, split_like


class Optimizers:
    """One or two optimisers stepped as one, with a common factor on their learning rates.

    Args:
        model: whose trainable parameters are optimised.
        lr: of AdamW.
        muon_lr: of Muon on the matrices inside the layers; 0 uses AdamW for all.
        weight_decay: of AdamW.
        heads: further parameters, which AdamW trains.
    """

    def __init__(
        self,
        model: nn.Module,
        lr: float,
        muon_lr: float = 0.0,
        weight_decay: float = 0.0,
        heads: nn.Module | None = None,
    ) -> None:
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        embeddings = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
        matrices = [p for name, p in named if muon_lr and p.ndim == 2 and id(p) not in embeddings]
        chosen = {id(p) for p in matrices}
        more = [] if heads is None else list(heads.parameters())
        rest = [p for _, p in named if id(p) not in chosen] + more
        if any(isinstance(p, DTensor) for p in matrices):
            raise ValueError(
                "Muon needs whole weight matrices; with sharded layers set sft_muon_lr to 0, which trains with AdamW"
            )
        self.parameters: list[Tensor] = [*(p for _, p in named), *more]
        self._optimizers: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(
                rest,
                lr=lr,
                betas=(0.9, 0.98),
                weight_decay=weight_decay,
                # split and whole parameters go through no operation together
                foreach=False if any(isinstance(p, DTensor) for p in rest) else None,
            )
        ]
        if matrices:
            self._optimizers.append(
                torch.optim.Muon(matrices, lr=muon_lr, weight_decay=0.0, momentum=0.95, nesterov=True)
            )
        self._rates = [group["lr"] for group in self._groups()]

    def _groups(self) -> Iterable[dict]:
        return (group for optimizer in self._optimizers for group in optimizer.param_groups)

    def step(self, factor: float) -> None:
        """One step at ``factor`` times the learning rates; gradients are cleared."""
        for group, rate in zip(self._groups(), self._rates, strict=True):
            group["lr"] = rate * factor
        for optimizer in self._optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict]:
        """State of all optimisers, put together where it is split: a collective of all processes."""
        return full([optimizer.state_dict() for optimizer in self._optimizers])

    def load_state_dict(self, state: list[dict]) -> None:
        """Take up a state from `state_dict`."""
        for optimizer, part in zip(self._optimizers, state, strict=True):
            optimizer.load_state_dict(part)
            for parameter, values in optimizer.state.items():
                for name, value in values.items():
                    values[name] = split_like(value, parameter)


def learning_rate_factor(index: int, updates: int, warmup: int, floor: float) -> float:
    """Factor on the learning rate: linear warm-up times a cosine from 1 to ``floor``.

    Args:
        index: updates done before this one.
        updates: of the stage.
        warmup: updates until the factor of the warm-up is 1.
        floor: what the cosine ends at.
    """
    decay = floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * index / updates))
    return min(1.0, (index + 1) / max(warmup, 1)) * decay


def take_gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    """The gradients of ``parameters``, which are cleared; zeros where there is none."""
    taken = []
    for p in parameters:
        taken.append(torch.zeros_like(p) if p.grad is None else p.grad)
        p.grad = None
    return taken


class Pocket:
    """Gradients kept apart: inside ``with pocket:`` backward passes add to its gradients, not to the parameters' own.

    Args:
        parameters: whose gradients.
    """

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = parameters
        self._kept: list[Tensor | None] = [None] * len(parameters)

    def __enter__(self) -> "Pocket":
        self._swap()
        return self

    def __exit__(self, *exception: object) -> None:
        self._swap()

    def _swap(self) -> None:
        for i, parameter in enumerate(self._parameters):
            parameter.grad, self._kept[i] = self._kept[i], parameter.grad

    def take(self) -> list[Tensor]:
        """The gradients; zeros where there is none."""
        return [
            torch.zeros_like(p) if kept is None else kept
            for p, kept in zip(self._parameters, self._kept, strict=True)
        ]


def norm(gradients: Iterable[Tensor]) -> float:
    """Euclidean norm over all tensors."""
    squares = (g.square().sum() for g in gradients)
    return float(
        torch.stack([s.full_tensor() if isinstance(s, DTensor) else s for s in squares]).sum().sqrt()
    )


def bounded(gradients: list[Tensor], largest: float) -> tuple[list[Tensor], float]:
    """Gradients scaled down to a norm, and the norm that they had."""
    size = norm(gradients)
    scale = min(1.0, largest / (size + 1e-9))
    return [g * scale for g in gradients], size
