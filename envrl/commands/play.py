"""``envrl play``: a person acts in an environment, in a terminal or in a browser."""

import copy
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import gymnasium
import tyro
from rich.console import Console

from envrl.envs.core import TextEnv
from envrl.envs.errors import WrongUse
from envrl.envs.lookup import full_env_id, make_env
from envrl.play.browser import BrowserGame
from envrl.play.reading import make_reader
from envrl.play.recorder import GameRecorder
from envrl.play.session import Session
from envrl.play.terminal import Terminal
from envrl.wrappers.recording import SPEC_KEY
from envrl.wrappers.shards import ShardWriter


@dataclass(frozen=True)
class PlayConfig:
    """Act in an environment yourself: Tab completes, :hint asks the expert, :undo takes a step back."""

    env: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV")]
    """environment id, or its short form: alfworld"""
    task_id: str | None = None
    """play this task instead of one drawn from the split"""
    split: str | None = None
    """split to draw from (the same as --env-kwargs split=...)"""
    seed: int | None = None
    """seed of the draw"""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """arguments of the environment: key=value words or a JSON object"""
    record: Path | None = None
    """write the games played as transitions (policy "human") into this folder; undone steps are left out"""
    browser: bool = False
    """play in a web browser: serve the game on this machine alone and print its address"""
    port: int = 0
    """port of --browser; 0 takes a free one"""


def play(config: PlayConfig) -> None:
    """Play until the person leaves."""
    env_id = full_env_id(config.env)
    kwargs = dict(config.env_kwargs)
    if config.split is not None:
        kwargs["split"] = config.split
    env = make_env(env_id, kwargs, max_episode_steps=-1)
    if not isinstance(env.unwrapped, TextEnv):
        env.close()
        what = type(env.unwrapped).__name__
        raise WrongUse(f"`envrl play` needs an envrl.envs.core.TextEnv; {env_id} is a {what}")
    session = Session(env, limit=gymnasium.spec(env_id).max_episode_steps)
    session.begin(seed=config.seed, task_id=config.task_id)
    face = _browser(session, config.port) if config.browser else _terminal(session)
    try:
        if config.record is None:
            face.loop()
        else:
            with ShardWriter(config.record, metadata=_metadata(env, session.limit)) as writer:
                recorder = GameRecorder(writer, env_id, split=str(getattr(env.unwrapped, "split", "")))
                face.on_game_end = lambda: recorder.write(session)
                face.loop()
    finally:
        env.close()


def _terminal(session: Session) -> Terminal:
    return Terminal(session, make_reader(), Console(soft_wrap=not sys.stdout.isatty()))


def _browser(session: Session, port: int) -> BrowserGame:
    try:
        game = BrowserGame(session, port)
    except OSError as error:
        raise WrongUse(f"--port {port} cannot be had ({error}); 0 takes a free one") from error
    print(f"Play at {game.url} (Ctrl-C or Quit on the page ends it)", flush=True)
    return game


def _metadata(env: gymnasium.Env[str, str], limit: int | None) -> dict[str, str]:
    """The spec that rebuilds the environment, with the time limit that the session kept in its stead."""
    spec = copy.deepcopy(env.spec)
    if spec is None:
        return {}
    spec.max_episode_steps = limit
    return {SPEC_KEY.decode(): spec.to_json()}
