"""`Dialogue`: a task that two parties work on, an agent with its tools and a user, who may have tools too.

A state machine without Gymnasium or PettingZoo: one of the two is on turn, acts, and stays on turn until it has
said something. The user knows what it wants and speaks first, with the task's own words.
"""

from typing import Any, Literal, NamedTuple

from envrl.envs.core import ActionStatus
from envrl.envs.envfactory.actions import Malformed, Message, parse_action
from envrl.envs.envfactory.conversation import Conversation
from envrl.envs.envfactory.episode import Episode
from envrl.envs.envfactory.library import TaskLibrary
from envrl.envs.envfactory.reward import RewardParts
from envrl.envs.envfactory.session import Session, SessionFault
from envrl.envs.envfactory.task import Task
from envrl.envs.envfactory.user import Answer

Role = Literal["agent", "user"]
ROLES: tuple[Role, Role] = ("agent", "user")
#: what the user says to leave
LEAVE = "###DONE###"
_LEFT = "The user has left the conversation."
_ROLE = """You are a customer who talks to an assistant. Answer with exactly one of:
- your next message, short and plain;
- {leave} and nothing else, when everything is done or cannot be done{calls}.

What you want, in this order (ask for the next thing when the one before is done):
{turns}

What you know and tell only when asked:
{slots}"""
_CALLS = """;
- a call of one of your own tools as JSON: {"name": "<tool>", "arguments": {...}}, or a list of such calls"""


class View(NamedTuple):
    """What one of the two sees.

    text: what came of its last action, or what was said to it. status: of its last action.
    """

    text: str
    status: ActionStatus = "none"


class _Puppet:
    """A user who says what it is told to say; see `envrl.envs.envfactory.user.User`."""

    def __init__(self) -> None:
        self.words: str | None = None

    def answer(self, task: Task, at: Conversation, message: str, solved: Any) -> Answer:
        if self.words is None:
            return Answer(at._replace(ended=True), None)
        return Answer(at, self.words)


class Dialogue:
    """One task at a time, worked on by both.

    Args:
        library: where tasks come from.
        tool_list: list the tools in what each of the two sees first.

    Attributes:
        episode: the task being worked on.
        turn: who acts next.
        views: what each of the two sees.
        fault: why the dialogue cannot go on, None while it can.
    """

    def __init__(self, library: TaskLibrary, tool_list: bool = True) -> None:
        self._library, self._tool_list = library, tool_list
        self._sessions: dict[tuple[str, str], Session] = {}
        self._puppet = _Puppet()
        self._message = ""
        self.episode: Episode | None = None
        self.turn: Role = "agent"
        self.views: dict[Role, View] = {}
        self.fault: str | None = None

    def start(self, task_id: str) -> None:
        """Begin a task; its first words have been said, and the agent acts first.

        Raises:
            InvalidTask: there is no such task.
            SessionFault: a toolkit does not start.
        """
        task = self._library.task(task_id)
        self.episode = self._library.begin(task, self._sessions, self._puppet)
        self.turn, self._message, self.fault = "agent", "", None
        said = f"{user_role(self.episode, self._tool_list)}\n\nYou have said: {task.turns[0].text}"
        self.views = {"agent": View(self.episode.opening(self._tool_list)), "user": View(said)}

    @property
    def ended(self) -> bool:
        """The user has left."""
        return self.episode is not None and self.episode.parts is not None

    @property
    def parts(self) -> RewardParts | None:
        """What the reward is made of, once the user has left."""
        return None if self.episode is None else self.episode.parts

    def act(self, action: str) -> None:
        """Carry out an action of the one on turn; never raises for what it wrote."""
        assert self.episode is not None, "a dialogue is started before anybody acts"
        try:
            if self.turn == "agent":
                self._agent_acts(self.episode, action)
            else:
                self._user_acts(self.episode, action)
        except SessionFault as error:
            self.fault = str(error)

    def tools(self, role: Role) -> list[dict[str, Any]]:
        """The tools of one of the two, in OpenAI's format."""
        assert self.episode is not None
        if role == "agent":
            return list(self.episode.toolbox.openai)
        return list(self.episode.toolbox.openai_of_user)

    def close(self) -> None:
        """Close the toolkits' sessions."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    # ---- inside ------------------------------------------------------------------------------------------

    def _agent_acts(self, episode: Episode, action: str) -> None:
        parsed = parse_action(action)
        if isinstance(parsed, Message):  # the user's answer decides what it does, so it waits for that
            self._message, self.turn = action, "user"
            self.views["user"] = View(parsed.text)
            self.views["agent"] = View("", "ok")
            return
        result = episode.act(action)
        self.views["agent"] = View(result.observation, result.status)

    def _user_acts(self, episode: Episode, action: str) -> None:
        parsed = parse_action(action)
        if isinstance(parsed, Malformed):
            self.views["user"] = View(f"Error: {parsed.reason}", "malformed")
            return
        if isinstance(parsed, Message):
            self._puppet.words = None if parsed.text.strip() == LEAVE else parsed.text
            said = episode.act(self._message)
            self.turn = "agent"
            self.views["agent"] = View(said.observation)
            self.views["user"] = View(_LEFT if self.ended else "", "ok")
            return
        lines: list[str] = []
        done = False
        for call in parsed:
            if call.name not in episode.task.user_tools:
                own = ", ".join(episode.task.user_tools) or "none"
                text, ok = f"Error: {call.name!r} is no tool of yours; you have {own}", False
            else:
                result = episode.call_for_user(call)
                text, ok = result.text, result.ok
            done = done or ok
            lines.append(text if len(parsed) == 1 else f"{len(lines) + 1}. {call.name}: {text}")
        self.views["user"] = View("\n".join(lines), "ok" if done else "inadmissible")


def user_role(episode: Episode, listing: bool = True) -> str:
    """What whoever plays the user is told: what to want, what to know, and with which tools to act.

    Args:
        episode: its task is the user's.
        listing: with one line a tool.
    """
    task = episode.task
    turns = "\n".join(f"- {turn.text}" for turn in task.turns)
    slots = "\n".join(f"- {slot.name}: {slot.reply}" for turn in task.turns for slot in turn.slots)
    role = _ROLE.format(
        leave=LEAVE, calls=_CALLS if task.user_tools else "", turns=turns, slots=slots or "- nothing more"
    )
    if task.user_tools and listing:
        role += f"\n\nYour tools:\n{episode.toolbox.signatures_of_user}"
    return role
