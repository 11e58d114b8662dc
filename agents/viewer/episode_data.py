"""An episode as plain data for the page."""

from collections.abc import Sequence
from typing import Any

from envrl.agents.viewer.differences import differences
from envrl.agents.viewer.selection import Outline
from envrl.wrappers.transition import Transition

#: alternatives shown beside the action taken
MOST_CHOICES = 6


def episode_data(
    outline: Outline,
    kind: str,
    transitions: Sequence[Transition],
    turns: Sequence[Any] | None,
    metrics: dict[str, Any] | None,
) -> dict[str, Any]:
    """One episode.

    Args:
        outline: which.
        kind: of its task.
        transitions: its steps.
        turns: what the model says of each (`envrl.agents.viewer.replay.Turn`), None without a model.
        metrics: of the update that learned from it, None if unknown.
    """
    first = transitions[0]
    return {
        "id": outline.episode_id,
        "task": outline.task_id,
        "kind": kind,
        "goal": first.goal,
        "update": outline.update,
        "outcome": outline.outcome,
        "fault": next((row.fault for row in transitions if row.fault is not None), None),
        "return": round(sum(row.reward for row in transitions), 4),
        "lambda": None if metrics is None else metrics.get("aux/lambda"),
        "start": first.observation,
        "turns": [_turn(row, turns[i] if turns is not None else None) for i, row in enumerate(transitions)],
    }


def _turn(row: Transition, seen: Any) -> dict[str, Any]:
    turn: dict[str, Any] = {
        "action": row.action,
        "status": row.action_status,
        "reward": row.reward,
        "observation": row.next_observation,
        "fault": row.fault,
    }
    for key in ("advantage", "value"):
        if isinstance(row.extras.get(key), int | float):
            turn[key] = row.extras[key]
    if seen is None:
        return turn
    rank = next(i for i, (action, _) in enumerate(seen.choices) if action == row.action)
    shown = seen.choices[:MOST_CHOICES]
    if rank >= MOST_CHOICES:
        shown = [*shown[:-1], seen.choices[rank]]
    turn |= {
        "probability": round(seen.choices[rank][1], 5),
        "rank": rank + 1,
        "offered": len(seen.choices),
        "choices": [[action, round(p, 5)] for action, p in shown],
    }
    if row.fault is None:
        turn["surprise"] = None if seen.surprise is None else round(seen.surprise, 4)
        turn["prediction"] = _compared(seen.predicted, row.next_observation, seen.whole)
    return turn


def _compared(predicted: str, real: str, whole: bool) -> list[tuple[str, str]]:
    """Segments of both texts; what lies beyond a prediction that was cut is kind ``~``, not a difference."""
    segments = differences(predicted, real)
    if not whole and segments and segments[-1][0] == "+":
        segments[-1] = ("~", segments[-1][1])
    return segments
