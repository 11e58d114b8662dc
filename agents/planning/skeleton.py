"""The model of a run without its weights: built from its configuration on PyTorch's meta device, with its tokenizer."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from envrl.agents import checkpoint, smollm
from envrl.agents.adapters import adapted, base_of, is_adapter
from envrl.agents.config import TrainConfig
from envrl.agents.models import LanguageModel, build_tiny, quiet, with_lora
from envrl.agents.planning.known_models import KNOWN_MODELS
from envrl.envs.errors import DataNotFound

#: within it tensors have a shape and no memory
_META = torch.device("meta")
_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
#: words with the space before them, single digits, runs of other signs, white space
_WORDS = r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+"


class Skeleton(NamedTuple):
    """A model without weights.

    lm: on the meta device. counted: whether its tokenizer is the one of the run, so that token counts are exact.
    notes: what is missing here, in words.
    """

    lm: LanguageModel
    counted: bool = True
    notes: tuple[str, ...] = ()


def build_skeleton(config: TrainConfig, texts: Sequence[str]) -> Skeleton:
    """The model that a run would start with.

    Args:
        config: settings of the run.
        texts: text of the environment, for tokenizers that are learned or stood in for.

    Raises:
        DataNotFound: there is no model of this name, or its configuration cannot be had here.
    """
    last = checkpoint.newest(config.output / "checkpoints") if config.resume else None
    with quiet():
        if last is not None:
            built = _load(str(last / "model"), texts)
        elif config.init is not None:
            built = _load(str(checkpoint.model_folder(config.init)), texts)
        elif config.model == "tiny":
            with _META:
                built = Skeleton(build_tiny(texts, seed=config.seed))
        else:
            built = _load(config.model, texts)
        if config.lora_rank and not built.lm.has_adapter:
            with _META:
                lm = with_lora(built.lm, config.lora_rank, config.lora_alpha, config.seed)
            built = built._replace(lm=lm)
    return built


def _load(name: str, texts: Sequence[str]) -> Skeleton:
    """As `envrl.agents.models.load_model`, without weights."""
    if is_adapter(Path(name)):
        base = _load(base_of(Path(name)), texts)
        saved = json.loads((Path(name) / "adapter_config.json").read_text())
        with _META:
            model = adapted(base.lm.model, base.lm.source, saved["r"], saved["lora_alpha"], seed=0)
        return base._replace(lm=LanguageModel(model, base.lm.tokenizer, base.lm.source))
    path = str(smollm.converted()) if name == smollm.NAME else name
    config, notes = _configuration(path)
    tokenizer = _tokenizer(path)
    with _META:
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    if tokenizer is not None:
        return Skeleton(LanguageModel(model, tokenizer, name), True, notes)
    notes = (
        *notes,
        f"The tokenizer of {name} is not on this machine: words are counted in its place, in ChatML frames, and "
        "token counts are estimates. `--model FOLDER` with tokenizer.json gives exact ones.",
    )
    return Skeleton(LanguageModel(model, stand_in_tokenizer(texts), name), False, notes)


def _configuration(name: str) -> tuple[Any, tuple[str, ...]]:
    """The configuration of a folder, of this machine's cache, of the table, or of the hub, in this order."""
    if Path(name).is_dir():
        if not (Path(name) / "config.json").is_file():
            raise DataNotFound(f"no model at {name!r}: expected a folder with config.json and tokenizer.json")
        config = AutoConfig.from_pretrained(name)
        weights = any(any(Path(name).glob(f"*.{kind}")) for kind in ("safetensors", "bin"))
        return config, () if weights else (f"{name} holds no weights, which training needs.",)
    try:
        return AutoConfig.from_pretrained(name, local_files_only=True), ()
    except (OSError, ValueError):
        pass
    if name in KNOWN_MODELS:
        values = dict(KNOWN_MODELS[name])
        note = (
            f"{name} is not in this machine's cache; its shape is the one on record here. Training downloads it from "
            "the hub, or takes a folder: --model FOLDER."
        )
        return AutoConfig.for_model(values.pop("model_type"), **values), (note,)
    try:
        return AutoConfig.from_pretrained(name), ()
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DataNotFound(
            f"the configuration of {name!r} cannot be had ({reason}); give a folder with config.json and "
            f"tokenizer.json by --model FOLDER, or one of {', '.join(KNOWN_MODELS)}"
        ) from error


def _tokenizer(name: str) -> PreTrainedTokenizerBase | None:
    """The tokenizer of a folder or of this machine's cache, if it is there."""
    try:
        return AutoTokenizer.from_pretrained(name, local_files_only=True)
    except (OSError, ValueError):
        return None


def stand_in_tokenizer(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """A tokenizer with ChatML frames that makes about one token of a word, as those of language models do.

    Args:
        texts: whose words it knows; other words are spelled in parts.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=30_000,
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=_SPECIAL[2], pad_token=_SPECIAL[0])
    fast.chat_template = _CHATML
    return fast
