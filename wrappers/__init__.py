"""Wrappers around text environments: recording, prompts from history, vectors in Ray actors."""

from envrl.wrappers.history import HistoryPrompt, PromptTemplate, render_prompt
from envrl.wrappers.ray_vector import RayVectorEnv
from envrl.wrappers.record import RecordTransitions
from envrl.wrappers.recording import iter_episodes, read_env_spec, read_table, read_transitions
from envrl.wrappers.shards import ShardWriter
from envrl.wrappers.transition import SCHEMA, Transition

__all__ = [
    "SCHEMA",
    "HistoryPrompt",
    "PromptTemplate",
    "RayVectorEnv",
    "RecordTransitions",
    "ShardWriter",
    "Transition",
    "iter_episodes",
    "read_env_spec",
    "read_table",
    "read_transitions",
    "render_prompt",
]
