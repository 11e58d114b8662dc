from dataclasses import replace

import numpy as np
import pytest
from learning import episodes_of

from envrl.agents.collect import collect, has_information
from envrl.agents.config import TrainConfig
from envrl.agents.demonstrate import record_demonstrations
from envrl.agents.heads import Heads
from envrl.agents.imitation import demonstrations
from envrl.agents.metrics import rollout_metrics
from envrl.agents.policies.constrained import ConstrainedPolicy
from envrl.agents.policies.scripted import ImitablePolicy
from envrl.agents.rollout import Episode, Task
from envrl.agents.samples import make_samples, step_rewards
from envrl.agents.tagged_format import TaggedFormat
from envrl.agents.tasks import make_envs
from envrl.envs.errors import EnvRLError, WrongUse
from envrl.wrappers.recording import iter_episodes

CONFIG = TrainConfig(algorithm="grpo")

#: the environment's own rewards
RAW = lambda episode: episode.rewards  # noqa: E731


@pytest.fixture
def episodes(lm, expert_episodes):
    return episodes_of(lm, expert_episodes)


def test_won_episodes_of_a_group_are_better_than_lost_ones(lm, episodes):
    samples = make_samples(episodes, CONFIG, lm, Heads())
    assert [float(np.sign(s.advantages[0])) for s in samples] == [1, -1, -1] * 2
    assert all(s.informative for s in samples)


def test_a_faulted_episode_leaves_its_group(lm, episodes):
    """The others' numbers are those of a group that never had it."""
    episodes[1].fault = "the server died"
    samples = make_samples(episodes, CONFIG, lm, Heads())
    assert [s.transitions for s in samples] == [e.transitions for i, e in enumerate(episodes) if i != 1]
    without = make_samples([e for i, e in enumerate(episodes) if i != 1], CONFIG, lm, Heads())
    for a, b in zip(samples, without, strict=True):
        np.testing.assert_array_equal(a.advantages, b.advantages)


def test_anchors_by_state_key_or_by_observation(lm, episodes):
    """Two states that look alike are one anchor by observation and two by state."""
    config = TrainConfig(algorithm="gigpo", invalid_penalty=0.0)
    first = [episodes[0], episodes[1]]
    for number, episode in enumerate(first):
        episode.group = 0
        episode.transitions[0] = replace(
            episode.transitions[0],
            observation="a room",
            admissible_actions=("look",),
            state_key=f"state-{number}",
        )
    alike = make_samples(first, config, lm, Heads())
    apart = make_samples(first, replace(config, anchor="state_key"), lm, Heads())
    episode_part = make_samples(first, replace(config, algorithm="grpo"), lm, Heads())
    for a, b, e in zip(alike, apart, episode_part, strict=True):
        assert a.advantages[0] != e.advantages[0]  # compared with the other's step
        assert b.advantages[0] == e.advantages[0]  # alone at its anchor


def test_invalid_actions_cost_and_rewards_are_scaled(lm, episodes):
    config = replace(CONFIG, gamma=1.0, normalize_std=False, reward_scale=10.0, invalid_penalty=0.5)
    for episode in episodes[:3]:
        episode.transitions[0] = replace(episode.transitions[0], action_status="inadmissible")
        episode.transitions[1:] = [replace(t, action_status="ok") for t in episode.transitions[1:]]
    episodes[1].transitions[0] = replace(episodes[1].transitions[0], action_status="ok")
    # returns 10 - 0.5, 0, -0.5: mean 3
    samples = make_samples(episodes[:3], config, lm, Heads())
    assert [s.advantages[0] for s in samples] == pytest.approx([6.5, -3.0, -3.5])


def test_an_action_whose_status_is_unknown_costs_nothing(episodes):
    """Environments of others do not say whether an action was valid."""
    rows = [replace(t, action_status=None, reward=1.0) for t in episodes[0].transitions[:2]]
    assert step_rewards(rows, replace(CONFIG, invalid_penalty=0.5)) == [1.0, 1.0]
    assert rollout_metrics([Episode(0, "", rows)])["policy/invalid_rate"] == 0.0


def test_an_anchor_that_the_environment_does_not_give_is_refused(lm, episodes):
    """Else all steps of a group would count as taken in one state."""
    episodes[0].transitions[0] = replace(episodes[0].transitions[0], state_key=None)
    with pytest.raises(WrongUse, match="set anchor=observation"):
        make_samples(episodes, TrainConfig(algorithm="gigpo", anchor="state_key"), lm, Heads())
    assert make_samples(episodes, TrainConfig(algorithm="grpo", anchor="state_key"), lm, Heads())


def test_a_partial_reward_counts_for_nothing_where_success_does(episodes):
    rows = [replace(t, reward=0.5, action_status="ok", is_success=False) for t in episodes[0].transitions[:4]]
    rows[1] = replace(rows[1], action_status="inadmissible")
    rows[2:] = [replace(t, is_success=True) for t in rows[2:]]
    config = TrainConfig(reward="success", reward_scale=10.0, invalid_penalty=0.1)
    assert step_rewards(rows, config) == pytest.approx([0.0, -0.1, 10.0, 0.0])
    assert step_rewards(rows, replace(config, reward="environment")) == pytest.approx([5.0, 4.9, 5.0, 5.0])


