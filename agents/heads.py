"""Heads beside the language model's own: a critic, and an output layer for the objectives alone.

They read the backbone's hidden states, are trained with the model, and are saved in checkpoints beside it, so that the
model's folder stays one that any program can load.
"""

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from envrl.agents.models import LanguageModel
from envrl.envs.errors import WrongUse

_FILE = "heads.safetensors"


class ValueHead(nn.Module):
    """A critic: one number for each hidden state, 0 before training.

    Args:
        width: of the hidden states.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.out = nn.Linear(width, 1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """``(..., width)`` -> ``(...)``."""
        return self.out(hidden).squeeze(-1)


class AdapterHead(nn.Module):
    """An output layer of its own for the objectives, which begins as the model's and leaves it alone.

    With a rank it is a low-rank change of the model's output layer, whose weights are read and get no gradient; with
    rank 0 it is a full copy that goes its own way.

    Args:
        lm: the model.
        rank: of the change; 0 copies the layer.
        seed: of the initial weights.
    """

    def __init__(self, lm: LanguageModel, rank: int, seed: int = 0) -> None:
        super().__init__()
        layer = lm.model.get_output_embeddings()
        self._layer = (layer,)  # in a tuple: a module attribute would become a part of this one
        vocabulary, width = layer.weight.shape
        self.full: nn.Parameter | None = None
        if rank == 0:
            self.full = nn.Parameter(layer.weight.detach().clone())
            return
        generator = torch.Generator().manual_seed(seed)
        down = torch.randn(rank, width, generator=generator) / width**0.5
        self.down = nn.Parameter(down.to(layer.weight))
        self.up = nn.Parameter(layer.weight.new_zeros(vocabulary, rank))

    def forward(self, hidden: Tensor) -> Tensor:
        """Logits ``(..., vocabulary)`` of hidden states ``(..., width)``."""
        if self.full is not None:
            return functional.linear(hidden, self.full)
        (layer,) = self._layer
        base = functional.linear(hidden, layer.weight.detach())
        return base + functional.linear(functional.linear(hidden, self.down), self.up)


class Heads(nn.Module):
    """The heads of a run; either may be absent.

    Args:
        value: the critic.
        objectives: the output layer of the objectives; without one they use the model's.
    """

    def __init__(self, value: ValueHead | None = None, objectives: AdapterHead | None = None) -> None:
        super().__init__()
        self.value, self.objectives = value, objectives

    @classmethod
    def build(cls, lm: LanguageModel, *, critic: bool, adapter: bool, rank: int, seed: int) -> "Heads":
        """New heads for a model, on its device."""
        width = lm.model.config.get_text_config().hidden_size
        value = ValueHead(width) if critic else None
        return cls(value, AdapterHead(lm, rank, seed) if adapter else None).to(lm.device)

    def save(self, folder: Path) -> None:
        """Write the weights, if there are any, into ``folder``."""
        state = {name: tensor.contiguous() for name, tensor in self.state_dict().items()}
        if state:
            save_file(state, folder / _FILE)

    def load(self, folder: Path) -> None:
        """Take up those heads that a checkpoint has and this run uses; others stay new.

        Raises:
            WrongUse: a head has another shape there.
        """
        path = folder / _FILE
        if not path.is_file():
            return
        mine = self.state_dict()
        held = {name: tensor for name, tensor in load_file(path).items() if name in mine}
        for name, tensor in held.items():
            if tensor.shape != mine[name].shape:
                raise WrongUse(
                    f"{path}: {name} has the shape {tuple(tensor.shape)}, this run's has {tuple(mine[name].shape)}; "
                    "use the aux_head_rank of the run that made it"
                )
        self.load_state_dict(held, strict=False)
