"""Recordings as Minari datasets, for offline-RL tools that read those."""

import itertools
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from gymnasium.envs.registration import EnvSpec

from envrl.envs.errors import InvalidData, MissingExtra
from envrl.envs.spaces import FreeText
from envrl.wrappers.recording import iter_batches, iter_episodes, read_env_spec
from envrl.wrappers.transition import Transition, escape_text

_DATASET_ID = re.compile(r"([-\w]+/)*[-\w]+-v\d+")


def export_minari(
    recording: str | Path,
    dataset_id: str,
    *,
    env_spec: EnvSpec | None = None,
    complete_only: bool = False,
    author: str | None = None,
    author_email: str | None = None,
    algorithm_name: str | None = None,
    code_permalink: str | None = None,
    description: str | None = None,
) -> Any:
    """Make a local Minari dataset from recorded transitions.

    It lies where Minari keeps its own: below ``MINARI_DATASETS_PATH``, else ``~/.minari/datasets``. An
    episode of T steps has T actions, rewards and flags, T + 1 observations, and ``infos`` of T + 1 values:
    ``goal``, ``task_id``, ``action_status``, ``state_key``, ``fault`` (``""`` where there is none),
    ``admissible_actions`` (a JSON list, ``""`` if unknown) and ``is_success`` (1, 0, or -1 if unknown). Its
    reset options name the task. Text that UTF-8 cannot hold is escaped, see `escape_text`.

    An episode without an end (abandoned, or cut off by a killed recorder) ends truncated, as Minari's own
    collector has it.

    Args:
        recording: a folder of shards or one of them.
        dataset_id: ``(namespace/)name-v0``; Minari refuses one that exists.
        env_spec: spec of the environment, for ``dataset.recover_environment()``; by default the one that the
            recording carries, if any.
        complete_only: leave out episodes without an end.
        author, author_email, algorithm_name, code_permalink, description: go to the dataset's metadata.

    Returns:
        The ``minari.MinariDataset``.

    Raises:
        MissingExtra: minari is not installed.
        ValueError: ``dataset_id`` is malformed or exists.
        DataNotFound, InvalidData: see `read_transitions`; also InvalidData if no episode is left to export.
    """
    try:
        import minari
        from minari.data_collector.episode_buffer import EpisodeBuffer
    except ImportError as error:
        raise MissingExtra(
            "Minari export needs minari; install it with: pip install 'envrl[minari]'"
        ) from error
    if not _DATASET_ID.fullmatch(dataset_id):
        raise ValueError(f"expected a dataset id like envrl/alfworld-expert-v0, found {dataset_id!r}")
    episodes = (
        EpisodeBuffer(**_buffer(rows))
        for rows in iter_episodes(recording)
        if not complete_only or rows[-1].terminated or rows[-1].truncated
    )
    first = next(episodes, None)
    if first is None:
        raise InvalidData(f"expected episodes{' with an end' * complete_only} in {recording}, found none")
    with warnings.catch_warnings():
        # The spec is added below: from one given here Minari would build the environment, data and all.
        warnings.filterwarnings("ignore", "(env_spec is None|`eval_env` is set to None)", UserWarning)
        dataset = minari.create_dataset_from_buffers(
            dataset_id,
            [first],
            observation_space=FreeText(_longest(recording, "observation", "next_observation")),
            action_space=FreeText(_longest(recording, "action")),
            author=author,
            author_email=author_email,
            algorithm_name=algorithm_name,
            code_permalink=code_permalink,
            description=description,
            data_format="parquet",
        )
    storage = dataset.storage
    spec = env_spec or read_env_spec(recording)
    if spec is not None:
        storage.update_metadata({"env_spec": spec.to_json()})
    # Minari measures the whole dataset after each episode: ten thousand would take hours.
    storage.get_size = lambda: 0.0
    storage.update_episodes(episodes)
    del storage.get_size
    storage.update_metadata({"dataset_size": storage.get_size()})
    return minari.MinariDataset(storage.data_path)


def _buffer(rows: list[Transition]) -> dict[str, Any]:
    """The arguments of an ``EpisodeBuffer`` for one episode."""
    for before, after in itertools.pairwise(rows):
        if after.observation != before.next_observation or after.step != before.step + 1:
            raise InvalidData(
                f"episode {after.episode_id} has a gap: "
                f"step {after.step} does not go on from step {before.step}"
            )
    first = rows[0]
    ended = rows[-1].terminated or rows[-1].truncated
    return {
        "options": {"task_id": first.task_id} if first.task_id else None,
        "observations": [
            escape_text(text) for text in (first.observation, *(r.next_observation for r in rows))
        ],
        "actions": [escape_text(row.action) for row in rows],
        "rewards": [row.reward for row in rows],
        "terminations": [row.terminated for row in rows],
        "truncations": [row.truncated for row in rows[:-1]] + [rows[-1].truncated or not ended],
        # Minari infers a type for each episode and wants the same in all, so nothing may be null.
        "infos": {
            "goal": [escape_text(first.goal)] * (len(rows) + 1),
            "task_id": [escape_text(first.task_id)] * (len(rows) + 1),
            "action_status": ["none", *(row.action_status or "" for row in rows)],
            "state_key": [first.state_key or "", *(row.next_state_key or "" for row in rows)],
            "fault": ["", *(escape_text(row.fault or "") for row in rows)],
            "admissible_actions": [
                _json(first.admissible_actions),
                *(_json(row.next_admissible_actions) for row in rows),
            ],
            "is_success": [-1 if first.is_success is None else 0]
            + [-1 if row.is_success is None else int(row.is_success) for row in rows],
        },
    }


def _json(actions: tuple[str, ...] | None) -> str:
    return "" if actions is None else json.dumps(actions)


def _longest(recording: str | Path, *columns: str) -> int:
    """Length of the longest text in the columns, in characters, at least 1."""
    return max(
        pc.max(pc.utf8_length(batch.column(name))).as_py() or 1
        for batch in iter_batches(recording)
        for name in columns
    )