def test_factors_fall_with_the_return_of_the_group(lm, episodes):
    """One of three won: two thirds."""
    samples = make_samples(episodes, replace(CONFIG, aux_by_return=True), lm, Heads())
    assert [s.factor for s in samples] == pytest.approx([2 / 3] * 6)
    assert [s.factor for s in make_samples(episodes, CONFIG, lm, Heads())] == [1.0] * 6


@pytest.mark.parametrize(("bootstrap", "value"), [(False, 0.0), (True, 2.0)])
def test_the_state_after_the_last_step(lm, episodes, bootstrap, value):
    """A critic that says 2 everywhere: what ran out of steps is worth 2 with bootstrap, else 0; what ended, 0."""
    heads = Heads.build(lm, critic=True, adapter=False, rank=0, seed=0)
    heads.value.out.bias.data.fill_(2.0)
    config = TrainConfig(
        algorithm="ppo", bootstrap=bootstrap, step_gamma=0.5, gae_lambda=0.0, invalid_penalty=0.0
    )
    won, lost = make_samples([episodes[0], episodes[1]], config, lm, heads)
    assert won.value_targets[-1] == pytest.approx(1.0)
    assert lost.value_targets[-1] == pytest.approx(0.5 * value)
    assert won.value_targets[0] == pytest.approx(0.0 + 0.5 * 2.0)
    assert won.values.tolist() == pytest.approx([2.0] * len(won.transitions))


@pytest.mark.parametrize("env_id", ["EnvRL/WebShop-v0", "EnvRL/EnvFactory-v0"])
def test_open_actions_of_recorded_experts_are_imitated(lm, tmp_path, env_id):
    """A search, a tool call, a message: each is what a template of the environment allows."""
    (env,) = make_envs(env_id, 1, "train", {})
    record_demonstrations(
        env,
        tmp_path / "expert",
        ImitablePolicy(),
        3,
        0,
        label="imitable",
        split="train",
        progress=lambda: None,
    )
    episodes = list(iter_episodes(tmp_path / "expert"))
    found = demonstrations(episodes, ConstrainedPolicy(lm, TaggedFormat(lm)))
    for row in found:
        acted = {d.step for d in row.tokens.decisions}
        assert acted >= {t for t, step in enumerate(row.transitions) if step.extras.get("action_templates")}
    lost = [[replace(step, is_success=False) for step in rows] for rows in episodes]
    with pytest.raises(EnvRLError, match="nothing to imitate: of 3 recorded episodes 0 were won"):
        demonstrations(lost, ConstrainedPolicy(lm, TaggedFormat(lm)))


def as_group(episodes: list[Episode], outcomes: list[float], group: int) -> list[Episode]:
    """Copies of an episode with other rewards at its end."""
    (template, *_) = episodes
    made = []
    for outcome in outcomes:
        rows = [*template.transitions[:-1], replace(template.transitions[-1], reward=outcome)]
        made.append(Episode(group, template.task_id, rows, template.sequences))
    return made


def test_information_of_a_group(episodes):
    assert has_information(as_group(episodes, [1.0, 0.0], 0), 0.9, RAW)
    assert not has_information(as_group(episodes, [1.0, 1.0], 0), 0.9, RAW)
    faulted = as_group(episodes, [1.0, 0.0], 0)
    faulted[1].fault = "gone"
    assert not has_information(faulted, 0.9, RAW)


class Script:
    """Plays rounds of groups whose outcomes are written down, and notes how many groups were asked for."""

    def __init__(self, episodes, *rounds):
        self.episodes, self.rounds, self.drawn = episodes, rounds, []

    def draw(self, groups, number):
        self.drawn.append(groups)
        return [Task(f"task-{number}-{g}", g) for g in range(groups) for _ in range(2)]

    def play(self, tasks, number):
        groups = list(dict.fromkeys(t.group for t in tasks))
        return [e for g in groups for e in as_group(self.episodes, self.rounds[number][g], g)]


GOOD, WON, LOST = [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]


def test_groups_without_information_are_drawn_anew(episodes):
    script = Script(episodes, [GOOD, WON, LOST], [LOST, GOOD], [GOOD])
    chosen, everything = collect(script.play, script.draw, 3, 5, 0.9, RAW)
    assert script.drawn == [3, 2, 1]
    assert [e.group for e in chosen] == [0, 0, 1, 1, 2, 2]
    assert all(has_information([e for e in chosen if e.group == g], 0.9, RAW) for g in range(3))
    assert len(everything) == 12


def test_redrawing_is_bounded(episodes):
    script = Script(episodes, [LOST, WON], [LOST, WON], [WON, GOOD])
    chosen, everything = collect(script.play, script.draw, 2, 2, 0.9, RAW)
    assert script.drawn == [2, 2, 2]
    assert len(chosen) == 4 and len(everything) == 12
    assert [e.rewards[-1] for e in chosen] == [1.0, 0.0, 1.0, 1.0]  # a place filled, a place kept


def test_without_redraws_the_rollout_is_taken_as_it_is(episodes):
    script = Script(episodes, [LOST, WON])
    chosen, everything = collect(script.play, script.draw, 2, 0, 0.9, RAW)
    assert chosen == everything and script.drawn == [2]
