"""Memory of a process: sums worked out by hand, and estimates against what autograd really keeps."""

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config

from envrl.agents.cache import RaggedDecoder
from envrl.agents.planning.layout import Layout
from envrl.agents.planning.memory import Shape, Work, activation_bytes, cache_bytes, logit_bytes, memory, peak
from envrl.agents.precision import launched_precision

#: 2 layers of 100 parameters and 50 outside them
SMALL = Shape(
    hidden=4, layers=2, intermediate=8, vocabulary=10, queries=4, keys=2, parameters=250, trainable=250, border=50,
    border_trainable=50,
)  # fmt: skip
WORK = Work(tokens=20, decisions=6, targets=5, episodes=3, capacity=32, prefill=12)


def sizes(**options) -> dict[str, int]:
    layout = options.pop("layout", Layout())
    return {part.name: part.bytes for part in memory(SMALL, WORK, layout, **options)}


def test_one_process_in_32_bits():
    found = sizes(reference=True, copies=3)
    assert found == {
        "weights": 1000,
        "AdamW's moments": 2000,
        "reference policy": 1000,
        "gradients": 3000,
        # 20 tokens x 2 layers x 4 bytes x (6 x 4 + 2 x 4 + 2 x 2 + 4 x 8)
        "activations": 20 * 2 * 4 * 68,
        # 6 tensors of 6 x 10 numbers
        "logits": 6 * 4 * 60,
        # 3 episodes x 32 tokens x 2 layers x keys and values of width 2
        "KV cache": 3 * 32 * 2 * 2 * 2 * 4,
        "reading prompts": 12 * 4 * (4 * 4 + 3 * 8),
        "sampling": 28 * 3 * 10,
    }


def test_shards_split_what_is_kept_and_gather_what_is_used():
    found = sizes(layout=Layout(5, sharded=True, mixed=True), reference=True)
    # what is outside the layers is whole everywhere
    assert found["weights"] == found["reference policy"] == 4 * (50 + 200 // 5)
    assert found["AdamW's moments"] == found["gradients"] == 2 * 4 * (50 + 200 // 5)
    assert found["gathered layers"] == 2 * 2 * 100 and found["layers put together"] == 2 * 200
    # 20 tokens x 2 layers x (26 x 4 + 2 bytes x (2 x 4 + 2 x 2 + 4 x 8))
    assert found["activations"] == 20 * 2 * (104 + 88)
    assert found["KV cache"] == 3 * 32 * 2 * 2 * (4 + 2)


def test_copies_in_each_process():
    found = sizes(layout=Layout(5, mixed=True))
    assert found["weights"] == 1000 and found["weights in 16 bits"] == 500 and "gathered layers" not in found
    assert "reference policy" not in found


def test_recomputed_layers_keep_their_input():
    layout = Layout(2, sharded=True, mixed=True, recompute=True)
    assert activation_bytes(SMALL, 20, layout) == 20 * (2 * 4 * 4 + 192)


def test_logits_are_made_in_parts_and_targets_are_not():
    many = Work(tokens=100, decisions=80, targets=90, episodes=1, capacity=1, prefill=1)
    assert logit_bytes(SMALL, many, part=400, together=False) == max(6 * 4 * 400, 3 * 4 * 900)
    assert logit_bytes(SMALL, many, part=400, together=True) == 6 * 4 * 400 + 3 * 4 * 900


def test_the_peak_is_of_an_update_or_of_a_rollout():
    parts = memory(SMALL, WORK, Layout())
    update = 2000 + 20 * 2 * 4 * 68 + 6 * 4 * 60
    assert peak(parts) == 3000 + update
    long = memory(SMALL, Work(1, 1, 1, episodes=1000, capacity=32, prefill=12), Layout())
    assert peak(long) == 3000 + 1000 * 32 * 32 + 12 * 160 + 28 * 10_000
    assert "KV cache" not in {
        part.name for part in memory(SMALL, Work(1, 1, 1, episodes=0, capacity=0, prefill=0), Layout())
    }


@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_the_cache_is_the_decoders(lm, precision):
    decoder = RaggedDecoder(lm, 3)
    with launched_precision({"ACCELERATE_MIXED_PRECISION": precision}):
        decoder.feed([[1] * 300, [1, 2], [1]])
    held = sum(t.nbytes for layer in decoder._layers for t in (layer.keys, layer.values))
    capacity = 2 * decoder.BLOCK  # 300 tokens in blocks
    work = Work(0, 0, 0, episodes=3, capacity=capacity, prefill=0)
    assert cache_bytes(Shape.of(lm.model), work, Layout(mixed=precision == "bf16")) == held


QWEN = Qwen2Config(
    vocab_size=100, hidden_size=128, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8,
    num_key_value_heads=2, tie_word_embeddings=True,
)  # fmt: skip
LLAMA = LlamaConfig(
    vocab_size=100, hidden_size=64, intermediate_size=192, num_hidden_layers=3, num_attention_heads=2,
    num_key_value_heads=1, tie_word_embeddings=False,
)  # fmt: skip


@pytest.mark.parametrize("config", [QWEN, LLAMA], ids=["qwen2", "llama"])
@pytest.mark.parametrize("mixed", [False, True])
def test_activations_are_what_autograd_keeps(config, mixed):
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).train()
    ids = torch.zeros(1, 256, dtype=torch.long)
    kept: dict[int, int] = {}
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    cast = {tuple(p.shape) for p in model.parameters()} | {tuple(p.shape[::-1]) for p in model.parameters()}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        # weights are counted as such, and so are their casts
        if storage.data_ptr() not in weights and tuple(tensor.shape) not in cast:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor),
        torch.autocast("cpu", torch.bfloat16, enabled=mixed),
    ):
        hidden = model.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
    assert hidden.requires_grad
    shape = Shape.of(model)
    assert shape.layer == sum(p.numel() for p in model.get_decoder().layers[0].parameters())
    assert activation_bytes(shape, 256, Layout(mixed=mixed)) == pytest.approx(sum(kept.values()), rel=0.1)
