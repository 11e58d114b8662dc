"""One agent, several sources of games: only the arguments of ``gymnasium.make`` change.

The agent follows the expert that sees what an agent sees. Run it with ``python examples/swap_games.py``; add
``--games PATH`` for a folder or archive of official games (``envrl data download alfworld`` fetches them).
"""

import argparse
from typing import Any

import gymnasium

import envrl  # noqa: F401 - registers the ids
from envrl.envs.errors import NoExpert

SOURCES: dict[str, dict[str, Any]] = {
    "generated": {},
    "generated, held-out rooms": {"split": "valid_unseen"},
    "generated, small rooms": {"difficulty": {"receptacles": [8, 12], "clutter": 0.5}},
    "generated, lamps only": {"task_types": ["look_at_obj_in_light"]},
    "generated, older wording": {"action_syntax": "0.3"},
}


def play(env: gymnasium.Env[str, str], seed: int) -> tuple[bool, int, str]:
    """One episode; gives (solved, steps, last action)."""
    _, info = env.reset(seed=seed)
    steps, over, action = 0, False, ""
    while not over:
        try:
            action = env.unwrapped.expert_actions(privileged=False)[0]  # type: ignore[attr-defined]
        except NoExpert:
            break
        _, _, terminated, truncated, info = env.step(action)
        steps += 1
        over = terminated or truncated
    return info["is_success"], steps, action


def main() -> None:
    """Play some episodes of every source and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--games", help="folder or archive of official games, to play its valid_seen split too"
    )
    parser.add_argument("--episodes", type=int, default=20)
    args = parser.parse_args()
    sources = dict(SOURCES)
    if args.games:
        sources["official, valid_seen"] = {"games": args.games, "split": "valid_seen"}

    print(f"{'games':<28}{'solved':>8}{'steps':>8}   last action")
    for name, kwargs in sources.items():
        env = gymnasium.make("EnvRL/ALFWorld-v0", **kwargs)
        results = [play(env, seed) for seed in range(args.episodes)]
        solved = sum(success for success, _, _ in results) / args.episodes
        steps = sum(steps for _, steps, _ in results) / args.episodes
        print(f"{name:<28}{solved:>8.0%}{steps:>8.1f}   {results[-1][2]}")
        env.close()


if __name__ == "__main__":
    main()
