"""Log-probabilities of decisions: what a policy samples from, and the same under the model that learns."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from envrl.agents.batches import pad
from envrl.agents.candidates import CandidateTree
from envrl.agents.models import LanguageModel
from envrl.agents.prompts import Allowed, Candidates, Decision, Excluded, TokenSequence
from envrl.agents.scoring import BranchedHidden, branched_hidden

_MASKED = -1e9
#: logits of more elements than this are made, used and dropped in parts, and made again in the backward pass
LARGEST_PART = 2**27


def masked_log_softmax(logits: Tensor, allowed: Sequence[Allowed], temperature: float = 1.0) -> Tensor:
    """Log-probabilities of the softmax over each row's allowed ids.

    Args:
        logits: ``(rows, vocabulary)``.
        allowed: ids each row may choose from; `Excluded` lists those it may not; None for all.
        temperature: divides the logits.

    Returns:
        ``(rows, vocabulary)``; ids that are not allowed are at about -1e9.
    """
    listed = [(r, ids) for r, ids in enumerate(allowed) if ids is not None and not isinstance(ids, Excluded)]
    barred = [(r, ids) for r, ids in enumerate(allowed) if isinstance(ids, Excluded)]
    mask = torch.full_like(logits, _MASKED)
    open_rows = [r for r, ids in enumerate(allowed) if ids is None or isinstance(ids, Excluded)]
    mask[open_rows] = 0.0
    mask[[r for r, ids in barred for _ in ids], [i for _, ids in barred for i in ids]] = _MASKED
    mask[[r for r, ids in listed for _ in ids], [i for _, ids in listed for i in ids]] = 0.0
    return torch.log_softmax(logits / temperature + mask, -1)


def inverse_cdf(probabilities: Tensor, draws: Tensor) -> Tensor:
    """Sample each row with a uniform draw of its own, so that a row's sample depends on no other row.

    Args:
        probabilities: ``(rows, n)``, each row sums to 1.
        draws: ``(rows,)`` in [0, 1]; 1 occurs: in 32 bits a draw just below it is rounded up.

    Returns:
        ``(rows,)``: the first index whose cumulative probability exceeds the draw; never one of probability 0.
    """
    cumulative = probabilities.double().cumsum(-1)
    total = cumulative[:, -1]
    wanted = torch.minimum(draws.double() * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, wanted[:, None], right=True).squeeze(1)


class PolicyForward(NamedTuple):
    """What a forward for the policy gives.

    hidden: ``(batch, length, width)`` of the right-padded sequences, for other losses on the same pass.
    logprobs, entropy: each ``(decisions of all sequences, in order,)``.
    """

    hidden: Tensor
    logprobs: Tensor
    entropy: Tensor


def policy_forward(
    lm: LanguageModel, sequences: Sequence[TokenSequence], temperature: float = 1.0
) -> PolicyForward:
    """Run the model over a batch and give the log-probabilities of its decisions, of tokens and of whole actions.

    Actions that were to choose from stand beside the sequence in the same row and are seen by themselves only, so
    there is one forward in any case.

    Args:
        lm: the model.
        sequences: the batch.
        temperature: the one the decisions were sampled with.
    """
    trees = [[CandidateTree(d.candidates.ids) for d in s.decisions if d.candidates] for s in sequences]
    if not any(trees):
        hidden = lm.hidden(pad([s.ids for s in sequences], lm.device))
        return PolicyForward(hidden, *decision_logprobs(lm, hidden, sequences, temperature))
    places = [[d.position for d in s.decisions if d.candidates] for s in sequences]
    branched = branched_hidden(lm, [s.ids for s in sequences], trees, places)
    tokens = [_only(s, [d for d in s.decisions if d.candidates is None]) for s in sequences]
    token_results = decision_logprobs(lm, branched.hidden, tokens, temperature)
    action_results = _action_logprobs(lm, branched, sequences, trees, temperature)
    # back into the order of the decisions
    kinds = torch.tensor([d.candidates is not None for s in sequences for d in s.decisions], device=lm.device)
    merged = []
    for of_tokens, of_actions in zip(token_results, action_results, strict=True):
        values = of_actions.new_zeros(len(kinds)).masked_scatter(kinds, of_actions)
        merged.append(values.masked_scatter(~kinds, of_tokens.to(values.dtype)))
    return PolicyForward(branched.hidden, merged[0], merged[1])


def decision_logprobs(
    lm: LanguageModel, hidden: Tensor, sequences: Sequence[TokenSequence], temperature: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Log-probabilities of a batch's token decisions under the present model.

    Args:
        lm: the model.
        hidden: ``(batch, length, width)`` of the right-padded sequences.
        sequences: the batch; its decisions are all of tokens.
        temperature: the one the decisions were sampled with.

    Returns:
        (log-probabilities, entropies), each ``(decisions of all sequences, in order,)``.
    """
    rows = [r for r, s in enumerate(sequences) for _ in s.decisions]
    if not rows:
        return hidden.new_zeros(0), hidden.new_zeros(0)
    before = [d.position - 1 for s in sequences for d in s.decisions]
    chosen = torch.tensor([s.ids[d.position] for s in sequences for d in s.decisions], device=hidden.device)
    allowed = [d.allowed for s in sequences for d in s.decisions]
    states = hidden[rows, before]

    def part(states: Tensor, chosen: Tensor, allowed: list[Allowed]) -> tuple[Tensor, Tensor]:
        logprobs = masked_log_softmax(lm.logits(states), allowed, temperature)
        entropy = -(logprobs.exp() * logprobs.clamp(min=-100)).sum(-1)
        return logprobs.gather(1, chosen[:, None]).squeeze(1), entropy

    size = max(1, LARGEST_PART // lm.vocabulary)
    if len(rows) <= size:
        return part(states, chosen, allowed)
    parts = [
        checkpoint(
            part, states[i : i + size], chosen[i : i + size], allowed[i : i + size], use_reentrant=False
        )
        for i in range(0, len(rows), size)
    ]
    return torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])


