"""What an update consists of: rows, passes and optimiser steps, and what one process has of them.

How long episodes will be is not known before they are played. Numbers of steps are therefore the most that a time limit
allows, and an observation counts as long as the first ones are.
"""

from dataclasses import dataclass

from envrl.agents.cache import RaggedDecoder
from envrl.agents.config import TrainConfig
from envrl.agents.objective_rows import MAX_TARGET_TOKENS
from envrl.agents.planning.layout import Layout
from envrl.agents.planning.memory import Work
from envrl.agents.planning.openings import Lengths

#: episodes that an evaluation plays side by side
_EVALUATED = 128


@dataclass(frozen=True)
class BatchPlan:
    """An update of the reinforcement stage, in numbers; a pass is a forward and a backward pass.

    episodes: of an update. groups: of a process, at most. steps: most steps of an episode. row: tokens of a training
    row whose observations are as long as the first. longest_prompt, longest_row: tokens where all limits are reached.
    rows: most of an update. minibatch_rows: most of a minibatch. rows_per_pass: as many as ``batch_tokens`` holds.
    passes: most of a minibatch in one process. optimizer_steps, env_steps: of the whole stage, the latter at most.
    work: the most that a process works on at once.
    """

    episodes: int
    groups: int
    steps: int
    row: int
    longest_prompt: int
    longest_row: int
    rows: int
    minibatch_rows: int
    rows_per_pass: int
    passes: int
    optimizer_steps: int
    env_steps: int
    work: Work


def plan_batches(
    config: TrainConfig, lengths: Lengths, layout: Layout, steps: int, limit: int | None
) -> BatchPlan:
    """The batch plan of a run.

    Args:
        config: settings of the run.
        lengths: of the parts of an episode.
        layout: of the processes.
        steps: the environment's time limit.
        limit: the longest sequence that the model was made for, if it says.
    """
    limit = config.max_episode_tokens or limit
    episodes = config.groups * config.group_size
    row_steps = 1 if config.context == "step" else steps
    rows = episodes * steps // row_steps
    minibatch_rows = -(-rows // config.minibatches)
    _, row = _row(config, lengths, steps, lengths.observation, limit)
    longest_prompt, longest_row = _row(config, lengths, steps, config.max_observation_tokens, limit)
    # whole actions that are chosen among stand beside the sequence
    scored = lengths.offered if config.policy == "score" else 0
    longest = longest_row + row_steps * scored
    rows_per_pass = min(max(1, config.batch_tokens // (row + row_steps * scored)), minibatch_rows)
    tokens = max(longest, min(config.batch_tokens, minibatch_rows * longest))
    groups = -(-config.groups // layout.processes)
    steps_per_pass = rows_per_pass * row_steps
    decisions = steps_per_pass * (scored or _action(config, lengths))
    targets = steps_per_pass * min(MAX_TARGET_TOKENS, lengths.observation)
    evaluated = -(-min(_EVALUATED, config.eval_episodes) // layout.processes)
    playing = 0 if config.policy == "endpoint" else max(groups * config.group_size, evaluated)
    return BatchPlan(
        episodes=episodes,
        groups=groups,
        steps=steps,
        row=row,
        longest_prompt=longest_prompt,
        longest_row=longest_row,
        rows=rows,
        minibatch_rows=minibatch_rows,
        rows_per_pass=rows_per_pass,
        passes=-(-minibatch_rows // (rows_per_pass * layout.processes)),
        optimizer_steps=config.updates * config.epochs * config.minibatches,
        env_steps=config.updates * episodes * steps,
        work=Work(
            tokens=tokens,
            decisions=min(tokens, decisions),
            targets=min(tokens, targets) if config.state_prediction else 0,
            episodes=playing,
            capacity=-(-(longest_row + scored) // RaggedDecoder.BLOCK) * RaggedDecoder.BLOCK,
            prefill=min(
                playing * (longest_prompt if config.context == "step" else max(lengths.prompts)),
                RaggedDecoder.LARGEST,
            ),
        ),
    )


def _row(
    config: TrainConfig, lengths: Lengths, steps: int, observation: int, limit: int | None
) -> tuple[int, int]:
    """Tokens of the longest prompt and of the longest training row, if observations have ``observation`` tokens."""
    first, action = max(lengths.prompts), _action(config, lengths)
    if config.context == "step":
        prompt = first + min(config.history, steps - 1) * (observation + action)
        if config.max_prompt_tokens:
            prompt = max(first, min(prompt, config.max_prompt_tokens))
        row = prompt + action + observation
    else:
        row = first + steps * (action + observation + lengths.frame)
        row = min(row, limit) if limit else row
        prompt = max(first, row - action - observation)
    return prompt, row


def _action(config: TrainConfig, lengths: Lengths) -> int:
    """Most tokens of an action with what is written around it."""
    return config.max_response_tokens if config.policy in ("generate", "endpoint") else lengths.action


def gradient_copies(config: TrainConfig) -> int:
    """Gradients that an update holds at once.

    Two where all losses go backward together (the parameters' own, and the same scaled down); three where the
    objectives' gradient is kept apart from the policy's until their norms are known.
    """
    return 3 if _predicts(config) and (config.aux_cap or not _together(config)) else 2


def together(config: TrainConfig) -> bool:
    """Whether state prediction and the policy share a backward pass."""
    return config.state_prediction > 0 and _together(config)


def _together(config: TrainConfig) -> bool:
    return config.aux_mode == "inline" and config.aux_targets == "true"


def _predicts(config: TrainConfig) -> bool:
    return bool(config.state_prediction or config.inverse_dynamics)
