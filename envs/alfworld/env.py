"""`ALFWorldEnv`: household tasks in text, the Gymnasium face of the engines.

The environment draws a game from a `GameLibrary`, plays it on the native engine (or on the original stack
with ``engine="textworld"``) and turns what happens into the contract of `envrl.envs.core.TextEnv`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from gymnasium.error import ResetNeeded

from envrl.envs.alfworld.describe import describe
from envrl.envs.alfworld.experts import imitable_action, remaining_plan
from envrl.envs.alfworld.game import Game
from envrl.envs.alfworld.library import GameLibrary, ProceduralLibrary
from envrl.envs.alfworld.official import open_official
from envrl.envs.alfworld.play import NativePlay, Play, classify, digest
from envrl.envs.alfworld.reference import ReferencePlay
from envrl.envs.alfworld.sources import SPLITS
from envrl.envs.alfworld.text import ActionSyntax
from envrl.envs.core import ActionStatus, StepResult, TextEnv


class Hidden(NamedTuple):
    """What a snapshot holds: the engine's own snapshot and the (action, observation) pairs since reset."""

    play: Any
    history: tuple[tuple[str, str], ...]


class ALFWorldEnv(TextEnv):
    """Find, clean, heat, cool, light and place things in a household described in text.

    Reward 1.0 on the step that reaches the goal, else 0. The registered id limits an episode to 50 steps.

    Args:
        split: ``train``, ``valid_seen`` or ``valid_unseen``.
        games: ``procedural`` generates games (no download); ``official`` reads ``$ALFWORLD_DATA``; any other
            value is the path of a folder like ``json_2.1.1`` or of a ``.tar.xz`` or ``.zip`` archive of one.
        engine: ``native``, or ``textworld`` for the original stack (extra ``reference``; slow, for
            comparison).
        task_types: some of ALFRED's six names (see `envrl.envs.alfworld.game.TASK_TYPES`); None for all.
        action_syntax: ``0.4`` ("move mug 1 to desk 1") or ``0.3`` ("put mug 1 in/on desk 1", "You arrive at
            loc 3.").
        feedback: ``classic`` answers "Nothing happens." to whatever is not possible; ``explain`` adds the
            reason.
        difficulty: knobs of the generator (see `envrl.envs.alfworld.generator.Difficulty`).
        render_mode: ``ansi`` or None.

    >>> import gymnasium, envrl
    >>> env = gymnasium.make("EnvRL/ALFWorld-v0")
    >>> observation, info = env.reset(seed=0)
    >>> observation.startswith("-= Welcome to TextWorld, ALFRED! =-")
    True
    """

    def __init__(
        self,
        split: str = "train",
        games: str = "procedural",
        engine: Literal["native", "textworld"] = "native",
        task_types: Sequence[str] | None = None,
        action_syntax: ActionSyntax = "0.4",
        feedback: Literal["classic", "explain"] = "classic",
        difficulty: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        **lengths: int,
    ) -> None:
        super().__init__(render_mode=render_mode, **lengths)
        _expect("split", split, SPLITS)
        _expect("engine", engine, ("native", "textworld"))
        _expect("action_syntax", action_syntax, ("0.4", "0.3"))
        _expect("feedback", feedback, ("classic", "explain"))
        self.split = split  # recordings name it
        self._library = _open_library(split, str(games), task_types, difficulty or {})
        self._engine, self._syntax, self._explain = engine, action_syntax, feedback == "explain"
        self._play: Play | None = None
        self._history: list[tuple[str, str]] = []

    # ---- the contract ----------------------------------------------------------------------------------

    def task_ids(self) -> Sequence[str]:
        """Ids of the split, in a fixed order (lazy for procedural games)."""
        return self._library.task_ids()

    def task_type(self, task_id: str) -> str:
        """One of ALFRED's six names, read off the id (official ids hold it too)."""
        return task_id.split("/")[1].partition("-")[0] if "/" in task_id else ""

    def describe_state(self) -> str:
        """The hidden state in words, contents of closed receptacles included."""
        play = self._playing
        return describe(play.game, play.state)

    def classify_action(self, text: str) -> tuple[ActionStatus, str]:
        """(status, answer) of an action without stepping; after the end nothing is possible any more."""
        if self._terminated:
            return "inadmissible", self._observation
        return classify(self._playing, text, self._explain)

    def expert_actions(self, privileged: bool = True) -> list[str]:
        """The rest of a winning plan, [] once won.

        With ``privileged=False`` only the next action, of an expert that knows no more than the texts since
        reset.

        Raises:
            NoExpert: there is no way to win from here.
        """
        play = self._playing
        if play.won:
            return []
        if privileged:
            plan = remaining_plan(play.game, play.state)
        else:
            plan = [imitable_action(play.game.sentence, self._history, play.admissible())]
        return [_worded(command, self._syntax) for command in plan]

    def _start(self, task_id: str, options: dict[str, Any]) -> str:
        game = self._library.load(task_id)
        self._play = self._begin(game)
        text = self._play.intro()
        self._history = [("", text)]
        return text

    def _act(self, action: str) -> StepResult:
        play = self._playing
        status: ActionStatus = "ok"
        text = play.act(action)
        if text is None:
            status, text = classify(play, action, self._explain)
        self._history.append((action, text))
        return StepResult(text, 1.0 if play.won else 0.0, play.won, status)

    def _info_fields(self) -> tuple[str, tuple[str, ...], tuple[str, ...], bool, str]:
        play = self._playing
        return play.game.sentence, play.admissible(), (), play.won, digest(play)

    def _get_hidden(self) -> Hidden:
        return Hidden(self._playing.snapshot(), tuple(self._history))

    def _set_hidden(self, task_id: str, hidden: Hidden) -> None:
        if self._play is None or self._play.game.task_id != task_id:
            self._play = self._begin(self._library.load(task_id))
        self._play.restore(hidden.play)
        self._history = list(hidden.history)

    # ---- inside ----------------------------------------------------------------------------------------

    @property
    def _playing(self) -> Play:
        if self._play is None:
            raise ResetNeeded("there is no episode yet; call env.reset() first")
        return self._play

    def _begin(self, game: Game) -> Play:
        if self._engine == "native":
            return NativePlay(game, self._syntax)
        before = self._play if isinstance(self._play, ReferencePlay) else None
        return ReferencePlay(game, self._library.game_file(game.task_id), self._syntax, before)


def _open_library(
    split: str, games: str, task_types: Sequence[str] | None, difficulty: Mapping[str, Any]
) -> GameLibrary:
    if games == "procedural":
        return ProceduralLibrary(split, task_types, difficulty)
    if difficulty:
        raise ValueError(
            f"difficulty belongs to games='procedural', got games={games!r} and {dict(difficulty)}"
        )
    return open_official(games, split, task_types)


def _expect(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}")


def _worded(command: str, syntax: ActionSyntax) -> str:
    """An expert's command, which is in the 0.4 wording, in the wording of the environment."""
    if syntax == "0.3" and command.startswith("move "):
        return command.replace("move ", "put ", 1).replace(" to ", " in/on ", 1)
    return command
