"""The stages of a run in words, in the order in which the trainer goes through them."""

from envrl.agents.config import TrainConfig


def stages(config: TrainConfig) -> list[str]:
    """What a new run with these settings does, one line a stage."""
    found = []
    imitates = bool((config.sft_episodes or config.demonstrations) and config.sft_updates)
    if imitates or config.model == "tiny":
        found.append(_episodes(config))
    evaluation = (
        f"evaluation: {config.eval_episodes} episodes of {config.eval_split or 'the environment'} "
        f"at temperature {config.eval_temperature:g}"
    )
    if config.eval_episodes:
        found.append(f"{evaluation} (untrained)")
    if imitates:
        found.append(
            f"imitation: {config.sft_updates} updates of about {config.sft_batch_tokens:,} tokens"
            f"{_objectives(config.sft_state_prediction, config.sft_inverse_dynamics)}"
        )
        if config.eval_episodes:
            found.append(evaluation)
    if config.updates:
        every = f", evaluated every {config.eval_every}" if config.eval_every and config.eval_episodes else ""
        objectives = _objectives(config.state_prediction, config.inverse_dynamics, config.aux_schedule)
        found.append(
            f"reinforcement: {config.updates} updates of {config.groups} x {config.group_size} episodes by "
            f"{config.algorithm}{objectives}{every}"
        )
        if config.eval_episodes:
            found.append(evaluation)
    return found


def _episodes(config: TrainConfig) -> str:
    if config.demonstrations is not None:
        return f"recorded episodes: {config.demonstrations}"
    if config.sft_episodes:
        return f"expert episodes: {config.sft_episodes} of the imitable expert on {config.split or 'the environment'}"
    return "random play: 200 episodes, whose words the tokenizer learns"


def _objectives(state: float, inverse: float, schedule: str = "") -> str:
    parts = [
        f"{name} {weight:g}"
        for name, weight in (("state prediction", state), ("inverse dynamics", inverse))
        if weight
    ]
    if not parts:
        return ""
    return f" with {' and '.join(parts)}" + (f", {schedule}" if schedule else "")
