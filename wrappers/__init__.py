"""Wrappers around text environments: recording, and prompts from history."""

from envrl.wrappers.record import RecordTransitions
from envrl.wrappers.recording import iter_episodes, read_env_spec, read_table, read_transitions
from envrl.wrappers.shards import ShardWriter
from envrl.wrappers.transition import SCHEMA, Transition

__all__ = [
    "SCHEMA",
    "RecordTransitions",
    "ShardWriter",
    "Transition",
    "iter_episodes",
    "read_env_spec",
    "read_table",
    "read_transitions",
]
