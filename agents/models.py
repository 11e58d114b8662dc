"""Language models: `tiny` built from a configuration, and any Hugging Face causal LM from a folder or hub name.

`LanguageModel` is what the rest of `agents` sees: a Transformers model, its tokenizer, cached text -> ids, hidden
states and logits at chosen positions.
"""

import functools
import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from envrl.agents import smollm
from envrl.agents.adapters import adapted, base_of, is_adapter, load_adapter, save_adapter
from envrl.agents.sharding import sharded_layers
from envrl.agents.tokenizer import train_tokenizer
from envrl.envs.errors import DataNotFound, EnvRLError


@dataclass(frozen=True)
class TinyConfig:
    """Shape of `tiny`, a Llama of 0.1 to 8 million parameters (the default has about 0.16 million)."""

    hidden_size: int = 64
    layers: int = 3
    heads: int = 2
    key_value_heads: int = 1
    intermediate_size: int = 192
    max_tokens: int = 4096
    initializer_range: float = 0.04


class LanguageModel:
    """A causal language model with its tokenizer.

    Args:
        model: a Transformers causal LM.
        tokenizer: its tokenizer.
        source: folder or name that the model (without an adapter) can be loaded from again; ``""`` if none.
    """

    #: texts recur within and across episodes; the cache is dropped when it reaches this many entries
    CACHE_SIZE = 200_000

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, source: str = "") -> None:
        self.model, self.tokenizer, self.source = model, tokenizer, source
        self._ids: dict[str, tuple[int, ...]] = {}
        parameters = inspect.signature(type(self.inner()).forward).parameters
        # renamed in Transformers 5.2x; the old name is refused from 5.40 on
        self.cache_argument = "cache" if "cache" in parameters else "past_key_values"

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    def to(self, device: torch.device) -> "LanguageModel":
        """Itself, with its weights on ``device``."""
        cast(Any, self.model).to(device)
        return self

    @property
    def is_tiny(self) -> bool:
        """Whether the tokenizer is one of ours, with the structure tokens of `SPECIAL_TOKENS`."""
        return all(
            self.tokenizer.convert_tokens_to_ids(t) != self.tokenizer.unk_token_id for t in ("<act>", "<obs>")
        )

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of ``text`` without special tokens; text that looks like a special token is spelled out."""
        ids = self._ids.get(text)
        if ids is None:
            if len(self._ids) >= self.CACHE_SIZE:
                self._ids.clear()
            encoded = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)
            ids = self._ids[text] = tuple(encoded["input_ids"])
        return ids

    @property
    def vocabulary(self) -> int:
        """How many ids the output layer tells apart."""
        return int(self.model.config.get_text_config().vocab_size)

    @functools.cached_property
    def token_texts(self) -> list[str]:
        """The text of each id on its own; ``""`` for special tokens and ids without a token."""
        known = len(self.tokenizer)
        texts = self.tokenizer.batch_decode([[i] for i in range(min(known, self.vocabulary))])
        special = self.special_ids
        texts = ["" if i in special else text for i, text in enumerate(texts)]
        return texts + [""] * (self.vocabulary - len(texts))

    @functools.cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids of tokens that are structure, not text."""
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        return frozenset(self.tokenizer.all_special_ids) | {i for i, token in added.items() if token.special}

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens included as they are written."""
        decoded = self.tokenizer.decode(list(ids), clean_up_tokenization_spaces=False)
        return cast(str, decoded)

    def token_id(self, token: str) -> int:
        """Id of one special token by name."""
        return cast(int, self.tokenizer.convert_tokens_to_ids(token))

    def hidden(self, ids: Tensor) -> Tensor:
        """Last hidden states ``(batch, length, width)`` of right-padded ``ids`` ``(batch, length)``.

        Right padding needs no mask under causal attention: no real token sees a pad.
        """
        return self.backbone()(input_ids=ids, use_cache=False).last_hidden_state

    def idle(self) -> Tensor:
        """A scalar 0 that took a forward over one token: what a process does while others have a batch to run."""
        return self.hidden(torch.zeros(1, 1, dtype=torch.long, device=self.device)).sum() * 0.0

    @property
    def is_sharded(self) -> bool:
        """Whether its layers are split over processes."""
        return bool(sharded_layers(self.model))

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits ``(..., vocabulary)`` of hidden states ``(..., width)``."""
        head: Any = self.model.get_output_embeddings()
        return head(hidden)

    @property
    def has_adapter(self) -> bool:
        """Whether an adapter is trained beside frozen weights."""
        return hasattr(self.model, "get_base_model")

    def inner(self) -> Any:
        """The Transformers model itself, inside an adapter if there is one."""
        return self.model.get_base_model() if self.has_adapter else self.model  # type: ignore[operator]

    def backbone(self) -> Any:
        """The network below the output layer."""
        return self.inner().get_decoder()

    @property
    def max_tokens(self) -> int | None:
        """The longest sequence that the model was made for, if it says."""
        limit = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return None if limit is None else int(limit)

    def save(self, folder: Path, state: dict[str, Tensor] | None = None) -> None:
        """Write model (safetensors) and tokenizer in the Hugging Face layout; of an adapted one the adapter alone.

        Args:
            folder: where to.
            state: the weights, where they are not whole in the model itself (`sharding.full_state`).
        """
        with quiet():
            if self.has_adapter:
                save_adapter(self.model, folder, state)
            else:
                self.model.save_pretrained(folder, state_dict=state)
            self.tokenizer.save_pretrained(folder)


