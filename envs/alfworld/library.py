"""Where games come from: generated on the spot, or read from official data; the same from outside."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Protocol

from envrl.envs.alfworld.game import TASK_TYPES, Game
from envrl.envs.alfworld.generator import Difficulty, ProceduralTasks, generate_game
from envrl.envs.alfworld.writer import game_fields, load_rules
from envrl.envs.errors import InvalidTask

#: parsed games that stay in memory, process-wide; one takes some 40 KB
_KEPT_GAMES = 1024


class GameLibrary(Protocol):
    """A set of games with ids."""

    def task_ids(self) -> Sequence[str]:
        """Ids of the split, in a fixed order; may be lazy."""

    def load(self, task_id: str) -> Game:
        """The game of this id; ids outside the split are accepted. Raises InvalidTask if there is none."""

    def game_file(self, task_id: str) -> dict[str, Any]:
        """The fields of the game's ``game.tw-pddl``, as the original stack reads it."""


class GameCache:
    """The most recently used games, shared by all environments of the process and safe in threads.

    Two threads that miss at the same time may both build the game; the results are equal and immutable, so
    whichever is stored last serves.
    """

    def __init__(self, size: int = _KEPT_GAMES) -> None:
        self._size = size
        self._games: OrderedDict[Any, Game] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any, build: Callable[[], Game]) -> Game:
        """The game under ``key``, built where it is not kept."""
        with self._lock:
            game = self._games.get(key)
            if game is not None:
                self._games.move_to_end(key)
                return game
        game = build()
        with self._lock:
            self._games[key] = game
            while len(self._games) > self._size:
                self._games.popitem(last=False)
        return game

    def clear(self) -> None:
        """Forget all games."""
        with self._lock:
            self._games.clear()


#: group rollouts reset many environments to the same task: it is parsed or generated once
_GAMES = GameCache()


def check_task_types(task_types: Sequence[str] | None) -> tuple[str, ...]:
    """The task types asked for, all six for None.

    Raises:
        ValueError: an unknown name, or none at all.
    """
    if task_types is None:
        return TASK_TYPES
    wanted = (task_types,) if isinstance(task_types, str) else tuple(task_types)
    unknown = [name for name in wanted if name not in TASK_TYPES]
    if unknown or not wanted:
        raise ValueError(f"task_types must name some of {list(TASK_TYPES)}, got {list(wanted)}")
    return tuple(name for name in TASK_TYPES if name in wanted)


class ProceduralLibrary:
    """Generated games of one split (see `envrl.envs.alfworld.generator`).

    Args:
        split: ``train``, ``valid_seen`` or ``valid_unseen``.
        task_types: some of ALFRED's six names, None for all.
        difficulty: fields of `envrl.envs.alfworld.generator.Difficulty`.
    """

    def __init__(self, split: str, task_types: Sequence[str] | None, difficulty: Mapping[str, Any]) -> None:
        try:
            self._difficulty = asdict(Difficulty(**difficulty))
        except TypeError:
            known = [field.name for field in fields(Difficulty)]
            raise ValueError(f"difficulty knows {known}, got {dict(difficulty)}") from None
        self._ids = ProceduralTasks(split, check_task_types(task_types))

    def task_ids(self) -> Sequence[str]:
        """Ids of the split (lazy)."""
        return self._ids

    def load(self, task_id: str) -> Game:
        """The generated game of this id; seeds of other splits are accepted.

        Raises:
            InvalidTask: not a procedural id.
        """
        if not isinstance(task_id, str):
            raise InvalidTask(f"expected a task_id procedural/<task_type>/<seed>, got {task_id!r}")
        key = (task_id, *self._difficulty.values())
        return kept_game(key, lambda: generate_game(task_id, **self._difficulty))

    def game_file(self, task_id: str) -> dict[str, Any]:
        """The game as a ``game.tw-pddl``, with the rules of the installed ``alfworld`` package."""
        return game_fields(self.load(task_id), load_rules())


def kept_game(key: Any, build: Callable[[], Game]) -> Game:
    """The game under ``key`` from the process-wide cache, built where it is not kept."""
    return _GAMES.get(key, build)


def forget_games() -> None:
    """Empty the process-wide cache: the next resets parse or generate their games again."""
    _GAMES.clear()
