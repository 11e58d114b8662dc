"""LoRA adapters through peft: made reproducibly, saved small, loaded back onto the model they were made for."""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from envrl.envs.errors import MissingExtra

_CONFIG = "adapter_config.json"


def adapted(model: PreTrainedModel, source: str, rank: int, alpha: float, seed: int) -> Any:
    """Freeze a model and put trainable low-rank changes beside all linear layers of its backbone.

    Args:
        model: its weights are shared, not copied.
        source: where it can be loaded from again, which the adapter remembers.
        rank: of the changes.
        alpha: their factor is ``alpha / rank``.
        seed: of the initial weights; the change is zero at first all the same.
    """
    peft = _peft()
    settings = peft.LoraConfig(
        r=rank,
        lora_alpha=alpha,
        lora_dropout=0.0,  # resumed runs equal uninterrupted ones
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = peft.get_peft_model(model, settings)
    return _from(model, source)


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter and not a whole model."""
    return (folder / _CONFIG).is_file()


def base_of(folder: Path) -> str:
    """What the adapter in ``folder`` was made for: a folder or a name."""
    return str(json.loads((folder / _CONFIG).read_text())["base_model_name_or_path"])


def load_adapter(model: PreTrainedModel, source: str, folder: Path) -> Any:
    """The model with a saved adapter, ready to go on training."""
    return _from(_peft().PeftModel.from_pretrained(model, str(folder), is_trainable=True), source)


def save_adapter(model: Any, folder: Path, state: dict[str, Any] | None = None) -> None:
    """Write the adapter, and the model's configuration beside it; ``state`` has the weights if the model has not."""
    # "auto" would ask the hub whether the vocabulary has grown
    own = {} if state is None else {"state_dict": state}
    model.save_pretrained(str(folder), save_embedding_layers=False, **own)
    model.get_base_model().config.save_pretrained(folder)


def _from(model: Any, source: str) -> Any:
    model.peft_config["default"].base_model_name_or_path = source
    return model


def _peft() -> Any:
    try:
        import peft
    except ImportError as error:
        raise MissingExtra("LoRA needs peft; install it with: pip install 'envrl[train]'") from error
    return peft
