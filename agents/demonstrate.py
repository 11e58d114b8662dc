"""Expert episodes: played once, recorded as Parquet, read back by the supervised stage."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium

from envrl.agents.play import play_episode
from envrl.agents.policies.scripted import Policy
from envrl.envs.errors import EnvRLError
from envrl.wrappers.record import RecordTransitions
from envrl.wrappers.recording import iter_episodes


def record_demonstrations(
    env: gymnasium.Env[str, str],
    folder: Path,
    policy: Policy,
    episodes: int,
    seed: int,
    *,
    label: str,
    split: str,
    progress: Callable[[], None] = lambda: None,
) -> int:
    """Play a scripted policy and record its episodes, all of them or none.

    Args:
        env: where to play.
        folder: where the Parquet files go; made under a temporary name and renamed when complete.
        policy: who acts.
        episodes: how many.
        seed: the episodes follow from it.
        label, split: go into the rows.
        progress: called after every episode.

    Returns:
        How many episodes were won.

    Raises:
        NoExpert: the policy needs an expert and the environment has none.
    """
    partial = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(partial, ignore_errors=True)  # of a run that was killed
    recorder = RecordTransitions(env, partial, policy=label, split=split)
    won = faulted = 0
    for number in range(episodes):
        try:
            won += bool(play_episode(recorder, policy, seed=(seed, number)).success)
        except EnvRLError:
            raise
        except Exception:  # the environment died: its episode is lost, the recording goes on
            faulted += 1
        progress()
    if faulted == episodes:
        raise EnvRLError(
            f"the environment failed in every one of {episodes} episodes; play one by hand to see how"
        )
    recorder.writer.close()  # not recorder.close(): the environment lives on
    partial.rename(folder)
    return won


def recorded_texts(recording: Path) -> Iterator[str]:
    """All text of a recording, as often as an agent reads or writes it."""
    for rows in iter_episodes(recording):
        yield rows[0].observation
        for row in rows:
            yield from (row.goal, row.action, row.next_observation)
