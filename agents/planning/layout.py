"""How the processes of a run share its model: from the environment that accelerate makes, or from its configuration."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envrl.envs.errors import WrongUse


@dataclass(frozen=True)
class Layout:
    """The processes of a run.

    processes: how many. sharded: weights, gradients and moments of the layers are split over them (FSDP); else each
    holds all (DDP). mixed: activations and matrix products in 16 bits, over weights in 32. recompute: activations are
    kept at the borders of layers only and made again in the backward pass.
    """

    processes: int = 1
    sharded: bool = False
    mixed: bool = False
    recompute: bool = False

    def __post_init__(self) -> None:
        if self.processes < 1:
            raise ValueError(f"processes must be at least 1, got {self.processes}")

    @property
    def shards(self) -> int:
        """Into how many parts weights, gradients and moments are split."""
        return self.processes if self.sharded else 1

    @property
    def words(self) -> str:
        """The layout for people."""
        parts = [f"{self.processes} process" + ("es" if self.processes > 1 else "")]
        if self.processes > 1:
            parts.append("FSDP" if self.sharded else "DDP")
        parts.append("bf16 over fp32 weights" if self.mixed else "fp32")
        if self.recompute:
            parts.append("activations recomputed")
        return ", ".join(parts)


def launched_layout(environ: Mapping[str, str] = os.environ) -> Layout:
    """The layout of the run that this process was started for, by ``accelerate launch`` or alone.

    Args:
        environ: the environment of the process.
    """
    sharded = environ.get("ACCELERATE_USE_FSDP", "false") == "true"
    return Layout(
        int(environ.get("WORLD_SIZE", "1")),
        sharded,
        environ.get("ACCELERATE_MIXED_PRECISION", "no") == "bf16",
        sharded and environ.get("FSDP_ACTIVATION_CHECKPOINTING", "false") == "true",
    )


def configured_layout(path: Path) -> Layout:
    """The layout that an accelerate configuration describes.

    Args:
        path: a file for ``accelerate launch --config_file``.

    Raises:
        WrongUse: there is no such file, or accelerate does not understand it.
    """
    from accelerate.commands.config.config_args import ClusterConfig, load_config_from_file
    from accelerate.utils import DistributedType

    try:
        config = load_config_from_file(str(path))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise WrongUse(f"{path} is no accelerate configuration: {error}") from error
    if not isinstance(config, ClusterConfig):
        raise WrongUse(f"{path}: expected the configuration of one's own machines, found SageMaker's")
    options: dict[str, Any] = config.fsdp_config or {}
    sharded = config.distributed_type == DistributedType.FSDP
    return Layout(
        max(1, config.num_processes),
        sharded,
        config.mixed_precision == "bf16",
        sharded and bool(options.get("fsdp_activation_checkpointing")),
    )
