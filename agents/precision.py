"""In how many bits a run computes: as `accelerate launch --mixed_precision` says."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

import torch

from envrl.envs.errors import WrongUse

_TYPES = {"bf16": torch.bfloat16}


def launched_precision(environ: Mapping[str, str] = os.environ) -> AbstractContextManager[object]:
    """A context in which matrix products run in the precision that the process was launched with.

    With ``bf16`` they run in 16 bits, sums and losses in 32; weights, gradients and moments keep 32 (PyTorch's
    autocast). Otherwise nothing changes.

    Args:
        environ: the environment of the process.

    Raises:
        WrongUse: a precision that would need its loss scaled, or is unknown.
    """
    wanted = environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if wanted == "no":
        return nullcontext()
    if wanted not in _TYPES:
        raise WrongUse(
            f"mixed precision must be no or bf16, got {wanted!r}; launch with --mixed_precision bf16"
        )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.autocast(device, _TYPES[wanted])
