"""Checks of hidden states: snapshots and state keys."""

import pickle
from functools import partial

from envrl.envs.conformance.subject import Subject, attempt, claim, claim_same, look
from envrl.envs.conformance.walks import Walker, answer_of, facts


def check_snapshots(subject: Subject) -> None:
    """From a snapshot the same actions lead to the same future: twice, and pickled in another environment."""
    env = subject.env()
    for seed in subject.seeds:
        observation, info = env.reset(seed=seed)
        walker, before, after = Walker(seed), list[str](), list[str]()
        for _ in range(subject.steps // 2):
            before.append(walker.pick(info))
            observation, _, terminated, truncated, info = env.step(before[-1])
            if terminated or truncated:
                break
        state = env.get_state()
        present = [observation, {**facts(info), "action_status": "none"}]
        future = []
        for _ in range(subject.steps // 2):
            after.append(walker.pick(info))
            future.append(answer_of(env.step(after[-1])))
            info = future[-1][4]
        pickled = attempt("pickling a snapshot", partial(pickle.dumps, state), before)
        places = (
            ("", env, state),
            (" once more", env, state),
            (" pickled, in another environment", subject.env(), None),
        )
        for what, place, snapshot in places:
            observation, info = place.set_state(pickle.loads(pickled) if snapshot is None else snapshot)
            claim_same(f"set_state{what}", present, [observation, facts(info)], before)
            again = [answer_of(place.step(action)) for action in after]
            claim_same(f"the future from a snapshot{what}", future, again, before + after)


def check_state_keys(subject: Subject) -> None:
    """Equal ``state_key`` means equal states: the same description and the same admissible actions."""
    env = subject.env()
    known: dict[tuple[str, str], tuple[str, list[str], list[str]]] = {}
    for seed in subject.seeds:
        _, info = env.reset(seed=seed)
        walker, trail = Walker(seed), list[str]()
        for _ in range(subject.steps):
            description = env.describe_state()
            claim(type(description) is str, "describe_state()", "a str", description, trail)
            key, actions = (info["task_id"], info["state_key"]), sorted(info["admissible_actions"])
            claim(
                look(env)[1]["state_key"] == key[1],
                "state_key after describe_state()",
                "the same",
                "another",
                trail,
            )
            described, legal, there = known.setdefault(key, (description, actions, list(trail)))
            claim(
                described == description,
                f"states with one state_key, the other after {there}",
                described,
                description,
                trail,
            )
            claim(
                legal == actions, f"actions at one state_key, the other after {there}", legal, actions, trail
            )
            trail.append(walker.pick(info))
            _, _, terminated, truncated, info = env.step(trail[-1])
            if terminated or truncated:
                break
