import random

import pytest
import torch

from envrl.agents.scoring import naive_logprobs, packed_logprobs


def pairs(vocabulary, count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        prompt = [rng.randrange(vocabulary) for _ in range(rng.randint(1, 60))]
        yield (
            prompt,
            [
                [rng.randrange(vocabulary) for _ in range(rng.randint(1, 8))]
                for _ in range(rng.randint(1, 24))
            ],
        )


def test_packed_equals_naive_on_200_random_pairs(lm):
    for prompt, candidates in pairs(len(lm.tokenizer), 200, seed=0):
        with torch.no_grad():
            packed, naive = packed_logprobs(lm, prompt, candidates), naive_logprobs(lm, prompt, candidates)
        torch.testing.assert_close(packed, naive, atol=1e-4, rtol=1e-5)


def test_gradients_equal(lm):
    for prompt, candidates in pairs(len(lm.tokenizer), 10, seed=1):
        gradients = []
        for score in (packed_logprobs, naive_logprobs):
            lm.model.zero_grad()
            torch.log_softmax(score(lm, prompt, candidates), 0)[0].backward()
            gradients.append([p.grad.clone() for p in lm.model.parameters() if p.grad is not None])
        for packed, naive in zip(*gradients, strict=True):
            torch.testing.assert_close(packed, naive, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize(("prompt", "candidates"), [([], [[1]]), ([1], []), ([1], [[2], []])])
def test_empty_input_is_refused(lm, prompt, candidates):
    with pytest.raises(ValueError, match="at least one token"):
        packed_logprobs(lm, prompt, candidates)
