"""Record a text environment that knows nothing of EnvRL, with its own names for the facts in ``info``.

Run it with ``python examples/custom_env.py``.
"""

import argparse
import string
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from envrl.wrappers import HistoryPrompt, RecordTransitions, iter_episodes


class GuessNumber(gymnasium.Env[str, str]):
    """Guess a number from 1 to 9: plain Gymnasium, as anybody would write it."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self) -> None:
        self.observation_space = spaces.Text(80, charset=string.printable)
        self.action_space = spaces.Text(20, charset=string.printable)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict]:
        """Think of a number."""
        super().reset(seed=seed)
        self.number, self.low, self.high = int(self.np_random.integers(1, 10)), 1, 9
        return "I think of a number from 1 to 9.", self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict]:
        """Compare."""
        guess = int(action.removeprefix("guess ")) if action.removeprefix("guess ").isdigit() else 0
        if guess == self.number:
            return "Right.", 1.0, True, False, self._info(won=True)
        if guess < self.number:
            self.low = max(self.low, guess + 1)
            return f"{guess} is too small.", 0.0, False, False, self._info()
        self.high = min(self.high, guess - 1)
        return f"{guess} is too large.", 0.0, False, False, self._info()

    def _info(self, won: bool = False) -> dict[str, Any]:
        commands = [f"guess {n}" for n in range(self.low, self.high + 1)]
        return {"task": "find my number", "commands": commands, "won": won}


def main() -> None:
    """Record a few games and show what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="recordings/guesses")
    parser.add_argument("--episodes", type=int, default=5)
    args = parser.parse_args()

    names = {"goal": "task", "admissible_actions": "commands", "is_success": "won"}
    recorder = RecordTransitions(GuessNumber(), args.folder, policy="random", info_keys=names)
    env = HistoryPrompt(recorder, info_keys=names)  # what a language model would be shown
    rng = np.random.default_rng(0)
    for seed in range(args.episodes):
        prompt, info = env.reset(seed=seed)
        over = False
        while not over:
            prompt, _, terminated, truncated, info = env.step(str(rng.choice(info["commands"])))
            over = terminated or truncated
    env.close()
    print(f"{prompt}\n")
    for rows in iter_episodes(args.folder):
        print(f"{rows[0].goal}: {', '.join(row.action for row in rows)}; success: {rows[-1].is_success}")


if __name__ == "__main__":
    main()
