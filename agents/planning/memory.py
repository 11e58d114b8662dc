"""Memory of one process of a training run, part by part: arithmetic on the shape of a model, no tensors.

Exact: weights, gradients, moments, key-value cache. Estimates: activations and logits, by the formulas below. Not
counted: the accelerator's own context, fragmentation, and what libraries hold; leave a tenth for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from envrl.agents.planning.layout import Layout

#: bytes of a number in 32 bits
_FULL = 4


@dataclass(frozen=True)
class Shape:
    """A decoder-only transformer with gated feed-forward blocks.

    hidden, layers, intermediate, vocabulary: as in its configuration. queries, keys: width of all query heads and of
    all key heads of a layer. parameters, trainable: how many numbers. border, border_trainable: of these outside the
    layers.
    """

    hidden: int
    layers: int
    intermediate: int
    vocabulary: int
    queries: int
    keys: int
    parameters: int
    trainable: int
    border: int
    border_trainable: int

    @classmethod
    def of(cls, model: Any, heads: Any = None) -> "Shape":
        """The shape of a Transformers model (on the meta device, for one), with further trained heads."""
        config = model.config.get_text_config()
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        named = list(model.named_parameters())
        more = [] if heads is None else list(heads.parameters())
        extra = sum(p.numel() for p in more)
        return cls(
            config.hidden_size,
            config.num_hidden_layers,
            getattr(config, "intermediate_size", None) or 4 * config.hidden_size,
            config.vocab_size,
            config.num_attention_heads * width,
            (getattr(config, "num_key_value_heads", None) or config.num_attention_heads) * width,
            sum(p.numel() for _, p in named) + extra,
            sum(p.numel() for _, p in named if p.requires_grad) + extra,
            sum(p.numel() for name, p in named if ".layers." not in name) + extra,
            sum(p.numel() for name, p in named if ".layers." not in name and p.requires_grad) + extra,
        )

    @property
    def layer(self) -> int:
        """Parameters of a layer."""
        return (self.parameters - self.border) // self.layers


@dataclass(frozen=True)
class Work:
    """The most that a process works on at once.

    tokens: of a forward and backward pass. decisions, targets: tokens of it at which the policy, and state prediction,
    need logits. episodes: rolled out side by side. capacity: tokens that the cache of each holds. prefill: tokens read
    at once in a rollout. Without episodes, another program plays them.
    """

    tokens: int
    decisions: int
    targets: int
    episodes: int
    capacity: int
    prefill: int


class Part(NamedTuple):
    """Bytes of one process. when: ``always``, or only in an ``update`` or a ``rollout``. how: the sum in words."""

    name: str
    bytes: int
    when: Literal["always", "update", "rollout"]
    how: str


def activation_bytes(shape: Shape, tokens: int, layout: Layout) -> int:
    """What the backward pass keeps of a forward pass over ``tokens`` tokens.

    A layer keeps, with ``h`` the hidden width, ``q`` and ``k`` those of queries and keys, ``f`` of the feed-forward
    block: in 32 bits ``4 (6h + 2q + 2k + 4f)`` bytes a token (both norms: input, normalised, output; queries, keys,
    values, attention's output; gate, up, gate's activation, product). In 16 bits ``2 (2q + 2k + 4f)`` and ``26h``:
    norms stay in 32 bits (16h), their output is cast for each of the five matrices that read it (10h). Attention is one
    of the fused kernels, which keep no matrix of scores. With ``recompute`` each layer keeps its input, ``4h``, and one
    layer at a time all of the above.
    """
    h, wide = shape.hidden, 2 * shape.queries + 2 * shape.keys + 4 * shape.intermediate
    layer = 26 * h + 2 * wide if layout.mixed else _FULL * (6 * h + wide)
    if layout.recompute:
        return tokens * (shape.layers * _FULL * h + layer)
    return tokens * shape.layers * layer


def logit_bytes(shape: Shape, work: Work, part: int, together: bool) -> int:
    """Logits of a pass in 32 bits and what comes of them.

    Policy: six tensors (logits, mask, log-probabilities, probabilities, clamped, product) of at most ``part`` numbers,
    since larger ones are made in parts. State prediction: three (logits, log-probabilities, gradient) of all its
    targets.

    Args:
        shape: of the model.
        work: of the process.
        part: most numbers of a tensor of logits.
        together: both losses stand in one backward pass.
    """
    policy = 6 * _FULL * min(work.decisions * shape.vocabulary, max(part, shape.vocabulary))
    prediction = 3 * _FULL * work.targets * shape.vocabulary
    return policy + prediction if together else max(policy, prediction)


def cache_bytes(shape: Shape, work: Work, layout: Layout) -> int:
    """Keys (rotated, in 32 bits) and values of all layers for every token of every episode that is rolled out."""
    return work.episodes * work.capacity * shape.layers * shape.keys * (_FULL + _compute(layout))


def memory(
    shape: Shape,
    work: Work,
    layout: Layout,
    *,
    reference: bool = False,
    copies: int = 2,
    part: int = 2**27,
    together: bool = False,
) -> list[Part]:
    """The parts of a process's memory.

    Args:
        shape: of the model.
        work: the most that the process works on at once.
        layout: of the processes.
        reference: a second, frozen model stands beside the first.
        copies: gradients that are there at once (the policy's, the objectives', sums of both).
        part, together: see `logit_bytes`.
    """
    word = _compute(layout)
    kept, how_kept = _split(shape.parameters, shape.border, layout.shards)
    trained, how_trained = _split(shape.trainable, shape.border_trainable, layout.shards)
    parts = [
        Part("weights", _FULL * kept, "always", f"4 x {how_kept}"),
        Part("AdamW's moments", 2 * _FULL * trained, "always", f"2 x 4 x {how_trained}"),
    ]
    if reference:
        parts.append(Part("reference policy", _FULL * kept, "always", f"4 x {how_kept}"))
    if layout.sharded:
        how = f"{word} x 2 layers of {shape.layer:,}"
        parts.append(Part("gathered layers", word * 2 * shape.layer, "update", how))
    elif layout.mixed:
        parts.append(Part("weights in 16 bits", 2 * shape.parameters, "update", f"2 x {shape.parameters:,}"))
    parts += [
        Part("gradients", copies * _FULL * trained, "update", f"{copies} x 4 x {how_trained}"),
        Part(
            "activations",
            activation_bytes(shape, work.tokens, layout),
            "update",
            f"estimate, {work.tokens:,} tokens in {shape.layers} layers",
        ),
        Part(
            "logits",
            logit_bytes(shape, work, part, together),
            "update",
            f"estimate, {work.decisions:,} decisions and {work.targets:,} targets of {shape.vocabulary:,}",
        ),
    ]
    return parts + rollout_memory(shape, work, layout) if work.episodes else parts


def rollout_memory(shape: Shape, work: Work, layout: Layout) -> list[Part]:
    """What a rollout takes besides the weights."""
    word = _compute(layout)
    gathered = shape.parameters - shape.border
    together = [Part("layers put together", word * gathered, "rollout", f"{word} x {gathered:,}")]
    return [
        *(together if layout.sharded else []),
        Part(
            "KV cache",
            cache_bytes(shape, work, layout),
            "rollout",
            f"({_FULL} + {word}) x {work.episodes} episodes x {work.capacity:,} tokens x {shape.layers} x {shape.keys}",
        ),
        Part(
            "reading prompts",
            work.prefill * word * (4 * shape.hidden + 3 * shape.intermediate),
            "rollout",
            f"estimate, {work.prefill:,} tokens in one layer",
        ),
        # logits, log-probabilities and probabilities in 32 bits; probabilities and their sums in 64
        Part(
            "sampling",
            work.episodes * shape.vocabulary * (3 * _FULL + 2 * 8),
            "rollout",
            f"estimate, 28 x {work.episodes} x {shape.vocabulary:,}",
        ),
    ]


def peak(parts: Sequence[Part]) -> int:
    """The most bytes at once: what is always there, and the larger of an update and a rollout."""
    total = {when: sum(p.bytes for p in parts if p.when == when) for when in ("always", "update", "rollout")}
    return total["always"] + max(total["update"], total["rollout"])


def _split(numbers: int, border: int, shards: int) -> tuple[int, str]:
    """How many of some numbers a process holds, of which those outside the layers are whole everywhere; in words."""
    if shards == 1:
        return numbers, f"{numbers:,}"
    return border + (numbers - border) // shards, f"({border:,} + {numbers - border:,} / {shards})"


def _compute(layout: Layout) -> int:
    return 2 if layout.mixed else _FULL
