"""Fully sharded training (PyTorch's FSDP2) as ``accelerate launch`` asks for it with ``--use_fsdp``.

The decoder layers, which are nearly all of a large model, are split over the processes: weights, gradients and moments.
What is left (embeddings, output layer, last norm, heads) is whole everywhere, so hidden states and logits are computed
as ever. Gradients of layers are summed where they are made; those of the rest by `Processes.add`.

A layer's weights come together for each forward, so all processes must run equally many: `Processes.rounds` sees to
that in training. In rollouts they do not, and there the layers stay together while the rollout takes (`whole`).
"""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from envrl.envs.errors import EnvRLError


def is_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the launcher asks for sharding."""
    return _says(environ, "ACCELERATE_USE_FSDP")


def adopt_loading(environ: MutableMapping[str, str] = os.environ) -> None:
    """Have every process read a model's weights itself.

    Under accelerate's setting for less memory Transformers leaves all but the first process with zeros, to be filled by
    accelerate's own preparation of the model, which is not used here.
    """
    if is_wanted(environ):
        environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] = "false"


def shard(model: nn.Module, processes: int, environ: Mapping[str, str] = os.environ) -> None:
    """Split the decoder layers of a model over all processes, in place.

    Args:
        model: on this process's device; the same everywhere.
        processes: how many there are.
        environ: with the launcher's settings: ``FSDP_RESHARD_AFTER_FORWARD``, ``ACCELERATE_MIXED_PRECISION``, and
            ``FSDP_ACTIVATION_CHECKPOINTING``, which keeps activations at the borders of layers only.

    Raises:
        EnvRLError: the launcher asks for FSDP1 or for weights in the CPU's memory, or the model does not say what its
            layers are.
    """
    if environ.get("FSDP_VERSION", "2") != "2":
        raise EnvRLError("sharding is FSDP2's; launch with --fsdp_version 2 (fsdp_version: 2 in the file)")
    if _says(environ, "FSDP_OFFLOAD_PARAMS"):
        raise EnvRLError("sharded weights stay on their device; launch with --fsdp_offload_params false")
    names = {name for m in model.modules() for name in getattr(m, "_no_split_modules", None) or ()}
    layers = [m for m in model.modules() if type(m).__name__ in names]
    if not layers:
        raise EnvRLError(
            f"{type(model).__name__} does not name its layers (_no_split_modules), so it cannot be sharded; "
            "launch without --use_fsdp"
        )
    mixed = environ.get("ACCELERATE_MIXED_PRECISION", "no") == "bf16"
    precision = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if mixed else MixedPrecisionPolicy()
    if _says(environ, "FSDP_ACTIVATION_CHECKPOINTING"):
        cast(Any, model).gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    mesh = init_device_mesh(next(model.parameters()).device.type, (processes,))
    for layer in layers:
        sharded = cast(
            FSDPModule,
            fully_shard(
                layer,
                mesh=mesh,
                reshard_after_forward=_reshards(environ),
                mp_policy=precision,
            ),
        )
        # sums, as of all other gradients; gloo knows no other way to them
        sharded.set_gradient_divide_factor(1.0)
        sharded.set_force_sum_reduction_for_comms(True)


def sharded_layers(model: nn.Module) -> list[FSDPModule]:
    """The layers that are split; none in a model that is whole."""
    return [m for m in model.modules() if isinstance(m, FSDPModule)]


@contextmanager
def whole(model: nn.Module, environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Within it every process has all weights, and forwards need no other process."""
    layers = sharded_layers(model)
    for layer in layers:
        layer.unshard()
        layer.set_reshard_after_forward(False)
    try:
        yield
    finally:
        for layer in layers:
            layer.set_reshard_after_forward(_reshards(environ))
            layer.reshard()


def full(value: Any) -> Any:
    """Values with every split tensor in them put together, on the CPU; a collective of all processes.

    Args:
        value: a tensor, or dictionaries and lists of them.
    """
    if isinstance(value, DTensor):
        return value.full_tensor().cpu()
    if isinstance(value, dict):
        return {key: full(each) for key, each in value.items()}
    if isinstance(value, list):
        return [full(each) for each in value]
    return value


def full_state(model: nn.Module) -> dict[str, Tensor] | None:
    """The state of a model with split layers, put together; None for one that is whole. A collective."""
    return full(model.state_dict()) if sharded_layers(model) else None


def split_like(value: Tensor, parameter: Tensor) -> Tensor:
    """A whole tensor split as ``parameter`` is; as it is where that is whole."""
    if not isinstance(parameter, DTensor) or value.shape != parameter.shape:
        return value
    return distribute_tensor(value.to(parameter.device), parameter.device_mesh, parameter.placements)


def _reshards(environ: Mapping[str, str]) -> bool:
    """Whether a layer that has gone forward is split again before it goes backward."""
    return _says(environ, "FSDP_RESHARD_AFTER_FORWARD", "true")


def _says(environ: Mapping[str, str], name: str, default: str = "false") -> bool:
    return environ.get(name, default).lower() == "true"