def candidate_log_softmax(totals: Tensor, candidates: Candidates, temperature: float) -> Tensor:
    """Log-probabilities of choosing each candidate, from their total log-probabilities as text, ``(candidates,)``.

    The candidate without ids stands for all other text: it has what the others leave of probability 1.
    """
    lengths = torch.tensor([len(ids) for ids in candidates.ids], device=totals.device)
    scores = totals / lengths.clamp(min=1) if candidates.per_token else totals
    rest = lengths == 0
    if rest.any():
        taken = totals.masked_fill(rest, -torch.inf).exp().sum().clamp(max=1 - 1e-6)
        scores = torch.where(rest, torch.log1p(-taken), scores)
    return torch.log_softmax(scores / temperature, -1)


def _action_logprobs(
    lm: LanguageModel,
    branched: BranchedHidden,
    sequences: Sequence[TokenSequence],
    trees: Sequence[Sequence[CandidateTree]],
    temperature: float,
) -> tuple[Tensor, Tensor]:
    chosen, entropies = [], []
    for row, sequence in enumerate(sequences):
        decisions = [d for d in sequence.decisions if d.candidates is not None]
        for index, (decision, tree) in enumerate(zip(decisions, trees[row], strict=True)):
            candidates = decision.candidates
            assert candidates is not None  # filtered above
            totals = tree.totals(lm, branched.before(row, index), branched.nodes(row, index))
            logprobs = candidate_log_softmax(totals, candidates, temperature)
            chosen.append(logprobs[candidates.chosen])
            entropies.append(-(logprobs.exp() * logprobs.clamp(min=-100)).sum())
    return torch.stack(chosen), torch.stack(entropies)


def _only(sequence: TokenSequence, decisions: list[Decision]) -> TokenSequence:
    return TokenSequence(sequence.ids, decisions)
