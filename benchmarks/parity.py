"""Play procedural games on the native and the original engine side by side (extra ``reference``).

    python benchmarks/parity.py [--games 50]

Each game gets random commands, nonsense among them, and then a winning plan. Prints one line a game; exits 1
on the first difference in texts, admissible commands, wins or hidden states.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from envrl.envs.alfworld.game import TASK_TYPES
from envrl.envs.alfworld.generator import generate_game
from envrl.envs.alfworld.parity import differences, seeded_commands
from envrl.envs.alfworld.play import NativePlay
from envrl.envs.alfworld.privileged import remaining_plan
from envrl.envs.alfworld.reference import ReferencePlay
from envrl.envs.alfworld.writer import game_fields, load_rules
from envrl.envs.errors import EnvRLError


def commands(play: NativePlay, seed: int, steps: int) -> Iterator[str]:
    yield from seeded_commands(play, Random(seed), steps)
    yield from remaining_plan(play.game, play.state)


def main() -> int:
    # The benchmark beside this file is named like the package and would be imported in its place.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).resolve().parent]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--games", type=int, default=50)
    parser.add_argument("--steps", type=int, default=20, help="random commands before the plan")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first game")
    arguments = parser.parse_args()
    rules = load_rules()
    original: ReferencePlay | None = None
    for i in range(arguments.games):
        seed = arguments.seed + i
        game = generate_game(f"procedural/{TASK_TYPES[i % len(TASK_TYPES)]}/{seed}")
        native = NativePlay(game)
        original = ReferencePlay(game, game_fields(game, rules), before=original)
        for difference in differences(native, original, commands(native, seed, arguments.steps)):
            print(f"{game.task_id}: {difference}")
            return 1
        print(f"{game.task_id}: no difference, {'won' if native.won else 'not won'}", flush=True)
    print(f"{arguments.games} games, 0 differences")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EnvRLError as error:
        sys.exit(f"{type(error).__name__}: {error}")
