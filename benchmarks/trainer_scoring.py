"""Scoring of candidate actions: packed, with the prompt's keys and values repeated, and one forward each."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from clock import cpu

from envrl.agents.cache import RaggedDecoder
from envrl.agents.candidates import CandidateTree
from envrl.agents.models import LanguageModel, TinyConfig, build_tiny, load_model
from envrl.agents.scoring import naive_logprobs, packed_logprobs
from envrl.envs.errors import MissingExtra

COMMANDS = (
    *(f"go to cabinet {i}" for i in range(1, 9)),
    *(f"go to {place} 1" for place in ("countertop", "fridge", "microwave", "sinkbasin", "garbagecan")),
    *(f"take {thing} from countertop 1" for thing in ("apple 1", "mug 2", "knife 1")),
    "open fridge 1",
    "examine countertop 1",
    "inventory",
    "look",
)
PROMPT_TOKENS = 512


def scoring_model() -> tuple[str, LanguageModel]:
    """SmolLM2-135M, or a `tiny` that is wide enough for its arithmetic to matter."""
    try:
        return "smollm2-135m", load_model("smollm2-135m")
    except MissingExtra:
        wide = TinyConfig(hidden_size=512, layers=8, heads=8, key_value_heads=4, intermediate_size=1536)
        return "tiny (hidden 512, 8 layers)", build_tiny([*COMMANDS] * 20, wide)


@torch.no_grad()
def repeated_kv(
    lm: LanguageModel, cache: Any, first: torch.Tensor, candidates: Sequence[Sequence[int]]
) -> torch.Tensor:
    """The usual way: the prompt's keys and values once for each candidate, candidates as a padded batch.

    Args:
        lm: the model.
        cache: of the prompt.
        first: log-probabilities after it.
        candidates: ids of each.
    """
    longest = max(map(len, candidates))
    ids = torch.tensor([[*c, *[0] * (longest - len(c))] for c in candidates])
    real = torch.tensor([[1.0] * len(c) + [0.0] * (longest - len(c)) for c in candidates])
    copies = copy.deepcopy(cache)
    copies.batch_repeat_interleave(len(candidates))
    logits = lm.model(ids[:, :-1], **{lm.cache_argument: copies}, use_cache=True).logits
    later = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (torch.cat([first[ids[:, :1]], later], 1) * real).sum(1)


def measure_scoring(repeats: int) -> dict[str, Any]:
    """20 candidates after a prompt of 512 tokens: on a cached prompt, as in a rollout, and from nothing."""
    name, lm = scoring_model()
    lm.model.eval()
    end = (lm.tokenizer.eos_token_id,)
    candidates = [(*lm.encode(command), *end) for command in COMMANDS]
    rng = np.random.default_rng(0)
    prompt = rng.integers(20, min(len(lm.tokenizer), 40_000), size=PROMPT_TOKENS).tolist()
    with torch.no_grad():
        out = lm.model(torch.tensor([prompt]), use_cache=True)
    cache = getattr(out, lm.cache_argument)
    first = torch.log_softmax(out.logits[0, -1], -1)
    decoder = RaggedDecoder(lm, 1)
    after = decoder.feed([prompt])

    def packed() -> torch.Tensor:
        (totals,) = decoder.score([CandidateTree(candidates)], after)
        assert totals is not None
        return totals

    with torch.no_grad():
        naive = naive_logprobs(lm, prompt, candidates)
    difference = max(
        float((way - naive).abs().max()) for way in (packed(), repeated_kv(lm, cache, first, candidates))
    )
    packed_s = cpu(packed, repeats)
    repeated_s = cpu(lambda: repeated_kv(lm, cache, first, candidates), repeats)
    with torch.no_grad():
        whole_s = cpu(lambda: packed_logprobs(lm, prompt, candidates), repeats)
        naive_s = cpu(lambda: naive_logprobs(lm, prompt, candidates), 1)
    return {
        "model": name,
        "candidates": len(candidates),
        "candidate_tokens": sum(map(len, candidates)),
        "prompt_tokens": PROMPT_TOKENS,
        "largest_difference": difference,
        "packed_s": packed_s,
        "repeated_kv_s": repeated_s,
        "packed_with_prompt_s": whole_s,
        "naive_s": naive_s,
        "packed_vs_repeated_kv": repeated_s / packed_s,
        "packed_vs_naive": naive_s / whole_s,
    }
