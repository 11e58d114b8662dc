import numpy as np
import pytest
import torch

from envrl.agents.policies.constrained import ConstrainedPolicy
from envrl.agents.policies.distributions import decision_logprobs, inverse_cdf, masked_log_softmax
from envrl.agents.prompts import ActionMenu, Excluded, Offer
from envrl.agents.rollout import Task, rollout
from envrl.agents.scoring import packed_logprobs
from envrl.agents.tagged_format import TaggedFormat
from envrl.agents.tasks import make_envs
from envrl.agents.transcripts import transcribe


def test_masked_log_softmax_by_hand():
    logits = torch.tensor([[0.0, 0.0, 100.0], [0.0, 0.0, 0.0]])
    probabilities = masked_log_softmax(logits, [(0, 1), None]).exp()
    torch.testing.assert_close(probabilities, torch.tensor([[0.5, 0.5, 0.0], [1 / 3] * 3]))
    left = masked_log_softmax(logits, [Excluded((2,)), Excluded((0,))]).exp()
    torch.testing.assert_close(left, torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]))


def test_menu_never_leaves_nothing():
    menu = ActionMenu(("help", "look"))
    assert menu.choices(("go", "help", "look")) == ["go"]
    assert menu.choices(("help", "look")) == ["help", "look"]
    assert menu.offer({"admissible_actions": ("help",), "action_templates": ("search[<q>]",)}) == Offer(
        (), ("search[<q>]",)
    )


def play(lm, temperature=1.0, seed=0, episodes=4):
    envs = make_envs("EnvRL/ALFWorld-v0", 3, "train", {})
    policy = ConstrainedPolicy(lm, TaggedFormat(lm), ActionMenu(("help",)), temperature)
    tasks = [Task(f"procedural/pick_and_place_simple/{i}", i) for i in range(episodes)]
    return policy, rollout(envs, tasks, policy, (seed,), max_tokens=700)


def test_rollout_logprobs_are_those_of_a_full_forward(lm):
    _, episodes = play(lm)
    for episode in episodes:
        with torch.no_grad():
            hidden = lm.hidden(torch.tensor([episode.tokens.ids]))
            logprobs, entropy = decision_logprobs(lm, hidden, [episode.tokens])
        sampled = torch.tensor([d.logprob for d in episode.tokens.decisions])
        torch.testing.assert_close(logprobs, sampled, atol=1e-4, rtol=1e-4)
        assert (entropy >= 0).all()


def test_a_first_prompt_that_is_too_long_costs_its_episode_and_no_forward(lm):
    envs = make_envs("EnvRL/ALFWorld-v0", 1, "train", {})
    policy = ConstrainedPolicy(lm, TaggedFormat(lm), ActionMenu(), 1.0)
    (episode,) = rollout(envs, [Task("procedural/pick_and_place_simple/1", 0)], policy, (0,), max_tokens=10)
    assert episode.fault is not None and "an episode may have 10" in episode.fault
    assert episode.transitions == [] and not episode.success


def test_rollout_tokens_are_those_of_the_recorded_text(lm):
    """Text -> tokens of the recording gives the ids and masks that the rollout trained on."""
    policy, episodes = play(lm)
    for episode in episodes:
        ((_, again),) = transcribe(policy.transcript(), episode.transitions, policy.menu, policy)
        assert again.ids == episode.tokens.ids
        assert (again.actions, again.replies) == (episode.tokens.actions, episode.tokens.replies)
        assert [d[:3] for d in again.decisions] == [d[:3] for d in episode.tokens.decisions]
        for row, (start, end) in zip(episode.transitions, episode.tokens.actions, strict=True):
            assert lm.tokenizer.decode(episode.tokens.ids[start:end]) == row.action
        for row, (start, end) in zip(episode.transitions, episode.tokens.replies, strict=True):
            assert lm.tokenizer.decode(episode.tokens.ids[start:end]) == row.next_observation


def test_actions_are_offered_ones_and_rows_follow_each_other(lm):
    _, episodes = play(lm)
    for episode in episodes:
        assert [t.step for t in episode.transitions] == list(range(len(episode.transitions)))
        assert all(t.action in t.admissible_actions and t.action != "help" for t in episode.transitions)
        for before, after in zip(episode.transitions, episode.transitions[1:], strict=False):
            assert (before.next_observation, before.next_state_key) == (after.observation, after.state_key)
        assert episode.transitions[-1].terminated or episode.transitions[-1].truncated


def test_the_same_seed_gives_the_same_episodes(lm):
    first, second, other = (
        [[t.action for t in e.transitions] for e in play(lm, seed=s)[1]] for s in (5, 5, 6)
    )
    assert first == second != other


def test_inverse_cdf_by_hand():
    probabilities = torch.tensor([[0.25, 0.0, 0.75]] * 4)
    draws = torch.tensor([0.0, 0.24, 0.25, 0.99])
    assert inverse_cdf(probabilities, draws).tolist() == [0, 0, 2, 2]


def test_a_draw_that_is_rounded_up_to_one_takes_the_last_possible_index():
    draws = torch.tensor([1 - 2**-26])
    assert draws.item() == 1.0
    assert inverse_cdf(torch.tensor([[0.25, 0.75, 0.0]]), draws).tolist() == [1]


def test_an_episode_is_sampled_apart_from_the_others(lm):
    """The same episodes whether played in one wave or two, alone or in company."""
    together = play(lm, episodes=5)[1]
    alone = play(lm, episodes=2)[1]
    for a, b in zip(together, alone, strict=False):
        assert [t.action for t in a.transitions] == [t.action for t in b.transitions]


def test_greedy_takes_the_most_probable_token(lm):
    _, episodes = play(lm, temperature=0.0, episodes=1)
    tokens = episodes[0].tokens
    for decision in tokens.decisions[:10]:
        scores = packed_logprobs(lm, tokens.ids[: decision.position], [[i] for i in decision.allowed])
        assert decision.allowed[int(scores.argmax())] == tokens.ids[decision.position]


def test_no_action_at_all_is_an_error(lm):
    session = ConstrainedPolicy(lm, TaggedFormat(lm)).begin([np.random.default_rng(0)])
    with pytest.raises(ValueError, match="offered no action"):
        session.choose([[1]], [Offer()])


def test_negative_temperature_is_refused(lm):
    with pytest.raises(ValueError, match="temperature"):
        ConstrainedPolicy(lm, TaggedFormat(lm), temperature=-1)
