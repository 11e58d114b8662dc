"""Policies behind an endpoint, over HTTP, against a real server around a small model."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import toy_env  # noqa: F401 - registers Toy/Coin-v0
import vowel_env  # noqa: F401 - registers Test/Vowels-v0
from chat_model import chat_model
from completions_server import Server

from envrl.agents.config import TrainConfig
from envrl.agents.eval_command import evaluate
from envrl.agents.eval_config import EvalConfig
from envrl.agents.models import load_model, with_lora
from envrl.agents.policies.distributions import policy_forward
from envrl.agents.policies.endpoint import Endpoint, EndpointError, EndpointPolicy, read_completion
from envrl.agents.policies.settings import PolicySettings, chat_policy, make_format, make_policy
from envrl.agents.rollout import Task, rollout
from envrl.agents.tasks import make_envs
from envrl.agents.trainer import train
from envrl.envs.errors import EnvRLError

TEXTS = ["You are in the hall. A coin is hidden somewhere.", "go to attic", "look", "take coin"] * 20


@pytest.fixture(scope="module")
def lm():
    return chat_model(TEXTS)


def play(policy, episodes=4, max_tokens=700, seed=0):
    tasks = [Task(f"coin-{i % 8}", i) for i in range(episodes)]
    return rollout(
        make_envs("Toy/Coin-v0", episodes, None, {}), tasks, policy, (seed,), max_tokens=max_tokens
    )


def policy_at(server, lm, temperature=1.0, timeout=30.0, tries=1, **changes):
    settings = PolicySettings(policy="endpoint", max_response_tokens=5, **changes)
    endpoint = Endpoint(server.url, "base", timeout, tries)
    return EndpointPolicy(endpoint, lm, make_format(lm, settings), temperature=temperature, longest=5)


@pytest.mark.parametrize("ids_as_text", [False, True])
def test_ids_and_log_probabilities_are_those_of_the_server(lm, ids_as_text):
    with Server(lm, ids_as_text=ids_as_text) as server:
        episodes = play(policy_at(server, lm))
    assert all(e.fault is None and e.transitions for e in episodes)
    sequences = [s for e in episodes for s in e.sequences]
    with torch.no_grad():
        logprobs = policy_forward(lm, sequences).logprobs
    sampled = torch.tensor([d.logprob for s in sequences for d in s.decisions])
    assert len(sampled) > 50
    torch.testing.assert_close(logprobs, sampled, atol=2e-4, rtol=2e-4)
    prompts = [payload["prompt"] for _, payload in server.requests]
    assert all(isinstance(i, int) for prompt in prompts for i in prompt)
    for _, payload in server.requests:  # whatever the server's defaults are
        assert (payload["top_p"], payload["top_k"], payload["min_p"]) == (1.0, -1, 0.0)
        assert payload["repetition_penalty"] == 1.0
    # the server is asked for exactly what is trained on
    for episode in episodes:
        first_action = episode.tokens.actions[0][0]
        assert episode.tokens.ids[:first_action] in prompts


def test_it_generates_what_the_model_here_would(lm):
    settings = PolicySettings(policy="generate", max_response_tokens=5)
    here = play(make_policy(lm, make_format(lm, settings), settings, 0.0))
    with Server(lm) as server:
        there = play(policy_at(server, lm, temperature=0.0))
    assert [[t.action for t in e.transitions] for e in here] == [
        [t.action for t in e.transitions] for e in there
    ]
    assert [e.tokens.ids for e in here] == [e.tokens.ids for e in there]


def test_trouble_costs_the_episode_it_happens_in(lm):
    """Every kind of failure, each in one episode; the others come out as if there had been none."""
    with Server(lm) as server:
        sound = play(policy_at(server, lm), 8)
        firsts = [(e.tokens.ids[: e.tokens.actions[2][0]]) for e in sound]
    troubles = [
        (500, "out of memory"),
        (200, "not json"),
        (200, "[1, 2]"),
        (200, json.dumps({"choices": []})),
        (200, json.dumps({"choices": [{"token_ids": [10**9], "logprobs": {"token_logprobs": [-1.0]}}]})),
        (200, json.dumps({"choices": [{"token_ids": [1, 2], "logprobs": {"token_logprobs": [-1.0]}}]})),
        "hang",
    ]

    def trouble(number, payload):
        """In the third turn of each episode but the last."""
        return troubles[firsts.index(payload["prompt"])] if payload["prompt"] in firsts[:7] else None

    with Server(lm, trouble) as server:
        episodes = play(policy_at(server, lm, timeout=2.0), 8)
    assert [e.fault is not None for e in episodes] == [True] * 7 + [False]
    assert [len(e.transitions) for e in episodes[:7]] == [2] * 7
    assert "out of memory" in episodes[0].fault and "Timeout" in episodes[6].fault
    assert episodes[7].tokens == sound[7].tokens
    for faulted, whole in zip(episodes[:7], sound, strict=False):
        assert faulted.tokens.ids == whole.tokens.ids[: len(faulted.tokens.ids)]


def test_what_failed_is_tried_again(lm):
    def trouble(number, payload):
        return (503, "busy") if number < 2 else None

    with Server(lm, trouble) as server:
        endpoint = Endpoint(server.url, "base", tries=3)
        assert endpoint.post("completions", {**REQUEST, "prompt": [5]})["choices"]
        assert len(server.requests) == 3
        with pytest.raises(EndpointError, match="404 no model x"):
            endpoint.post("completions", {**REQUEST, "model": "x", "prompt": [5]})
        assert len(server.requests) == 4  # a wrong request is not sent again


REQUEST = {"model": "base", "max_tokens": 2, "temperature": 1.0, "seed": 0}


def test_nobody_there(lm):
    with Server(lm) as server:
        policy = policy_at(server, lm)
    episodes = play(policy, 2)
    assert all("ConnectError" in e.fault for e in episodes)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({}, KeyError),
        ({"choices": [{"logprobs": None, "token_ids": [1]}]}, TypeError),
        ({"choices": [{"token_ids": [1.5], "logprobs": {"token_logprobs": [-1.0]}}]}, ValueError),
        ({"choices": [{"token_ids": [], "logprobs": {"token_logprobs": []}}]}, ValueError),
        ({"choices": [{"token_ids": [1], "logprobs": {"token_logprobs": [float("nan")]}}]}, ValueError),
        ({"choices": [{"token_ids": [1], "logprobs": {"token_logprobs": [2.0]}}]}, ValueError),
        ({"choices": [{"logprobs": {"tokens": ["the"], "token_logprobs": [-1.0]}}]}, ValueError),
    ],
)
def test_rubbish_is_refused(answer, error):
    with pytest.raises(error):
        read_completion(answer, 100)


def test_an_endpoint_needs_a_place_and_a_name():
    with pytest.raises(EnvRLError, match="--endpoint"):
        Endpoint("", "base")


def test_the_key_of_the_environment_is_sent(lm, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert Endpoint("http://127.0.0.1:9/v1", "m")._client.headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize("context", ["concat", "step"])
def test_chat(lm, context):
    with Server(lm) as server:
        settings = PolicySettings(
            policy="endpoint",
            endpoint=server.url,
            endpoint_model="base",
            context=context,
            max_response_tokens=5,
            instructions="Play.",
        )
        (episode,) = play(chat_policy(settings, 0.0), 1)
    assert episode.fault is None and len(episode.transitions) == 20 and episode.sequences == []
    messages = [payload["messages"] for _, payload in server.requests]
    assert messages[0][0] == {"role": "system", "content": "Play."}
    assert (
        "bring the coin to the hall" in messages[0][1]["content"]
        and "note[<text>]" in messages[0][1]["content"]
    )
    assert [len(m) for m in messages[:3]] == ([2, 4, 6] if context == "concat" else [2, 2, 2])
    last = messages[3]
    done = [t.action for t in episode.transitions[:3]]
    if context == "concat":
        assert [m["content"].strip() for m in last[2::2]] == done
        assert last[3]["content"].startswith(episode.transitions[0].next_observation)
    else:
        assert all(action in last[1]["content"] for action in done[1:])


def test_evaluation_from_the_command_line(lm, tmp_path):
    with Server(lm) as server:
        config = EvalConfig(
            endpoint=server.url, endpoint_model="base", env="Toy/Coin-v0", episodes=2, output=tmp_path,
            max_response_tokens=4,
        )  # fmt: skip
        result = evaluate(config)
    assert result.n == 2 and result.faulted == 0
    assert json.loads((tmp_path / "evaluation.json").read_text())["n"] == 2


def run(folder: Path, base: Path, url: str, **changes) -> TrainConfig:
    config = TrainConfig(
        env="Test/Vowels-v0", split="", eval_split="", model=str(base), lora_rank=2, output=folder,
        policy="endpoint", endpoint=url, endpoint_model="base", endpoint_sync="lora", max_response_tokens=4,
        sft_episodes=0, updates=3, groups=2, group_size=2, minibatches=1, eval_episodes=2, lr=1e-2, warmup=0,
        state_prediction=0.0, inverse_dynamics=0.0, max_episode_tokens=500,
        algorithm="grpo", threads=1,
    )  # fmt: skip
    return replace(config, **changes)


def test_training_with_a_server_that_loads_each_version(lm, tmp_path):
    lm.save(tmp_path / "base")
    base = load_model(str(tmp_path / "base"))
    with Server(base) as server:
        train(run(tmp_path / "run", tmp_path / "base", server.url))
        loaded = [p["lora_name"] for path, p in server.requests if path == "load_lora_adapter"]
        asked = {p["model"] for path, p in server.requests if path == "completions"}
        assert loaded == ["run-0-0", "run-0-1", "run-0-2"] and set(loaded) <= asked
        assert set(server.models) == {"base", "run-0-2"}  # earlier versions are dropped
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["rollout/faulted"] for row in rows] == [0, 0, 0]
    assert any(row["grad/policy"] > 0 for row in rows)
    assert all(row["policy/clipped"] < 0.2 for row in rows)  # the server acts as the model that learns


def test_versions_that_cannot_be_loaded_fault_their_episodes(lm, tmp_path):
    lm.save(tmp_path / "base")
    learner = with_lora(load_model(str(tmp_path / "base")), rank=2)

    def trouble(number, payload):
        return (500, "no room") if "lora_name" in payload and payload["lora_name"] == "a-1" else None

    with Server(load_model(str(tmp_path / "base")), trouble) as server:
        policy = policy_at(server, learner)
        policy.publish(tmp_path / "versions", "a-0")
        assert all(e.fault is None for e in play(policy, 2))
        policy.publish(tmp_path / "versions", "a-1")
        assert all("no room" in e.fault for e in play(policy, 2))
        policy.publish(tmp_path / "versions", "a-2")
        assert all(e.fault is None for e in play(policy, 2))


def test_a_run_whose_server_is_gone_stops(lm, tmp_path):
    lm.save(tmp_path / "base")
    with pytest.raises(EnvRLError, match="every episode of 3 updates is faulted"):
        train(
            run(tmp_path / "run", tmp_path / "base", "http://127.0.0.1:9/v1", endpoint_sync="none", updates=9)
        )
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [(row["rollout/faulted"], row["train/success_rate"]) for row in rows] == [(4, None), (4, None)]
