"""Scoring candidate actions: the log-probability of each of many continuations of one prompt.

All candidates go into one row behind the prompt. A block mask lets each see the prompt and itself only, and each
starts at the prompt's next position, so the result equals that of one forward per candidate while the prompt is
computed once and there is no padding. Gradients flow through it.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from envrl.agents.cache import grouped_attention
from envrl.agents.models import LanguageModel


def packed_logprobs(lm: LanguageModel, prompt: Sequence[int], candidates: Sequence[Sequence[int]]) -> Tensor:
    """Total log-probability of each candidate after the prompt, in one forward.

    Args:
        lm: the model.
        prompt: ids, at least one.
        candidates: ids of each continuation, at least one each.

    Returns:
        ``(candidates,)``, differentiable.

    Raises:
        ValueError: an empty prompt, no candidates, or an empty candidate.
    """
    _check(prompt, candidates)
    device = lm.device
    # the last token of a candidate predicts nothing that is scored
    bodies = [list(c[:-1]) for c in candidates]
    owner = torch.tensor([-1] * len(prompt) + [i for i, b in enumerate(bodies) for _ in b], device=device)
    position = torch.tensor(
        [*range(len(prompt)), *(len(prompt) + t for b in bodies for t in range(len(b)))], device=device
    )
    ids = torch.tensor([[*prompt, *(t for b in bodies for t in b)]], device=device)
    causal = position[:, None] >= position[None, :]
    visible = causal & ((owner[None, :] == -1) | (owner[:, None] == owner[None, :]))
    with grouped_attention(lm):
        hidden = lm.backbone()(
            input_ids=ids, attention_mask=visible[None, None], position_ids=position[None], use_cache=False
        ).last_hidden_state[0]
    # the token before each scored token: the prompt's last for the first of a candidate
    before: list[int] = []
    target: list[int] = []
    row: list[int] = []
    offset = len(prompt)
    for i, (candidate, body) in enumerate(zip(candidates, bodies, strict=True)):
        before += [len(prompt) - 1, *range(offset, offset + len(body))]
        target += candidate
        row += [i] * len(candidate)
        offset += len(body)
    logprobs = torch.log_softmax(lm.logits(hidden[before]), -1)
    chosen = logprobs[torch.arange(len(target), device=device), torch.tensor(target, device=device)]
    return torch.zeros(len(candidates), device=device, dtype=chosen.dtype).index_add(
        0, torch.tensor(row, device=device), chosen
    )


def naive_logprobs(lm: LanguageModel, prompt: Sequence[int], candidates: Sequence[Sequence[int]]) -> Tensor:
    """The same by one forward per candidate: what `packed_logprobs` is tested and measured against."""
    _check(prompt, candidates)
    scores = []
    for candidate in candidates:
        ids = torch.tensor([[*prompt, *candidate]], device=lm.device)
        hidden = lm.hidden(ids)[0, len(prompt) - 1 : -1]
        logprobs = torch.log_softmax(lm.logits(hidden), -1)
        scores.append(logprobs.gather(1, torch.tensor(candidate, device=lm.device)[:, None]).sum())
    return torch.stack(scores)


def _check(prompt: Sequence[int], candidates: Sequence[Sequence[int]]) -> None:
    if not prompt or not candidates or not all(candidates):
        raise ValueError(
            f"scoring needs a prompt and candidates of at least one token each, got a prompt of {len(prompt)} "
            f"and candidates of {[len(c) for c in candidates]}"
        )
