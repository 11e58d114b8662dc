"""The environment contract: what every EnvRL environment offers, in one file.

`TextEnv` is a Gymnasium environment whose observations and actions are text. A subclass implements the
hooks at the bottom of the class; `reset` and `step` here turn them into the contract (seeding, task
selection, info keys, behaviour after the end, cutting of over-long text), so every environment behaves alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypedDict

import gymnasium
from gymnasium.error import ResetNeeded

from envrl.envs.errors import DataNotFound, InvalidTask, NoExpert
from envrl.envs.spaces import FreeText

ActionStatus = Literal["none", "ok", "inadmissible", "malformed"]


class Info(TypedDict):
    """Keys of ``info`` after `reset` and after every `step`, the same in every environment.

    goal: the task in words. task_id: stable; ``reset(options={"task_id": id})`` brings the task back.
    admissible_actions: concrete actions that are legal now. action_templates: open actions such as
    ``search[<query>]``. action_status: ``none`` after reset, else ``ok``, ``inadmissible`` (well formed, not
    legal now) or ``malformed``. is_success: the task is solved. state_key: digest of the full hidden state,
    equal iff the states are equal; counters and clocks are left out. fault: an infrastructure failure, in
    words (the episode is then truncated and must be masked, never scored), else None. text_cut: the
    observation was longer than the space allows and was cut.
    """

    goal: str
    task_id: str
    admissible_actions: tuple[str, ...]
    action_templates: tuple[str, ...]
    action_status: ActionStatus
    is_success: bool
    state_key: str
    fault: str | None
    text_cut: bool


class StepResult(NamedTuple):
    """What one action did. ``extra`` is merged into ``info`` (documented by the environment that uses it)."""

    observation: str
    reward: float = 0.0
    terminated: bool = False
    status: ActionStatus = "ok"
    fault: str | None = None
    extra: dict[str, Any] | None = None


class EnvState(NamedTuple):
    """A snapshot: opaque to callers, picklable, and free of step counters."""

    task_id: str
    observation: str
    terminated: bool
    fault: str | None
    text_cut: bool
    hidden: Any


class TextEnv(gymnasium.Env[str, str], ABC):
    """Base of all EnvRL environments: text in, text out, one contract.

    Args of every subclass are JSON-able, so that an ``EnvSpec`` can be stored and rebuilt anywhere.

    Args:
        max_observation_length: longest observation, in characters; longer text is cut and
            ``info["text_cut"]`` is set.
        max_action_length: bound of the action space, in characters; `step` accepts any string all the same.
        render_mode: ``"ansi"`` makes `render` return the latest observation.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's own form
    #: keys that ``reset(options=...)`` understands
    reset_options: tuple[str, ...] = ("task_id",)
    observation_space: FreeText
    action_space: FreeText

    def __init__(
        self,
        *,
        max_observation_length: int = 8192,
        max_action_length: int = 1024,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(
                f"render_mode must be one of {self.metadata['render_modes']} or None, got {render_mode!r}"
            )
        self.observation_space = FreeText(max_observation_length)
        self.action_space = FreeText(max_action_length)
        self.render_mode = render_mode
        self._task_id: str | None = None
        self._observation = ""
        self._terminated = False
        self._fault: str | None = None
        self._text_cut = False

    # ---- Gymnasium's interface -------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start the task of ``options["task_id"]``, else one drawn from the split with ``self.np_random``.

        Raises:
            InvalidTask: ``task_id`` names no task (one outside the split is accepted). The task that was
                running goes on.
            DataNotFound: the split is empty.
            ValueError: an option that this environment does not know.
        """
        super().reset(seed=seed)
        options = options or {}
        unknown = sorted(set(options) - set(self.reset_options))
        if unknown:
            raise ValueError(
                f"unknown reset option {unknown[0]!r}; {type(self).__name__} knows {list(self.reset_options)}"
            )
        task_id = options.get("task_id")
        if task_id is None:
            ids = self.task_ids()
            if not len(ids):
                raise DataNotFound(
                    f"expected tasks to draw from, found an empty split in {type(self).__name__}"
                )
            task_id = ids[int(self.np_random.integers(len(ids)))]
        elif not isinstance(task_id, str):
            raise InvalidTask(f"a task_id is a str, got {type(task_id).__name__}: {task_id!r}")
        text = self._start(task_id, options)
        # Only now: a task that could not be started leaves the old one as it was, ended or not.
        self._task_id, self._terminated, self._fault = task_id, False, None
        return self._remember(text), self._info("none")

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out one action text. Never raises for what an agent wrote.

        A step after the end changes nothing: the same observation, reward 0, ``terminated`` stays.
        """
        if self._task_id is None:
            raise ResetNeeded("step was called before reset; call env.reset() first")
        if not isinstance(action, str):
            raise TypeError(f"an action is a str, got {type(action).__name__}: {action!r}")
        if self._terminated or self._fault is not None:
            return (
                self._observation,
                0.0,
                self._terminated,
                self._fault is not None,
                self._info("inadmissible"),
            )
        result = self._act(action)
        self._terminated, self._fault = result.terminated, result.fault
        observation = self._remember(result.observation)
        info = self._info(result.status)
        if result.extra:
            info.update(result.extra)
        return observation, result.reward, result.terminated, result.fault is not None, info

    def render(self) -> str | None:
        """The latest observation when ``render_mode="ansi"``, else None."""
        return self._observation if self.render_mode == "ansi" else None

    # ---- beyond Gymnasium ------------------------------------------------------------------------------

    def get_state(self) -> EnvState:
        """A snapshot for branching. A `TimeLimit` wrapper's count is not part of it."""
        if self._task_id is None:
            raise ResetNeeded("get_state was called before reset; call env.reset() first")
        return EnvState(
            self._task_id,
            self._observation,
            self._terminated,
            self._fault,
            self._text_cut,
            self._get_hidden(),
        )

    def set_state(self, state: EnvState) -> tuple[str, dict[str, Any]]:
        """Return to a snapshot taken from this environment or one built alike; gives (observation, info)."""
        self._set_hidden(state.task_id, state.hidden)
        self._task_id, self._observation, self._terminated, self._fault, self._text_cut = state[:5]
        return self._observation, self._info("none")

    @abstractmethod
    def task_ids(self) -> Sequence[str]:
        """Ids of the split, in a fixed order; may be a lazy sequence."""

    def task_type(self, task_id: str) -> str:
        """The kind of a task, for results by kind; ``""`` where there are no kinds."""
        return ""

    @abstractmethod
    def describe_state(self) -> str:
        """The hidden state in words, for simulators that predict from it."""

    @abstractmethod
    def classify_action(self, text: str) -> tuple[ActionStatus, str]:
        """(status, message): how the environment takes ``text`` now, without stepping.

        The message is what the environment would answer to a malformed or inadmissible action, else "".
        """

    def expert_actions(self, privileged: bool = True) -> list[str]:
        """The rest of a winning plan from here; with ``privileged=False`` the imitable expert's next action.

        Raises:
            NoExpert: there is none, or it knows no way to win from here.
        """
        raise NoExpert(f"{type(self).__name__} has no {'privileged' if privileged else 'imitable'} expert")

    # ---- hooks of a concrete environment ---------------------------------------------------------------

    @abstractmethod
    def _start(self, task_id: str, options: dict[str, Any]) -> str:
        """Begin the task; the first observation. Raises InvalidTask for an unknown id, changing nothing."""

    @abstractmethod
    def _act(self, action: str) -> StepResult:
        """Carry out the action in a running task."""

    @abstractmethod
    def _info_fields(self) -> tuple[str, tuple[str, ...], tuple[str, ...], bool, str]:
        """(goal, admissible_actions, action_templates, is_success, state_key) of the present state."""

    @abstractmethod
    def _get_hidden(self) -> Any:
        """The hidden state as a picklable value that later steps do not change."""

    @abstractmethod
    def _set_hidden(self, task_id: str, hidden: Any) -> None:
        """Take up a hidden state again."""

    # ---- shared machinery ------------------------------------------------------------------------------

    def _remember(self, text: str) -> str:
        limit = self.observation_space.max_length
        self._text_cut = len(text) > limit
        self._observation = text[:limit] if self._text_cut else text
        return self._observation

    def _info(self, status: ActionStatus) -> dict[str, Any]:
        goal, admissible, templates, success, key = self._info_fields()
        return {
            "goal": goal,
            "task_id": self._task_id,
            "admissible_actions": admissible,
            "action_templates": templates,
            "action_status": status,
            "is_success": success,
            "state_key": key,
            "fault": self._fault,
            "text_cut": self._text_cut,
        }
