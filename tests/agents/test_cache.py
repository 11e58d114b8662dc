import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from envrl.agents.cache import RaggedDecoder


@given(seed=st.integers(0, 2**16), rows=st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_ragged_feeding_equals_a_full_forward(make_lm, seed, rows):
    lm, rng = make_lm(), random.Random(seed)
    decoder, fed = RaggedDecoder(lm, rows), [[] for _ in range(rows)]
    for _ in range(6):
        new = [[rng.randrange(len(lm.tokenizer)) for _ in range(rng.choice([0, 1, 3, 7]))] for _ in fed]
        if not any(new):
            continue
        logits = decoder.feed(new)
        for row, (ids, added) in enumerate(zip(fed, new, strict=True)):
            ids += added
            if added:
                with torch.no_grad():
                    expected = lm.logits(lm.hidden(torch.tensor([ids])))[0, -1]
                torch.testing.assert_close(logits[row], expected, atol=1e-4, rtol=1e-4)
        if len(fed) > 1 and rng.random() < 0.3:
            kept = sorted(rng.sample(range(len(fed)), len(fed) - 1))
            decoder.keep(kept)
            fed = [fed[i] for i in kept]


def test_growth_past_the_first_block(lm):
    decoder = RaggedDecoder(lm, 1)
    ids = [i % 50 + 10 for i in range(decoder.BLOCK + 40)]
    decoder.feed([ids[:-1]])
    with torch.no_grad():
        expected = lm.logits(lm.hidden(torch.tensor([ids])))[0, -1]
    torch.testing.assert_close(decoder.feed([ids[-1:]])[0], expected, atol=1e-4, rtol=1e-4)


def test_feeding_nothing_is_refused(lm):
    with pytest.raises(ValueError, match="at least one new token"):
        RaggedDecoder(lm, 2).feed([[], []])
