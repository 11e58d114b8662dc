"""`EnvRL/BFCL-v0`: the multi-turn tasks of the Berkeley Function Calling Leaderboard, from its own package."""

from envrl.envs.envfactory.bfcl.env import BFCLEnv

__all__ = ["BFCLEnv"]
