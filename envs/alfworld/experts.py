"""The experts of ALFWorld: one that knows the hidden state, one that only reads, one that also strays."""

from collections.abc import Iterable, Sequence

from envrl.envs.alfworld.explorer import Explorer
from envrl.envs.alfworld.game import Goal
from envrl.envs.alfworld.imitable import ImitableExpert
from envrl.envs.alfworld.privileged import remaining_plan

__all__ = ["Explorer", "ImitableExpert", "imitable_action", "remaining_plan"]


def imitable_action(goal: Goal | str, history: Iterable[tuple[str, str]], admissible: Sequence[str]) -> str:
    """The imitable expert's next command after a history that somebody else may have made.

    Args:
        goal: the goal or its sentence.
        history: (action, observation) pairs since the reset, the first one ("", first observation).
        admissible: commands that are possible now.

    Raises:
        NoExpert: it knows no way to win from here.
    """
    expert = ImitableExpert(goal)
    for action, observation in history:
        expert.observe(observation, action)
    return expert.act(admissible)
