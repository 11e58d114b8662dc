"""Checkpoints: written whole or not at all, and complete enough that a resumed run equals an uninterrupted one.

A checkpoint is a folder: ``model/`` in the Hugging Face layout (usable as ``--init``), ``heads.safetensors`` where the
run has heads beside the model, ``optimizer.pt`` and ``state.json``. All randomness of a run derives from (seed, stage,
update), so the position in the run is all the generator state there is.
"""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from envrl.agents.heads import Heads
from envrl.agents.models import LanguageModel
from envrl.agents.optimizers import Optimizers
from envrl.envs.errors import DataNotFound

_STATE = "state.json"
_REFERENCE = "reference"


def save_checkpoint(
    folder: Path,
    lm: LanguageModel,
    optimizers: Sequence[dict] | None,
    state: dict[str, Any],
    reference: LanguageModel | None = None,
    heads: Heads | None = None,
    weights: Sequence[dict[str, Tensor] | None] = (None, None),
) -> None:
    """Write a checkpoint under a temporary name, sync it and rename it; an existing one is replaced.

    A crash or a full disk leaves the previous checkpoints as they were.

    Args:
        folder: its final place.
        lm: the model.
        optimizers: their state (`Optimizers.state_dict`), None between stages.
        state: JSON-able position and counters of the run.
        reference: the fixed policy of the divergence, where there is one.
        heads: the critic and the objectives' output layer, where there are any.
        weights: of the model and of the reference, where they are not whole there (`sharding.full_state`).
    """
    partial = folder.with_name(f".{folder.name}.part")
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    try:
        lm.save(partial / "model", weights[0])
        if reference is not None:
            reference.save(partial / _REFERENCE, weights[1])
        if heads is not None:
            heads.save(partial)
        if optimizers is not None:
            torch.save(list(optimizers), partial / "optimizer.pt")
        (partial / _STATE).write_text(json.dumps(state, indent=1))
        for path in [*partial.rglob("*"), partial]:
            _sync(path)
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)
        _sync(folder.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def load_state(folder: Path) -> dict[str, Any]:
    """The position and counters of a checkpoint."""
    return json.loads((folder / _STATE).read_text())


def load_optimizers(folder: Path, optimizers: Optimizers) -> None:
    """Put the optimisers of a checkpoint in place, where it has any."""
    path = folder / "optimizer.pt"
    if path.exists():
        optimizers.load_state_dict(torch.load(path, weights_only=True))


def reference_folder(folder: Path) -> Path | None:
    """Where a checkpoint keeps the reference policy, if it does."""
    path = folder / _REFERENCE
    return path if path.is_dir() else None


def newest(folder: Path) -> Path | None:
    """The checkpoint in ``folder`` that is furthest in the run, or None."""
    found = [path for path in folder.glob("*") if not path.name.startswith(".") and (path / _STATE).is_file()]
    return max(found, key=lambda path: load_state(path)["serial"], default=None)


def prune(folder: Path, keep: int) -> None:
    """Remove all but the newest ``keep`` checkpoints and those whose state says ``"keep": true``."""
    states = {path: load_state(path) for path in folder.glob("*") if (path / _STATE).is_file()}
    old = sorted((p for p, s in states.items() if not s.get("keep")), key=lambda p: states[p]["serial"])
    for path in old[: max(0, len(old) - keep)]:
        shutil.rmtree(path)


def model_folder(path: Path) -> Path:
    """The model inside a checkpoint, a run or a plain model folder.

    Raises:
        DataNotFound: there is none.
    """
    candidates = [path, path / "model"]
    last = newest(path / "checkpoints") if (path / "checkpoints").is_dir() else None
    if last is not None:
        candidates.append(last / "model")
    for candidate in candidates:
        if (candidate / "config.json").is_file() and (candidate / "tokenizer.json").is_file():
            return candidate
    raise DataNotFound(
        f"no model at {path}: expected a folder with config.json and tokenizer.json, a checkpoint, "
        "or a run of `envrl train` with checkpoints/"
    )


def run_settings(path: Path) -> dict[str, Any]:
    """``config.json`` of the run that a run, checkpoint or model folder belongs to; {} for a model without a run."""
    for folder in (path, *path.resolve().parents[:3]):
        if (folder / "config.json").is_file() and (folder / "checkpoints").is_dir():
            return json.loads((folder / "config.json").read_text())
    return {}


def _sync(path: Path) -> None:
    if path.is_dir() and os.name != "posix":  # a folder cannot be opened there
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
