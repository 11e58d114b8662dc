"""``envrl export``: recordings in the formats of other tools."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from envrl.envs.errors import WrongUse
from envrl.wrappers.minari_export import export_minari as export
from envrl.wrappers.recording import shard_paths


@dataclass(frozen=True)
class MinariConfig:
    """Make a Minari data set from recorded transitions (extra `minari`), where Minari keeps its own."""

    recording: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RECORDING")]
    """folder of recorded transitions, or one of its files"""
    dataset_id: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATASET-ID")]
    """name of the new data set, such as envrl/alfworld-expert-v0"""
    complete_only: bool = False
    """leave out episodes that were broken off"""
    author: str | None = None
    """who made the data"""
    author_email: str | None = None
    """how to reach them"""
    algorithm_name: str | None = None
    """the policy that acted"""
    code_permalink: str | None = None
    """the code that made it"""
    description: str | None = None
    """what the data set is for"""


def export_minari(config: MinariConfig) -> None:
    """Write the data set and print its size and folder."""
    shard_paths(config.recording)  # a missing recording is told before a missing extra or a bad id
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "`.*` is set to None", UserWarning)  # --help names the options
            dataset = export(
                config.recording,
                config.dataset_id,
                complete_only=config.complete_only,
                author=config.author,
                author_email=config.author_email,
                algorithm_name=config.algorithm_name,
                code_permalink=config.code_permalink,
                description=config.description,
            )
    except ValueError as error:
        raise WrongUse(str(error)) from error
    episodes, steps = dataset.total_episodes, dataset.total_steps
    print(f"{config.dataset_id}: {episodes} episodes, {steps} steps, in {dataset.storage.data_path}")
