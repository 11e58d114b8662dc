"""Stateful tool environments: toolkits, tasks over them, and the factory that makes both."""

from envrl.envs.envfactory.schema import InvalidToolkit
from envrl.envs.envfactory.toolkit import ToolError, Toolkit, next_id, tool

__all__ = ["InvalidToolkit", "ToolError", "Toolkit", "next_id", "tool"]
