"""Checks of steps: what agents may write, what is admissible, the end of an episode, experts."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from envrl.envs.conformance.subject import Skipped, Subject, attempt, claim, claim_info, claim_same, look
from envrl.envs.conformance.walks import JUNK, Walker, answer_of, facts, near_misses
from envrl.envs.errors import NoExpert

_MOST_ACTIONS = 40  # of one state that are tried, where there are very many


def check_actions(subject: Subject) -> None:
    """Text an agent may write by mistake is answered, never raises, changes nothing unless it is ``ok``."""
    env = subject.env()
    elsewhere: dict[str, None] = {}  # what is legal in one state is mostly not in another
    for seed in subject.seeds:
        env.reset(seed=seed)
        for _ in _stops(env, seed, subject.steps):
            elsewhere.update(dict.fromkeys(look(env)[1]["admissible_actions"]))
    for seed in subject.seeds:
        env.reset(seed=seed)
        for trail in _stops(env, seed, subject.steps):
            info = look(env)[1]
            now = info["admissible_actions"]
            wrong = [action for action in elsewhere if action not in now][:_MOST_ACTIONS]
            for text in (*JUNK, *near_misses(now[:4]), *wrong):
                _claim_answer(env, text, info, trail)


def check_admissible(subject: Subject) -> None:
    """Each admissible action is ``ok``, and none is listed twice."""
    env = subject.env()
    for seed in subject.seeds:
        env.reset(seed=seed)
        for trail in _stops(env, seed, subject.steps):
            info = look(env)[1]
            actions = info["admissible_actions"]
            twice = sorted({action for action in actions if actions.count(action) > 1})
            claim(not twice, "info['admissible_actions']", "each action once", f"{twice} twice", trail)
            for action in actions[:_MOST_ACTIONS]:
                status = _claim_answer(env, action, info, trail)
                claim(status == "ok", f"status of the admissible action {action!r}", "ok", status, trail)


def check_end(subject: Subject) -> None:
    """A step after the end changes nothing, a snapshot of the end stays ended, and a reset begins anew."""
    env = subject.env()
    for seed in subject.seeds:
        trail = _reach_end(subject, env, seed)
        if trail is None:
            continue
        observation, info = look(env)
        for action in ("", "\ud800", *info["admissible_actions"][:3], *trail[-1:]):
            found = answer_of(env.step(action))
            expected = [
                observation,
                0.0,
                True,
                False,
                {**facts(info), "action_status": found[4]["action_status"]},
            ]
            claim_same(f"the step {action[:40]!r} after the end", expected, found, trail)
        terminated = env.step("")[2]
        claim(
            terminated is True, "terminated after set_state(get_state()) at the end", True, terminated, trail
        )
        env.reset(seed=seed)
        terminated = env.step("")[2]
        claim(terminated is False, "terminated after a reset", False, terminated)
        return
    raise Skipped(f"no end within {20 * subject.steps} random steps; give winning_actions")


def check_experts(subject: Subject) -> None:
    """The privileged plan wins from the start and from elsewhere; the imitable expert gives one action."""
    env, plans = subject.env(), 0
    for seed in subject.seeds:
        env.reset(seed=seed)
        for trail in _stops(env, seed, subject.steps):
            state = env.get_state()
            plan = _ask(env, True, trail)
            if plan:
                plans += 1
                for action in plan:
                    _, _, terminated, _, info = env.step(action)
                won = terminated and info["is_success"]
                claim(
                    won, "the end of the privileged plan", "terminated and is_success", info, [*trail, *plan]
                )
            env.set_state(state)
            actions = _ask(env, False, trail)
            claim(
                actions is None or len(actions) <= 1, "the imitable expert", "its next action", actions, trail
            )
            env.set_state(state)
    if not plans:
        raise Skipped("expert_actions() raises NoExpert")


def _stops(env: Any, seed: int, steps: int) -> Iterable[list[str]]:
    """Walk legally, giving the actions so far at the start and at three later states."""
    walker, trail = Walker(seed, legal=True), list[str]()
    yield []
    for n in range(1, steps + 1):
        trail.append(walker.pick(look(env)[1]))
        _, _, terminated, truncated, _ = attempt("step", partial(env.step, trail[-1]), trail)
        if terminated or truncated:
            return
        if n % max(1, steps // 3) == 0:
            yield list(trail)


def _claim_answer(env: Any, text: str, before: dict[str, Any], trail: list[str]) -> str:
    """What the environment answers to ``text`` is what `classify_action` foretells; gives the status."""
    state, shown = env.get_state(), f"{text[:40]!r}" + "..." * (len(text) > 40)
    status, message = attempt(f"classify_action({shown})", lambda: env.classify_action(text), trail)
    unmoved = look(env)[1]["state_key"] == before["state_key"]
    claim(unmoved, f"state_key after classify_action({shown})", "the same", "another", trail)
    observation, reward, terminated, _, info = attempt(f"step({shown})", lambda: env.step(text), trail)
    claim_info(env, observation, info, [*trail, text])
    found = info["action_status"]
    claim(status == found, f"status of {shown} in classify_action and in step", status, found, trail)
    if status == "ok":
        claim(
            message == "", f"message of classify_action({shown}), which is ok", "an empty str", message, trail
        )
    else:
        limit = env.observation_space.max_length
        claim(
            observation == message[:limit],
            f"answer to {shown}, foretold by classify_action",
            message,
            observation,
            trail,
        )
        same = info["state_key"] == before["state_key"]
        claim(same, f"state_key after {shown}, which is {status}", "the same", "another", trail)
        claim(
            reward == 0 and not terminated,
            f"step({shown}), which is {status}",
            "reward 0",
            (reward, terminated),
            trail,
        )
    env.set_state(state)
    return str(found)


def _reach_end(subject: Subject, env: Any, seed: int) -> list[str] | None:
    _, info = env.reset(seed=seed)
    plan = list(subject.winning_actions(env)) if subject.winning_actions else _ask(env, True, [])
    walker, trail = Walker(seed), []
    for n in range(max(len(plan or ()), 20 * subject.steps)):
        trail.append(plan[n] if plan and n < len(plan) else walker.pick(info))
        _, _, terminated, _, info = env.step(trail[-1])
        if terminated:
            return trail
        if plan and n == len(plan) - 1 and subject.winning_actions:
            claim(False, "the end of winning_actions", "terminated", "an episode that goes on", trail)
    return None


def _ask(env: Any, privileged: bool, trail: list[str]) -> list[str] | None:
    try:
        plan = env.expert_actions(privileged=privileged)
    except NoExpert:
        return None
    right = isinstance(plan, list) and all(isinstance(action, str) for action in plan)
    claim(right, f"expert_actions(privileged={privileged})", "a list of str", plan, trail)
    return list(plan)
