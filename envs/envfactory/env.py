"""`EnvFactoryEnv`: an agent with tools and a user, the Gymnasium face of the toolkits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from gymnasium.error import ResetNeeded

from envrl.envs.core import ActionStatus, StepResult, TextEnv
from envrl.envs.envfactory.episode import Episode, Snapshot
from envrl.envs.envfactory.library import TaskLibrary
from envrl.envs.envfactory.reward import RewardKind
from envrl.envs.envfactory.session import Session, SessionFault
from envrl.envs.envfactory.task import Task
from envrl.envs.envfactory.user import UserFault, make_user
from envrl.envs.errors import NoExpert

Feedback = Literal["explain", "classic"]


class EnvFactoryEnv(TextEnv):
    """Help a user by calling tools that read and change a state.

    An action is a call as JSON, a list of calls, or a message to the user. The episode ends when the user has
    nothing more to ask; the reward comes then. ``info["tools"]`` has the tools in OpenAI's format,
    ``info["reward_parts"]`` what the reward was made of (empty before the end). The registered id limits an
    episode to 30 steps.

    Args:
        suite: tasks that come with EnvRL: ``builtin``.
        split: ``train``, ``held_out``, any other split of the tasks, or ``all``.
        toolkits: keep only tasks whose toolkits are all among these names.
        tasks: a task folder (`envrl factory build` makes them) in place of the suite.
        user: ``scripted``; ``module:function`` (see `envrl.envs.envfactory.user.FunctionUser`); or
            ``{"endpoint": URL, "model": NAME}``.
        reward: ``strict``: 1 for success, else 0. ``partial``: see `envrl.envs.envfactory.reward`.
        feedback: ``explain`` says what is wrong with a malformed call; ``classic`` only that it is.
        tool_list: whether the first observation lists the tools.
        render_mode: ``ansi`` or None.

    >>> import gymnasium, envrl
    >>> env = gymnasium.make("EnvRL/EnvFactory-v0")
    >>> observation, info = env.reset(seed=0)
    >>> info["tools"][0]["type"]
    'function'
    """

    def __init__(
        self,
        suite: str = "builtin",
        split: str = "train",
        toolkits: Sequence[str] | None = None,
        tasks: str | None = None,
        user: str | dict[str, Any] = "scripted",
        reward: RewardKind = "strict",
        feedback: Feedback = "explain",
        tool_list: bool = True,
        render_mode: str | None = None,
        *,
        max_observation_length: int = 16384,
        max_action_length: int = 8192,
    ) -> None:
        super().__init__(
            max_observation_length=max_observation_length,
            max_action_length=max_action_length,
            render_mode=render_mode,
        )
        for name, value, allowed in (
            ("reward", reward, get_args(RewardKind)),
            ("feedback", feedback, get_args(Feedback)),
        ):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}")
        self.split = split  # recordings name it
        self._library = TaskLibrary(suite if tasks is None else Path(tasks), split, toolkits)
        self._user, self._reward, self._explain = make_user(user), reward, feedback == "explain"
        self._tool_list = tool_list
        self._sessions: dict[tuple[str, str], Session] = {}
        self._episode: Episode | None = None

    # ---- the contract ----------------------------------------------------------------------------------

    def task_ids(self) -> Sequence[str]:
        """Ids of the split, in the order of the task file."""
        return self._library.ids

    def task_type(self, task_id: str) -> str:
        """The task's type, ``""`` for one that is not in the task file."""
        return self._library.task_type(task_id)

    def describe_state(self) -> str:
        """Each toolkit's state as JSON, and where the conversation stands."""
        return self._running.describe()

    def classify_action(self, text: str) -> tuple[ActionStatus, str]:
        """(status, answer) of an action without stepping. Calls are tried and taken back."""
        if self._terminated or self._fault is not None:
            return "inadmissible", self._observation
        return self._running.classify(text)

    def expert_actions(self, privileged: bool = True) -> list[str]:
        """The rest of the reference: calls as JSON and messages.

        Nothing in the reference is known before it has been told or looked up, so the expert that sees only
        what the agent sees (``privileged=False``) takes the same next step.

        Raises:
            NoExpert: the task has no reference, or it does not lead to success from here.
        """
        plan = self._running.plan()
        if plan is None:
            task = self._running.task
            what = "does not lead to success from here" if task.reference else "is missing"
            raise NoExpert(f"the reference solution of task {task.id!r} {what}")
        return plan if privileged else plan[:1]

    def close(self) -> None:
        """Close the toolkits' sessions."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    # ---- hooks -----------------------------------------------------------------------------------------

    def _start(self, task_id: str, options: dict[str, Any]) -> str:
        self._episode = self._begin(self._library.task(task_id))
        return self._episode.opening(self._tool_list)

    def _act(self, action: str) -> StepResult:
        episode = self._running
        try:
            result = episode.act(action)
        except (SessionFault, UserFault) as error:
            return StepResult(self._observation, fault=str(error))
        if episode.parts is None:
            return result
        reward = float(episode.parts.success) if self._reward == "strict" else episode.parts.partial
        return result._replace(reward=reward)

    def _info_fields(self) -> tuple[str, tuple[str, ...], tuple[str, ...], bool, str]:
        episode = self._running
        success = episode.parts is not None and episode.parts.success
        return episode.task.turns[0].text, (), episode.toolbox.templates, success, episode.key()

    def _info(self, status: ActionStatus) -> dict[str, Any]:
        info = super()._info(status)
        episode = self._running
        info["tools"] = list(episode.toolbox.openai)
        info["reward_parts"] = {} if episode.parts is None else episode.parts._asdict()
        return info

    def _get_hidden(self) -> Snapshot:
        return self._running.snapshot()

    def _set_hidden(self, task_id: str, hidden: Snapshot) -> None:
        if self._episode is None or self._episode.task.id != task_id:
            self._episode = self._begin(self._library.task(task_id))
        self._episode.restore(hidden)

    # ---- inside ----------------------------------------------------------------------------------------

    @property
    def _running(self) -> Episode:
        if self._episode is None:
            raise ResetNeeded("there is no episode yet; call env.reset() first")
        return self._episode

    def _begin(self, task: Task) -> Episode:
        return self._library.begin(task, self._sessions, self._user, self._explain)
