"""A key-value cache whose rows have lengths of their own, for decoding many episodes as one batch.

Episodes in a batch differ in length and do not all advance in every call. Each row keeps its own write position, so
there are no holes: feeding row A five tokens and row B none costs B nothing and leaves its cache as it was.
Works with any Transformers causal LM that goes through the standard `Cache` interface and takes 4-D masks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.cache_utils import Cache, CacheLayerMixin

from envrl.agents.models import LanguageModel

_GROUPED = "envrl_grouped"


def _grouped_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Masked attention that reads shared key-value heads in place.

    Transformers copies them once per query head when there is a mask, which costs more than the attention itself.
    """
    out = scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, scale=scaling, enable_gqa=query.shape[1] != key.shape[1]
    )
    return out.transpose(1, 2), None


AttentionInterface.register(_GROUPED, _grouped_attention)


@contextmanager
def grouped_attention(lm: LanguageModel) -> Iterator[None]:
    """Within it, a model that uses PyTorch's attention uses `_grouped_attention`."""
    config = lm.model.config.get_text_config()
    before = config._attn_implementation
    if before == "sdpa":
        config._attn_implementation = _GROUPED
    try:
        yield
    finally:
        config._attn_implementation = before


class _RaggedLayer(CacheLayerMixin):
    """Keys and values of one layer as ``(rows, capacity, heads, head_dim)``."""

    keys: Tensor
    values: Tensor

    def __init__(self, positions: "_Positions") -> None:
        super().__init__()
        self._positions = positions

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        rows, heads, _, width = key_states.shape
        self.keys = key_states.new_zeros(rows, self._positions.capacity, heads, width)
        self.values = value_states.new_zeros(rows, self._positions.capacity, heads, value_states.shape[-1])
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        short = self._positions.capacity - self.keys.shape[1]
        if short > 0:
            self.keys = torch.nn.functional.pad(self.keys, (0, 0, 0, 0, 0, short))
            self.values = torch.nn.functional.pad(self.values, (0, 0, 0, 0, 0, short))
        rows = torch.arange(key_states.shape[0], device=key_states.device)[:, None]
        at = self._positions.current
        self.keys[rows, at] = key_states.transpose(1, 2)
        self.values[rows, at] = value_states.transpose(1, 2)
        seen = self._positions.seen
        return self.keys[:, :seen].transpose(1, 2), self.values[:, :seen].transpose(1, 2)

    def select(self, rows: Tensor) -> None:
        if self.is_initialized:
            self.keys, self.values = self.keys[rows], self.values[rows]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._positions.seen, 0

    def get_seq_length(self) -> int:
        return self._positions.seen

    def get_max_length(self) -> int:
        return -1

    get_max_cache_shape = get_max_length  # name before Transformers 5.2x


class _Positions:
    """Where this call writes, shared by all layers: (rows, new tokens) slots, and slots in use after it."""

    def __init__(self) -> None:
        self.current = torch.zeros(0, 0, dtype=torch.long)
        self.seen = 0
        self.capacity = 0


class RaggedDecoder:
    """Feeds tokens to many rows at once, each with a cache of its own length.

    Args:
        lm: the model; gradients are not kept.
        rows: how many episodes.
    """

    #: the cache grows in steps of this many tokens
    BLOCK = 256

    def __init__(self, lm: LanguageModel, rows: int) -> None:
        self._lm = lm
        self._positions = _Positions()
        count = lm.model.config.get_text_config().num_hidden_layers
        self._layers = [_RaggedLayer(self._positions) for _ in range(count)]
        self._cache = Cache(layers=list(self._layers))
        self.lengths = torch.zeros(rows, dtype=torch.long, device=lm.device)

    @property
    def rows(self) -> int:
        """How many rows are left."""
        return len(self.lengths)

    def keep(self, rows: list[int]) -> None:
        """Drop all other rows; row ``i`` is then what ``rows[i]`` was."""
        index = torch.tensor(rows, dtype=torch.long, device=self.lengths.device)
        self.lengths = self.lengths[index]
        for layer in self._layers:
            layer.select(index)

    @torch.inference_mode()
    def feed(self, tokens: list[list[int]] | list[tuple[int, ...]]) -> Tensor:
        """Append tokens to each row (an empty list leaves it as it is).

        Args:
            tokens: new ids of each row.

        Returns:
            Logits ``(rows, vocabulary)`` after the last new token; rows that got none hold nothing of use.
        """
        device = self.lengths.device
        counts = torch.tensor([len(t) for t in tokens], device=device)
        longest = int(counts.max())
        if longest == 0:
            raise ValueError("feed needs at least one new token in some row")
        ids = torch.tensor([[*t, *[0] * (longest - len(t))] for t in tokens], device=device)
        at = self.lengths[:, None] + torch.arange(longest, device=device)
        positions = self._positions
        positions.current, positions.seen = at, int((self.lengths + longest).max())
        if positions.seen > positions.capacity:
            positions.capacity = -(-positions.seen // self.BLOCK) * self.BLOCK
        # a query sees every slot up to its own; slots past it hold pads or what an earlier pad left
        mask = torch.arange(positions.seen, device=device)[None, None, :] <= at[:, :, None]
        backbone = self._lm.backbone()
        with grouped_attention(self._lm):
            hidden = backbone(
                input_ids=ids,
                attention_mask=mask[:, None],
                position_ids=at,
                use_cache=True,
                **{self._lm.cache_argument: self._cache},
            ).last_hidden_state
        self.lengths = self.lengths + counts
        last = hidden[torch.arange(len(tokens), device=device), (counts - 1).clamp(min=0)]
        return self._lm.logits(last)