@contextmanager
def quiet() -> Iterator[None]:
    """Transformers draws a bar for every save and load; a trainer does many and has a display of its own."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()


def build_tiny(texts: Iterable[str], config: TinyConfig | None = None, seed: int = 0) -> LanguageModel:
    """An untrained `tiny` with a tokenizer learned from ``texts``; deterministic in texts and seed."""
    config = config or TinyConfig()
    tokenizer = train_tokenizer(texts)
    llama = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.key_value_heads,
        max_position_embeddings=config.max_tokens,
        initializer_range=config.initializer_range,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(llama)
    model.config.use_cache = False
    return LanguageModel(model.train(), tokenizer)


def with_lora(lm: LanguageModel, rank: int, alpha: float = 0.0, seed: int = 0) -> LanguageModel:
    """The model, frozen, with a LoRA adapter to train beside it; it says what it said until the adapter learns.

    Args:
        lm: the model; its weights are shared, not copied.
        rank: of the adapter.
        alpha: the adapter's factor is ``alpha / rank``; 0 stands for twice the rank.
        seed: of the initial weights.

    Raises:
        EnvRLError: the model has no place that it can be loaded from again.
    """
    if not lm.source:
        raise EnvRLError(
            "LoRA needs a model that is saved somewhere; give a folder or name with --model or --init"
        )
    return LanguageModel(adapted(lm.model, lm.source, rank, alpha or 2 * rank, seed), lm.tokenizer, lm.source)


def load_model(path: str) -> LanguageModel:
    """A causal LM and its tokenizer, with its adapter if it has one.

    Args:
        path: a folder, a hub name, or ``smollm2-135m``.

    Raises:
        DataNotFound: the folder or hub name cannot be loaded.
        MissingExtra: a package is needed for it.
    """
    if is_adapter(Path(path)):
        base = load_model(base_of(Path(path)))
        with quiet():
            model = load_adapter(base.model, base.source, Path(path))
        return LanguageModel(model, base.tokenizer, base.source)
    source = str(Path(path).resolve()) if Path(path).exists() else path
    if path == smollm.NAME:
        with quiet():
            path = str(smollm.converted())
    try:
        with quiet():
            model = _without_dropout(AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32))
            tokenizer = AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DataNotFound(
            f"no causal language model at {path!r} ({reason}); give `tiny`, `{smollm.NAME}`, a folder with "
            "config.json, weights and tokenizer, or a hub name this machine can reach"
        ) from error
    return LanguageModel(model, tokenizer, source)


def _without_dropout(model: PreTrainedModel) -> PreTrainedModel:
    """With it the policy that learns would not be the one that acted, and a resumed run not the uninterrupted one."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, 0.0)
    return model
