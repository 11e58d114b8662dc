"""Copies of `ToyEnv` with one fault each; the conformance kit must find every one of them."""

import itertools
import random
from typing import ClassVar

import numpy as np
from toy_env import Hidden, ToyEnv

from envrl.envs.core import StepResult
from envrl.envs.errors import NoExpert

# ---- resets ------------------------------------------------------------------------------------------------


class UnseededReset(ToyEnv):
    """Never hands the seed to Gymnasium."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None, options=options)


class LongText(ToyEnv):
    """Says more than its space allows."""

    def _remember(self, text):
        self._text_cut = False
        self._observation = text + "." * 9000
        return self._observation


class NoGoal(ToyEnv):
    def _info(self, status):
        info = super()._info(status)
        del info["goal"]
        return info


class ListOfActions(ToyEnv):
    def _info(self, status):
        return {**super()._info(status), "admissible_actions": list(self._admissible())}


class NumberForSuccess(ToyEnv):
    def _info(self, status):
        return {**super()._info(status), "is_success": int(self.s.coin == "home")}


class OwnStatus(ToyEnv):
    def _info(self, status):
        return {**super()._info(status), "action_status": "fine" if status == "ok" else status}


class StatusAfterReset(ToyEnv):
    def _info(self, status):
        return super()._info("ok" if status == "none" else status)


class NanReward(ToyEnv):
    def _act(self, action):
        return super()._act(action)._replace(reward=float("nan"))


class OwnTimeLimit(ToyEnv):
    def step(self, action):
        observation, reward, terminated, _, info = super().step(action)
        self.count = getattr(self, "count", 0) + 1
        return observation, reward, terminated, self.count >= 5, info


class WhateverTask(ToyEnv):
    """Takes any task id for the first task."""

    def _start(self, task_id, options):
        return super()._start(task_id if str(task_id).startswith("coin-") else "coin-0", options)


class DeafToTask(ToyEnv):
    """Always starts the first task."""

    def _start(self, task_id, options):
        text = super()._start(task_id, options)
        return text and super()._start("coin-0", options)

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        self._task_id = info["task_id"] = "coin-0"
        return observation, info


class LeftOver(ToyEnv):
    """A note outlives the reset."""

    def _start(self, task_id, options):
        noted = self.s.noted if hasattr(self, "s") else ""
        text = super()._start(task_id, options)
        self.s = self.s._replace(noted=noted)
        return text


class HalfReset(ToyEnv):
    """A refused reset has already thrown the old task away."""

    def _start(self, task_id, options):
        self.s = Hidden("home", "attic", frozenset(), "")
        return super()._start(task_id, options)


class LooseOptions(ToyEnv):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed, options={k: v for k, v in (options or {}).items() if k == "task_id"})


class OneTask(ToyEnv):
    """Draws the first task only."""

    def reset(self, *, seed=None, options=None):
        if not (options or {}).get("task_id"):
            options = {"task_id": "coin-0"}
        return super().reset(seed=seed, options=options)


class GlobalDraw(ToyEnv):
    """A generator shared by all of the process decides where the coin is."""

    def _start(self, task_id, options):
        text = super()._start(task_id, options)
        if random.random() < 0.5:
            self.s = self.s._replace(coin="attic")
        return text


class GlobalSeeding(ToyEnv):
    """Seeds the global generator, so that its own draws look right."""

    def _start(self, task_id, options):
        np.random.seed(int(task_id[5:]))
        return super()._start(task_id, options) + str(np.random.random())


class CountsInstances(ToyEnv):
    """The second environment of a process differs from the first."""

    made: ClassVar = itertools.count()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.number = next(self.made)

    def _act(self, action):
        result = super()._act(action)
        return result._replace(observation=f"{result.observation} ({self.number})")


# ---- steps -------------------------------------------------------------------------------------------------


class AsciiOnly(ToyEnv):
    def _act(self, action):
        action.encode("ascii")
        return super()._act(action)


class NoSurrogates(ToyEnv):
    def _act(self, action):
        action.encode("utf-8")
        return super()._act(action)


class NoEmptyText(ToyEnv):
    def _act(self, action):
        action[0]
        return super()._act(action)


class RecursiveParser(ToyEnv):
    """Descends a level at each brace."""

    def _act(self, action):
        self._descend(action)
        return super()._act(action)

    def _descend(self, text):
        return self._descend(text[1:]) + 1 if text.startswith("{") else 0


class MalformedMoves(ToyEnv):
    """Text that means nothing leads to the attic."""

    def _act(self, action):
        result = super()._act(action)
        if result.status == "malformed":
            self.s = self.s._replace(place="attic")
        return result


class MalformedPays(ToyEnv):
    def _act(self, action):
        result = super()._act(action)
        return result._replace(reward=-0.1) if result.status == "malformed" else result


class OtherStatus(ToyEnv):
    """step and classify_action differ about what is malformed."""

    def classify_action(self, text):
        status, message = super().classify_action(text)
        return ("inadmissible" if status == "malformed" and "[" in text else status), message

    def _act(self, action):
        result = super()._act(action)
        return result._replace(
            status=ToyEnv.classify_action(self, action)[0] if result.status != "ok" else "ok"
        )


class OtherMessage(ToyEnv):
    def _act(self, action):
        result = super()._act(action)
        return result._replace(observation="Eh?") if result.status == "inadmissible" else result


class ClassifyMoves(ToyEnv):
    """Classifying leaves a trace in the state."""

    def classify_action(self, text):
        self.s = self.s._replace(noted=text[:3])
        return super().classify_action(text)


class ClassifyRaises(ToyEnv):
    def classify_action(self, text):
        text.encode("utf-8")
        return super().classify_action(text)


class FalsePromise(ToyEnv):
    """Lists an action that it then refuses."""

    def _info(self, status):
        info = super()._info(status)
        return {**info, "admissible_actions": (*info["admissible_actions"], "sing")}


class Twice(ToyEnv):
    def _info(self, status):
        info = super()._info(status)
        return {**info, "admissible_actions": (*info["admissible_actions"], "look")}


class StepsOn(ToyEnv):
    """Goes on after the end."""

    def step(self, action):
        self._terminated = False
        return super().step(action)


class PaysAgain(ToyEnv):
    """Pays for the end at each step after it."""

    def step(self, action):
        observation, _, terminated, truncated, info = super().step(action)
        return observation, float(terminated), terminated, truncated, info


class EndOutlivesReset(ToyEnv):
    def reset(self, *, seed=None, options=None):
        terminated = self._terminated
        answer = super().reset(seed=seed, options=options)
        self._terminated = terminated
        return answer


class PoorExpert(ToyEnv):
    def expert_actions(self, privileged=True):
        return super().expert_actions(privileged)[:-1]


class TalkativeExpert(ToyEnv):
    """Its imitable expert tells the whole plan."""

    def expert_actions(self, privileged=True):
        return super().expert_actions(True)


# ---- states ------------------------------------------------------------------------------------------------


class Amnesia(ToyEnv):
    """Snapshots forget what was noted."""

    def _get_hidden(self):
        return self.s._replace(noted="")


class SharedSnapshot(ToyEnv):
    """A snapshot is the live state, which later steps change."""

    def _get_hidden(self):
        self.box = getattr(self, "box", [None])
        self.box[0] = self.s
        return self.box

    def _act(self, action):
        result = super()._act(action)
        if hasattr(self, "box"):
            self.box[0] = self.s
        return result

    def _set_hidden(self, task_id, hidden):
        self.s = hidden[0]


class StuckSnapshot(ToyEnv):
    """A snapshot that no other process can take."""

    def _get_hidden(self):
        return (self.s, lambda: None)

    def _set_hidden(self, task_id, hidden):
        self.s = hidden[0]


class LostObservation(ToyEnv):
    def set_state(self, state):
        return super().set_state(state._replace(observation="You are back."))


class BlindKey(ToyEnv):
    """The key does not see what was looked at."""

    def _info(self, status):
        info = super()._info(status)
        return {**info, "state_key": f"{self.s.coin} {self.s.place} {self.s.noted!r}"}


class CountingKey(ToyEnv):
    """The key counts steps."""

    def _act(self, action):
        self.count = getattr(self, "count", 0) + 1
        return super()._act(action)

    def _info(self, status):
        info = super()._info(status)
        return {**info, "state_key": f"{info['state_key']} {getattr(self, 'count', 0)}"}


# ---- rebuilding --------------------------------------------------------------------------------------------


class TakesCallable(ToyEnv):
    def __init__(self, score=None, **kwargs):
        super().__init__(**kwargs)
        self.score = score

    def _act(self, action):
        result = super()._act(action)
        return result._replace(reward=self.score(result.reward)) if self.score else result


class HashOrder(ToyEnv):
    """Actions come in the order of a set."""

    def _admissible(self):
        return tuple(set(super()._admissible()))


class HashKey(ToyEnv):
    def _info(self, status):
        info = super()._info(status)
        return {**info, "state_key": f"{hash(info['state_key']):x}"}


class ClassState(ToyEnv):
    """All environments of a process are in the same room."""

    shared: ClassVar = {}

    def _act(self, action):
        self.s = self.s._replace(place=self.shared.get("place", self.s.place))
        result = super()._act(action)
        self.shared["place"] = self.s.place
        return result

    def _start(self, task_id, options):
        self.shared.clear()
        return super()._start(task_id, options)


class OwnSpace(ToyEnv):
    """Each environment has a space of its own size."""

    made: ClassVar = itertools.count()

    def __init__(self, **kwargs):
        super().__init__(max_observation_length=1000 + next(self.made), **kwargs)


class ArrayInfo(ToyEnv):
    """An extra that vectors cannot batch."""

    def _act(self, action):
        result = super()._act(action)
        return StepResult(*result[:5], extra={"letters": np.arange(len(result.observation))})


class WorkerFails(ToyEnv):
    """Fails where it is not the main process."""

    def _start(self, task_id, options):
        import multiprocessing

        if multiprocessing.parent_process() is not None:
            raise RuntimeError("no screen in a worker")
        return super()._start(task_id, options)


class TupleNames(ToyEnv):
    """An argument that JSON turns into something else."""

    def __init__(self, names=(), **kwargs):
        super().__init__(**kwargs)
        self.names = names

    def _act(self, action):
        result = super()._act(action)
        return result._replace(observation=f"{result.observation} {self.names}")


# ---- not broken, but with less than the others ------------------------------------------------------------


class NoExpertHere(ToyEnv):
    def expert_actions(self, privileged=True):
        raise NoExpert("none")


class NoDescription(ToyEnv):
    def describe_state(self):
        raise NotImplementedError("later")


def refuse():
    raise ValueError("not today")
