"""The batch plan, worked out by hand."""

from dataclasses import replace

from envrl.agents.config import TrainConfig
from envrl.agents.planning.batch_plan import gradient_copies, plan_batches, together
from envrl.agents.planning.layout import Layout
from envrl.agents.planning.openings import Lengths

LENGTHS = Lengths(prompts=(90, 100), observation=50, frame=10, action=5, offered=60)
WRITES = TrainConfig(
    policy="generate",
    context="step",
    history=2,
    groups=6,
    group_size=4,
    updates=10,
    minibatches=4,
    max_response_tokens=40,
    max_observation_tokens=200,
    max_prompt_tokens=300,
    batch_tokens=1000,
    eval_episodes=0,
)


def test_a_row_a_step():
    plan = plan_batches(WRITES, LENGTHS, Layout(4), steps=20, limit=4096)
    assert plan.episodes == 24 and plan.steps == 20 and plan.rows == 24 * 20
    assert plan.row == (100 + 2 * (50 + 40)) + 40 + 50
    assert plan.longest_prompt == 300  # 100 + 2 x (200 + 40), were there no limit
    assert plan.longest_row == 300 + 40 + 200
    assert plan.minibatch_rows == 120 and plan.rows_per_pass == 1000 // 370
    assert plan.passes == 120 // (2 * 4)
    assert plan.optimizer_steps == 40 and plan.env_steps == 10 * 24 * 20
    assert plan.groups == 2  # of 6 among 4 processes
    work = plan.work
    assert work.tokens == 1000 and work.decisions == 2 * 40 and work.targets == 2 * 50
    assert work.episodes == 8 and work.capacity == 768 and work.prefill == 8 * 300


def test_an_episode_a_row():
    config = replace(WRITES, policy="constrained", context="concat", max_prompt_tokens=0, batch_tokens=5000)
    plan = plan_batches(config, LENGTHS, Layout(), steps=20, limit=4096)
    assert plan.rows == 24 and plan.minibatch_rows == 6
    assert plan.row == 100 + 20 * (5 + 50 + 10)
    assert plan.longest_row == 4096  # 100 + 20 x 215, cut where the model ends
    assert plan.rows_per_pass == 3 and plan.passes == 2
    assert plan.work.tokens == 5000 and plan.work.decisions == 3 * 20 * 5 and plan.work.targets == 3 * 20 * 50
    assert plan.work.prefill == 24 * 100


def test_candidates_stand_beside_the_sequence():
    config = replace(WRITES, policy="score", max_prompt_tokens=0)
    plan = plan_batches(config, LENGTHS, Layout(), steps=20, limit=None)
    assert plan.row == (100 + 2 * 55) + 5 + 50
    assert plan.rows_per_pass == 1000 // (265 + 60) and plan.work.decisions == 3 * 60
    assert plan.longest_row == (100 + 2 * 205) + 5 + 200
    assert plan.work.capacity == 1024  # 715 and 60 beside


def test_one_row_that_is_longer_than_a_pass():
    plan = plan_batches(replace(WRITES, batch_tokens=100), LENGTHS, Layout(), steps=20, limit=None)
    assert plan.rows_per_pass == 1 and plan.work.tokens == plan.longest_row == 540


def test_evaluations_play_up_to_128_episodes_side_by_side():
    layout = Layout(4)
    assert plan_batches(replace(WRITES, eval_episodes=100), LENGTHS, layout, 20, None).work.episodes == 25
    assert plan_batches(replace(WRITES, eval_episodes=500), LENGTHS, layout, 20, None).work.episodes == 32


def test_a_server_keeps_its_own_cache():
    config = replace(WRITES, policy="endpoint")
    assert plan_batches(config, LENGTHS, Layout(), 20, None).work.episodes == 0


def test_gradients_that_are_there_at_once():
    assert gradient_copies(TrainConfig(state_prediction=0, inverse_dynamics=0)) == 2
    assert gradient_copies(TrainConfig(aux_mode="inline", aux_cap=0)) == 2
    assert gradient_copies(TrainConfig(aux_mode="inline", aux_cap=0.5)) == 3
    assert gradient_copies(TrainConfig(aux_mode="pass", aux_cap=0)) == 3
    assert together(TrainConfig(aux_mode="inline")) and not together(TrainConfig(aux_mode="pass"))
    assert not together(TrainConfig(aux_mode="inline", aux_targets="shuffled"))
