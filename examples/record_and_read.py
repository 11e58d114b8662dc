"""Record an expert in ALFWorld and read the transitions back: rows, episodes, columns.

Run it with ``python examples/record_and_read.py --episodes 20``.
"""

import argparse

import gymnasium
import pyarrow.compute as pc

import envrl  # noqa: F401 - registers the ids
from envrl.wrappers import RecordTransitions, iter_episodes, read_table, read_transitions


def record(folder: str, episodes: int) -> None:
    """Play the privileged plan of some tasks, every second time after a look around."""
    env = RecordTransitions(gymnasium.make("EnvRL/ALFWorld-v0"), folder, policy="expert")
    for seed in range(episodes):
        env.reset(seed=seed)
        detour = ["look", "inventory"] if seed % 2 else []
        for action in [*detour, *env.unwrapped.expert_actions()]:  # type: ignore[attr-defined]
            env.step(action)
    env.close()


def main() -> None:
    """Record and read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="recordings/example")
    parser.add_argument("--episodes", type=int, default=20)
    args = parser.parse_args()

    record(args.folder, args.episodes)

    first = next(read_transitions(args.folder))
    print(f"goal: {first.goal}\n> {first.action}\n{first.next_observation}\n")

    lengths = [len(rows) for rows in iter_episodes(args.folder)]
    print(f"{len(lengths)} episodes of {min(lengths)} to {max(lengths)} steps")

    table = read_table(args.folder)
    verbs = pc.utf8_split_whitespace(table["action"], max_splits=1)
    counts = pc.value_counts(pc.list_element(verbs, 0))
    print("actions:", {str(c["values"]): c["counts"].as_py() for c in counts})
    print("solved:", pc.sum(pc.equal(table["is_success"], True)).as_py(), "of", len(lengths))


if __name__ == "__main__":
    main()
