"""What holds for every policy, whatever the format and the context, on an environment with an open action."""

import numpy as np
import pytest
import torch
import toy_env  # noqa: F401 - registers Toy/Coin-v0
from chat_model import chat_model

from envrl.agents.models import TinyConfig, build_tiny
from envrl.agents.policies.distributions import candidate_log_softmax, policy_forward
from envrl.agents.policies.settings import PolicySettings, make_format, make_policy
from envrl.agents.prompts import ActionMenu, Candidates, Excluded, Offer
from envrl.agents.rollout import Task, rollout
from envrl.agents.scoring import naive_logprobs
from envrl.agents.tasks import make_envs
from envrl.agents.transcripts import transcribe
from envrl.envs.errors import WrongUse

TEXTS = [
    "You are in the hall. A coin is hidden somewhere.",
    "go to attic",
    "go to cellar",
    "look",
    "take coin",
    "note[red]",
    "bring the coin to the hall",
] * 20
KINDS = ("constrained", "score", "generate")


@pytest.fixture(scope="module")
def models():
    config = TinyConfig(hidden_size=32, layers=2, intermediate_size=64, initializer_range=0.3)
    return {"tiny": build_tiny(TEXTS, config, seed=1), "chat": chat_model(TEXTS)}


def policy_of(models, kind, model="tiny", temperature=1.0, **settings):
    settings = PolicySettings(policy=kind, max_response_tokens=6, **settings)
    lm = models[model]
    return make_policy(lm, make_format(lm, settings), settings, temperature)


def play(policy, episodes=5, seed=0, envs=3, max_tokens=None):
    tasks = [Task(f"coin-{i % 8}", i) for i in range(episodes)]
    return rollout(make_envs("Toy/Coin-v0", envs, None, {}), tasks, policy, (seed,), max_tokens=max_tokens)


