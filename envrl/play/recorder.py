"""A person's games as recorded transitions: the steps that stood at the end, not the undone ones."""

import uuid
from dataclasses import dataclass, field

from envrl.play.session import Session
from envrl.wrappers.shards import ShardWriter
from envrl.wrappers.transition import Transition


@dataclass
class GameRecorder:
    """Writes finished or abandoned games to a folder of Parquet shards.

    Recording happens when a game ends and not step by step, because a step may still be taken back.

    Args:
        writer: where the rows go.
        env_id: id of the environment.
        split: split the tasks are drawn from, "" if unknown.
    """

    writer: ShardWriter
    env_id: str
    split: str = ""
    run_id: str = field(default_factory=lambda: f"play-{uuid.uuid4().hex[:12]}")

    def write(self, session: Session) -> None:
        """Append the session's present turns as one episode."""
        episode = uuid.uuid4().hex
        last = len(session.turns) - 1
        for step, turn in enumerate(session.turns):
            before, after = turn.info, turn.next_info
            self.writer.append(
                Transition(
                    run_id=self.run_id,
                    env_id=self.env_id,
                    episode_id=episode,
                    task_id=before["task_id"],
                    split=self.split,
                    step=step,
                    goal=before["goal"],
                    observation=turn.observation,
                    action=turn.action,
                    next_observation=turn.next_observation,
                    reward=turn.reward,
                    terminated=turn.terminated,
                    truncated=step == last and session.over and not turn.terminated,
                    action_status=after["action_status"],
                    is_success=after["is_success"],
                    admissible_actions=before["admissible_actions"],
                    next_admissible_actions=after["admissible_actions"],
                    state_key=before["state_key"],
                    next_state_key=after["state_key"],
                    fault=after["fault"],
                    policy="human",
                )
            )
        self.writer.flush()
