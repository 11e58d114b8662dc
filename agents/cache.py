"""A key-value cache whose rows have lengths of their own, for decoding many episodes as one batch.

Episodes in a batch differ in length and do not all advance in every call. Each row keeps its own write position, so
there are no holes: feeding row A five tokens and row B none costs B nothing and leaves its cache as it was.
Works with any Transformers causal LM that goes through the standard `Cache` interface and takes 4-D masks.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.cache_utils import Cache, CacheLayerMixin

from envrl.agents.batches import bucket
from envrl.agents.candidates import CandidateTree
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
        _, heads, _, width = key_states.shape
        rows, capacity = self._positions.count, self._positions.capacity
        self.keys = key_states.new_zeros(rows, capacity, heads, width)
        self.values = value_states.new_zeros(rows, capacity, heads, value_states.shape[-1])
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
        some = self._positions.rows
        rows = torch.arange(self.keys.shape[0], device=key_states.device) if some is None else some
        at = self._positions.current
        self.keys[rows[:, None], at] = key_states.transpose(1, 2)
        self.values[rows[:, None], at] = value_states.transpose(1, 2)
        seen = self._positions.seen
        keys, values = self.keys[:, :seen], self.values[:, :seen]
        if some is not None:
            keys, values = keys[some], values[some]
        return keys.transpose(1, 2), values.transpose(1, 2)

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
    """Where this call writes, shared by all layers.

    count: rows of the cache. rows: those that take part in the call, None for all. current: ``(rows, new tokens)``
    slots. seen: slots in use after it. capacity: slots there are.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.rows: Tensor | None = None
        self.current = torch.zeros(0, 0, dtype=torch.long)
        self.seen = 0
        self.capacity = 0