@pytest.mark.parametrize("context", ["concat", "step"])
@pytest.mark.parametrize("model", ["tiny", "chat"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_that_learns_gives_the_log_probabilities_that_were_sampled_with(
    models, kind, model, context
):
    policy = policy_of(models, kind, model, 0.7, context=context)
    episodes = play(policy)
    sequences = [s for e in episodes for s in e.sequences]
    assert len(sequences) == (
        len(episodes) if context == "concat" else sum(len(e.transitions) for e in episodes)
    )
    with torch.no_grad():
        forward = policy_forward(policy.lm, sequences, 0.7)
    decisions = [d for s in sequences for d in s.decisions]
    assert len(decisions) > 50
    torch.testing.assert_close(
        forward.logprobs, torch.tensor([d.logprob for d in decisions]), atol=2e-4, rtol=2e-4
    )
    torch.testing.assert_close(
        forward.entropy, torch.tensor([d.entropy for d in decisions]), atol=2e-3, rtol=1e-3
    )


@pytest.mark.parametrize("model", ["tiny", "chat"])
@pytest.mark.parametrize("kind", KINDS)
def test_text_is_that_of_the_ids(models, kind, model):
    policy = policy_of(models, kind, model)
    for episode in play(policy):
        tokens = episode.tokens
        for row, (start, end), (a, b) in zip(
            episode.transitions, tokens.actions, tokens.replies, strict=True
        ):
            written = policy.lm.decode(tokens.ids[start:end])
            assert row.action == written or (kind == "generate" and row.action == written.strip())
            assert policy.lm.decode(tokens.ids[a:b]) == row.next_observation
        positions = {d.position for d in tokens.decisions if d.candidates is None}
        inside = {p for start, end in tokens.actions for p in range(start, end + 1)}
        assert positions <= inside
        if kind == "generate":
            missing = inside - positions  # the end of a response that was cut off
            assert missing <= {end for _, end in tokens.actions}


@pytest.mark.parametrize("kind", ["constrained", "score"])
def test_open_actions_are_filled_and_well_formed(models, kind):
    policy = policy_of(models, kind, "chat")
    actions = {t.action: t.action_status for e in play(policy, 40, envs=20) for t in e.transitions}
    assert set(actions.values()) == {"ok"}
    notes = [a for a in actions if a.startswith("note[")]
    assert len(notes) > 3 and all(a.endswith("]") and a.count("]") == 1 for a in notes)


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_actions_become_the_decisions_of_the_policy(models, kind):
    """Sampled log-probabilities apart, an episode reads alike when it was recorded and when it was played."""
    policy = policy_of(models, kind)
    checked = 0
    for episode in play(policy, 12, envs=12):
        # what was sampled into a blank may be other ids than those of its text
        sure = [t.action_status == "ok" and not t.action.startswith("note") for t in episode.transitions]
        steps = episode.transitions[: sure.index(False) if False in sure else None]
        if not steps:
            continue
        ((_, again),) = transcribe(policy.transcript(), steps, policy.menu, policy)
        assert again.ids == episode.tokens.ids[: len(again.ids)]
        played = [d for d in episode.tokens.decisions if d.step < len(steps)]
        assert [(d.position, d.step, d.allowed, d.candidates) for d in again.decisions] == [
            (d.position, d.step, d.allowed, d.candidates) for d in played
        ]
        checked += len(steps)
    assert checked > 2 or kind == "generate"


@pytest.mark.parametrize("kind", KINDS)
def test_a_demonstrated_open_action_has_decisions(models, kind):
    policy = policy_of(models, kind, "chat")
    choice = policy.demonstrated("note[red hall]", Offer(("look",), ("note[<text>]",)))
    assert policy.lm.decode(choice.ids[:-1]) == "note[red hall]"
    free = [d for d in choice.decisions if d.candidates is None]
    content = [d for d in free if kind == "generate" or isinstance(d.allowed, Excluded)]
    assert len(content) >= 3
    if kind == "score":
        assert choice.decisions[0].candidates.chosen == 1
    unknown = policy.demonstrated("fly", Offer(("look",), ("note[<text>]",)))
    assert unknown.text == "fly" and bool(unknown.decisions) == (kind == "generate")


@pytest.mark.parametrize("per_token", [False, True])
def test_scores_are_those_of_one_forward_per_candidate(models, per_token):
    policy = policy_of(models, "score", "chat", score_per_token=per_token)
    seen = 0
    for episode in play(policy, 3):
        for d in episode.tokens.decisions:
            if d.candidates is None:
                continue
            seen += 1
            totals = naive_logprobs(policy.lm, episode.tokens.ids[: d.position], d.candidates.ids)
            if per_token:
                totals = totals / torch.tensor([len(c) for c in d.candidates.ids])
            logprobs = torch.log_softmax(totals, -1).detach()
            assert logprobs[d.candidates.chosen].item() == pytest.approx(d.logprob, abs=2e-4)
    assert seen > 10


def test_candidates_by_hand():
    totals = torch.log(torch.tensor([0.2, 0.3, 1.0]))
    # the third has no ids of its own and stands for all other text: 1 - 0.2 - 0.3
    got = candidate_log_softmax(totals, Candidates(((1, 2), (3,), ()), 0), 1.0).exp()
    torch.testing.assert_close(got, torch.tensor([0.2, 0.3, 0.5]))
    # geometric means sqrt(0.04) = 0.2 and 0.3 -> 0.4, 0.6
    got = candidate_log_softmax(
        torch.log(torch.tensor([0.04, 0.3])), Candidates(((1, 2), (3,)), 0, True), 1.0
    ).exp()
    torch.testing.assert_close(got, torch.tensor([0.4, 0.6]))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_flow_through_every_decision(models, kind):
    policy = policy_of(models, kind, "chat")
    sequences = [e.tokens for e in play(policy, 2)]
    policy.lm.model.zero_grad()
    logprobs = policy_forward(policy.lm, sequences).logprobs
    before = logprobs.sum().item()
    logprobs.sum().backward()
    with torch.no_grad():
        for parameter in policy.lm.model.parameters():
            parameter += 1e-5 * parameter.grad
        assert policy_forward(policy.lm, sequences).logprobs.sum().item() > before
        for parameter in policy.lm.model.parameters():
            parameter -= 1e-5 * parameter.grad
    policy.lm.model.zero_grad()


@pytest.mark.parametrize("context", ["concat", "step"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_episode_depends_on_no_other(models, kind, context):
    policy = policy_of(models, kind, context=context)
    together = play(policy, 6, envs=6)
    apart = play(policy, 6, envs=1)
    for a, b in zip(together, apart, strict=True):
        assert [t.action for t in a.transitions] == [t.action for t in b.transitions]
        assert [s.ids for s in a.sequences] == [s.ids for s in b.sequences]


@pytest.mark.parametrize("kind", KINDS)
def test_temperature_zero_is_one_way_to_play(models, kind):
    policy = policy_of(models, kind, temperature=0.0)
    first, second = (
        [[t.action for t in e.transitions] for e in play(policy, 3, seed=seed)] for seed in (0, 1)
    )
    assert first == second


def test_a_response_is_cut_off_and_ended(models):
    policy = policy_of(models, "generate")
    stop = policy.format.stop
    for episode in play(policy, 4):
        for start, end in episode.tokens.actions:
            assert end - start <= 6
            assert episode.tokens.ids[end] in (stop, policy.lm.tokenizer.eos_token_id)


def test_a_response_ends_with_the_action():
    lm = chat_model(["<action>look</action>"] * 20)
    settings = PolicySettings(policy="generate", response="tags", max_response_tokens=50)
    policy = make_policy(lm, make_format(lm, settings), settings, 1.0)
    from envrl.agents.policies.generate import Response

    response = Response(policy)
    for token in lm.encode("<think>Hm</think><action>look</action> and more"):
        response.take(token, -1.0)
        if response.done:
            break
    choice = response.choice()
    assert choice.text == "look"
    assert lm.decode(choice.ids) == "<think>Hm</think><action>look</action><|im_end|>"
    assert len(choice.decisions) == len(choice.ids) - 1


def test_what_cannot_be_read_goes_to_the_environment_as_it_is(models):
    policy = policy_of(models, "generate")
    rows = [t for e in play(policy, 4) for t in e.transitions]
    assert {"malformed"} <= {t.action_status for t in rows}


@pytest.mark.parametrize("kind", ["constrained", "score"])
def test_an_offer_of_one_action_is_no_decision(models, kind):
    policy = policy_of(models, kind)
    session = policy.begin([np.random.default_rng(0)])
    prompt = policy.format.prompt("goal", (), "A hall.", Offer(), 0)
    (choice,) = session.choose([prompt], [Offer(("look",))])
    assert (choice.text, choice.decisions) == ("look", [])
    with pytest.raises(WrongUse, match="offered no action"):
        session.choose([prompt], [Offer()])


def test_menu_leaves_out_actions_where_templates_remain():
    assert ActionMenu(("look",)).offer(
        {"admissible_actions": ("look",), "action_templates": ("say <x>",)}
    ) == Offer((), ("say <x>",))
