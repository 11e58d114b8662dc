"""Reward of a finished conversation: the state's delta and the outputs against what the task wants."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from envrl.envs.envfactory.conversation import Conversation, given
from envrl.envs.envfactory.delta import Change, compare
from envrl.envs.envfactory.task import Task

RewardKind = Literal["strict", "partial"]


class RewardParts(NamedTuple):
    """What a reward is made of.

    success: the delta matches and all outputs were given. delta_wanted, delta_found: changes wanted, and
    how many of them were made. collateral: changes that nobody wanted. outputs_wanted, outputs_found: the same
    for outputs.
    """

    success: bool
    delta_wanted: int
    delta_found: int
    collateral: int
    outputs_wanted: int
    outputs_found: int

    @property
    def partial(self) -> float:
        """Share of wanted changes and outputs, less collateral damage in the same measure; 0 to 1.

        1.0 exactly for a success; whoever does nothing gets 0.
        """
        wanted = self.delta_wanted + self.outputs_wanted
        right = self.delta_found + self.outputs_found - self.collateral
        return max(0.0, right / wanted) if wanted else 0.0


def judge(task: Task, changes: Sequence[Change], at: Conversation) -> RewardParts:
    """Compare where things stand with what the task wants.

    Args:
        task: the task.
        changes: from the initial to the present state, paths with the toolkits' names.
        at: the conversation.
    """
    agreement = compare(task.changes, changes, task.rules)
    outputs = given(task.outputs, at)
    return RewardParts(
        agreement.full and all(outputs),
        agreement.wanted,
        agreement.found,
        len(agreement.collateral),
        len(outputs),
        sum(outputs),
    )
