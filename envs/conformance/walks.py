"""Seeded walks through an environment, written down so that two can be compared, in one process or two.

The conformance kit (`envrl.envs.testing`) plays with these: legal actions, filled-in templates, and text
such as an agent may write by mistake.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium
import numpy as np

from envrl.envs.core import Info

#: text that no environment may choke on
JUNK: tuple[str, ...] = (
    "", " ", "\n", "\r\n\t", "\x00", "look\x00", "\x1b[31m", "\\", "'\"`", "%s %d {0} {x}", "{" * 1000, "[",
    "]", "<>", "search[", "search[]", "click[nothing here]", "]search[x", "€ 漢字 日本", "İıſ ß", "e\u0301 é",
    "\u202eabc", "\U0001f600" * 50, "\ud800", "go \udfff", "\U0010ffff", "None", "0", "-1", "1e999",
    "../../etc/passwd", "<think>hm</think><action>look</action>", '{"name": "f", "arguments": {}}',
    "[f(x=1), g()]", "'; DROP TABLE x;", "look\nlook", "a" * 100_000,
)  # fmt: skip
_WORDS = ("red shoes", "1", "desk 1", "€ \ud83d", "")

Factory = Callable[[], gymnasium.Env[Any, Any]]


class Walker:
    """Draws actions with a generator of its own: mostly legal ones, some filled-in templates, some junk.

    Args:
        seed: seed of the generator.
        legal: draw admissible actions only, as long as there are any.
    """

    def __init__(self, seed: int, *, legal: bool = False) -> None:
        self._rng, self._legal = np.random.default_rng(seed), legal

    def pick(self, info: dict[str, Any]) -> str:
        """An action for a state whose info is ``info``."""
        kind = 0.0 if self._legal else self._rng.random()
        if kind < 0.8 and info["admissible_actions"]:
            return self._one_of(info["admissible_actions"])
        if kind < 0.9 and info["action_templates"]:
            return re.sub("<[^<>]*>", lambda _: self._one_of(_WORDS), self._one_of(info["action_templates"]))
        return self._one_of(JUNK)

    def _one_of(self, texts: Sequence[str]) -> str:
        return texts[int(self._rng.integers(len(texts)))]


def near_misses(actions: Sequence[str]) -> Iterator[str]:
    """Texts that are almost legal: other case, cut, doubled, decorated."""
    for action in actions:
        yield from (
            action.upper(),
            action[:-1],
            action[1:],
            f" {action} ",
            f"{action}.",
            f"{action} {action}",
        )
        yield from (f"> {action}", f"{action}\x00", action.replace(" ", "  "), action.replace(" ", "\u00a0"))


def walk(env: gymnasium.Env[Any, Any], seed: int, steps: int) -> list[dict[str, Any]]:
    """What ``env`` said to ``steps`` actions from ``reset(seed=seed)`` on; after an end comes a reset."""
    walker = Walker(seed)
    observation, info = env.reset(seed=seed)
    said = [{"action": None, "observation": observation, **facts(info)}]
    for _ in range(steps):
        action = walker.pick(info)
        observation, reward, terminated, truncated, info = env.step(action)
        said.append(
            {
                "action": action,
                "observation": observation,
                "reward": float(reward),
                "terminated": terminated,
                "truncated": truncated,
                **facts(info),
            }
        )
        if terminated or truncated:
            observation, info = env.reset()
            said.append({"action": None, "observation": observation, **facts(info)})
    return said


def facts(info: dict[str, Any]) -> dict[str, Any]:
    """The contract's keys of ``info``."""
    return {key: info[key] for key in Info.__annotations__}


def answer_of(result: tuple[Any, ...]) -> list[Any]:
    """The result of a step as a list that can be compared: the contract's keys of its info only."""
    observation, reward, terminated, truncated, info = result
    return [observation, float(reward), terminated, truncated, facts(info)]


def walk_in_process(factory: Factory, seeds: Sequence[int], steps: int, hash_seed: int) -> list[Any]:
    """The walks of `walk`, one a seed, in a new interpreter whose ``PYTHONHASHSEED`` is ``hash_seed``.

    Raises:
        RuntimeError: the interpreter failed; the message has its last words.
    """
    with tempfile.TemporaryDirectory() as folder:
        order, answer = Path(folder, "order"), Path(folder, "answer")
        order.write_bytes(cloudpickle.dumps((factory, list(seeds), steps)))
        code = f"from envrl.envs.conformance.walks import _answer; _answer({str(order)!r}, {str(answer)!r})"
        environ = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, check=False)
        if done.returncode:
            words = done.stderr.decode(errors="replace").strip().splitlines()
            raise RuntimeError(f"a new interpreter failed with: {words[-1] if words else done.returncode}")
        walks: list[Any] = json.loads(answer.read_text())
        return walks


def _answer(order: str, answer: str) -> None:
    factory, seeds, steps = cloudpickle.loads(Path(order).read_bytes())
    env = factory().unwrapped
    Path(answer).write_text(json.dumps([walk(env, seed, steps) for seed in seeds]))
    env.close()


def first_difference(one: Any, other: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Where two JSON-like values differ first, and the two values there; None if they are equal."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs: list[tuple[Any, Any, Any]] = [(key, one[key], other[key]) for key in one]
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = [(index, a, b) for index, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        return None if one == other else (path, one, other)
    for key, a, b in pairs:
        found = first_difference(a, b, f"{path}[{key!r}]")
        if found is not None:
            return found
    return None
