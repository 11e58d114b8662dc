import pytest
import torch

from envrl.agents.heads import Heads
from envrl.envs.errors import WrongUse


@pytest.mark.parametrize("rank", [0, 3])
def test_an_adapter_begins_as_the_output_layer(lm, rank):
    heads = Heads.build(lm, critic=False, adapter=True, rank=rank, seed=0)
    hidden = torch.randn(5, lm.model.config.hidden_size)
    torch.testing.assert_close(heads.objectives(hidden), lm.logits(hidden))


def test_a_low_rank_adapter_follows_the_output_layer_and_a_full_one_does_not(lm):
    low, full = (Heads.build(lm, critic=False, adapter=True, rank=r, seed=0).objectives for r in (3, 0))
    hidden = torch.randn(5, lm.model.config.hidden_size)
    before = full(hidden).detach()
    with torch.no_grad():
        lm.model.get_output_embeddings().weight.mul_(2)
    torch.testing.assert_close(low(hidden), lm.logits(hidden))
    torch.testing.assert_close(full(hidden), before)


def test_a_critic_begins_at_zero(lm):
    heads = Heads.build(lm, critic=True, adapter=False, rank=0, seed=0)
    values = heads.value(torch.randn(2, 3, lm.model.config.hidden_size))
    assert values.shape == (2, 3) and not values.any()


def test_heads_are_saved_and_loaded(lm, tmp_path):
    saved = Heads.build(lm, critic=True, adapter=True, rank=3, seed=0)
    for parameter in saved.parameters():
        torch.nn.init.normal_(parameter)
    saved.save(tmp_path)
    loaded = Heads.build(lm, critic=True, adapter=True, rank=3, seed=1)
    loaded.load(tmp_path)
    for a, b in zip(saved.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(a, b)
    critic_only = Heads.build(lm, critic=True, adapter=False, rank=3, seed=1)
    critic_only.load(tmp_path)
    assert torch.equal(critic_only.value.out.weight, saved.value.out.weight)


def test_no_heads_write_nothing(lm, tmp_path):
    Heads().save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_rank_is_refused(lm, tmp_path):
    Heads.build(lm, critic=False, adapter=True, rank=3, seed=0).save(tmp_path)
    with pytest.raises(WrongUse, match="use the aux_head_rank of the run"):
        Heads.build(lm, critic=False, adapter=True, rank=4, seed=0).load(tmp_path)
