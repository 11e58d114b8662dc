"""Random actions in an environment: the loop that every agent has.

Run it with ``python examples/random_agent.py --episodes 20``.
"""

import argparse

import gymnasium
import numpy as np

import envrl  # noqa: F401 - registers the ids


def play(env: gymnasium.Env[str, str], rng: np.random.Generator, seed: int) -> tuple[bool, int]:
    """One episode of random legal actions; gives (solved, steps)."""
    _, info = env.reset(seed=seed)
    steps, over = 0, False
    while not over:
        action = rng.choice(info["admissible_actions"])
        _, _, terminated, truncated, info = env.step(str(action))
        steps += 1
        over = terminated or truncated
    return info["is_success"], steps


def main() -> None:
    """Play and print how it went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="EnvRL/ALFWorld-v0")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    env = gymnasium.make(args.env)
    rng = np.random.default_rng(args.seed)
    solved = total = 0
    for episode in range(args.episodes):
        success, steps = play(env, rng, seed=args.seed + episode)
        solved, total = solved + success, total + steps
    env.close()
    print(f"{args.env}: solved {solved} of {args.episodes} episodes in {total} steps")


if __name__ == "__main__":
    main()