class RaggedDecoder:
    """Feeds tokens to many rows at once, each with a cache of its own length.

    Args:
        lm: the model; gradients are not kept.
        rows: how many episodes.
        skip_idle: leave rows that get nothing out of a call when at least three quarters of them do. It pays where
            rows take turns, and changes the last digits of numbers.
    """

    #: the cache grows in steps of this many tokens
    BLOCK = 256
    #: a call runs over at most about this many tokens at once, padding included
    LARGEST = 65_536

    def __init__(self, lm: LanguageModel, rows: int, skip_idle: bool = False) -> None:
        self._lm, self._skip_idle = lm, skip_idle
        self._positions = _Positions(rows)
        count = lm.model.config.get_text_config().num_hidden_layers
        self._layers = [_RaggedLayer(self._positions) for _ in range(count)]
        self._cache = Cache(layers=list(self._layers))
        self.lengths = [0] * rows

    @property
    def rows(self) -> int:
        """How many rows are left."""
        return len(self.lengths)

    def keep(self, rows: list[int]) -> None:
        """Drop all other rows; row ``i`` is then what ``rows[i]`` was."""
        index = torch.tensor(rows, dtype=torch.long, device=self._lm.device)
        self.lengths = [self.lengths[row] for row in rows]
        self._positions.count = len(rows)
        for layer in self._layers:
            layer.select(index)

    def truncate(self, row: int, length: int) -> None:
        """Forget all but the first ``length`` tokens of a row."""
        self.lengths[row] = min(self.lengths[row], length)

    @torch.inference_mode()
    def feed(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Append tokens to each row (an empty list leaves it as it is).

        Args:
            tokens: new ids of each row.

        Returns:
            Logits ``(rows, vocabulary)`` after the last new token; rows that got none hold nothing of use.
        """
        active = [row for row, new in enumerate(tokens) if new]
        if not active:
            raise ValueError("feed needs at least one new token in some row")
        longest = max(map(len, tokens))
        if len(active) * longest > self.LARGEST:
            groups = [
                [active[i] for i in part] for part in bucket([len(tokens[r]) for r in active], self.LARGEST)
            ]
        elif self._skip_idle and 4 * len(active) <= len(tokens):
            groups = [active]
        else:
            return self._feed(tokens, None)
        logits: Tensor | None = None
        for rows in groups:
            part = self._feed([tokens[r] for r in rows], rows)
            if logits is None:
                logits = part.new_zeros(len(tokens), part.shape[-1])
            logits[rows] = part
        assert logits is not None  # there is at least one active row, hence a group
        return logits

    def _feed(self, tokens: Sequence[Sequence[int]], rows: list[int] | None) -> Tensor:
        """Append tokens to ``rows`` (None for all); their logits."""
        device = self._lm.device
        part = range(self.rows) if rows is None else rows
        counts = torch.tensor([len(t) for t in tokens], device=device)
        longest = max(map(len, tokens))
        ids = torch.tensor([[*t, *[0] * (longest - len(t))] for t in tokens], device=device)
        lengths = torch.tensor([self.lengths[row] for row in part], device=device)
        at = lengths[:, None] + torch.arange(longest, device=device)
        seen = self._make_room(at, max(self.lengths[row] for row in part) + longest, rows)
        # a query sees every slot up to its own; slots past it hold pads or what an earlier pad left
        hidden = self._run(ids, torch.arange(seen, device=device)[None, None, :] <= at[:, :, None], at)
        for row, new in zip(part, tokens, strict=True):
            self.lengths[row] += len(new)
        last = hidden[torch.arange(len(tokens), device=device), (counts - 1).clamp(min=0)]
        return self._lm.logits(last)

    @torch.inference_mode()
    def score(self, trees: Sequence[CandidateTree | None], logits: Tensor) -> list[Tensor | None]:
        """Total log-probability of each candidate of each row, on top of its cache, which stays as it is.

        Args:
            trees: candidates of each row; None for a row without.
            logits: ``(rows, vocabulary)`` after each row's last token.

        Returns:
            ``(candidates,)`` for each row, None for rows without.
        """
        rows = [row for row, tree in enumerate(trees) if tree]
        beside: dict[int, Tensor] = {}
        if rows:
            chosen = [tree for tree in trees if tree]
            longest = max(map(len, chosen))
            device = self._lm.device
            lengths = torch.tensor([self.lengths[row] for row in rows], device=device)
            ids = torch.tensor([[*t.ids, *[0] * (longest - len(t))] for t in chosen], device=device)
            depths = torch.tensor([[*t.depths, *[0] * (longest - len(t))] for t in chosen], device=device)
            slots = lengths[:, None] + torch.arange(longest, device=device)
            seen = self._make_room(slots, max(self.lengths[row] for row in rows) + longest, rows)
            mask = torch.arange(seen, device=device)[None, None, :] < lengths[:, None, None]
            mask = mask.repeat(1, longest, 1)
            for i, tree in enumerate(chosen):
                start = self.lengths[rows[i]]
                mask[i, : len(tree), start : start + len(tree)] = tree.ancestors().to(device)
            hidden = self._run(ids, mask, lengths[:, None] + depths)
            beside = dict(zip(rows, hidden, strict=True))
        return [
            None
            if tree is None
            else tree.totals_of(
                torch.cat([logits[row : row + 1], self._lm.logits(beside[row][: len(tree)])])
                if tree
                else logits[row : row + 1]
            )
            for row, tree in enumerate(trees)
        ]

    def _make_room(self, slots: Tensor, seen: int, rows: list[int] | None) -> int:
        """Say where the next call writes, and make room; returns how many slots it sees."""
        positions = self._positions
        positions.current, positions.seen = slots, seen
        positions.rows = None if rows is None else torch.tensor(rows, device=slots.device)
        if seen > positions.capacity:
            positions.capacity = -(-seen // self.BLOCK) * self.BLOCK
        return seen

    def _run(self, ids: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        with grouped_attention(self._lm):
            return self._lm.backbone()(
                input_ids=ids,
                attention_mask=mask[:, None],
                position_ids=positions,
                use_cache=True,
                **{self._lm.cache_argument: self._cache},
            ).last_hidden_state
