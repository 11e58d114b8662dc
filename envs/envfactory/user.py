"""The user an agent talks to: scripted by the task, a function, or a language model behind an endpoint."""

import importlib
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from envrl.envs.envfactory.conversation import Conversation, mentions
from envrl.envs.envfactory.task import Task, UserCall

_GO_AHEAD = "Yes, please go ahead with what I asked for."
_DONE = "###DONE###"
_ROLE = """You are a customer who talks to an assistant. Write only your next message, short and plain.
What you want, in this order (ask for the next thing when the one before is done):
{turns}
What you know and tell only when asked:
{slots}
Make nothing up. When everything is done, or cannot be done, write {done} and nothing else."""


class UserFault(Exception):
    """The user cannot answer (endpoint down, function failed); the episode says nothing about the agent."""


class Answer(NamedTuple):
    """What the user does about a message.

    at: the conversation after it. text: what the user says; None: the user leaves. calls: what the user does
    before speaking.
    """

    at: Conversation
    text: str | None
    calls: tuple[UserCall, ...] = ()


class User(Protocol):
    """Answers messages of the agent. The first thing a user says is always the task's first turn."""

    def answer(self, task: Task, at: Conversation, message: str, solved: Callable[[], bool]) -> Answer:
        """The user's answer.

        Args:
            task: the task.
            at: the conversation, ``message`` already taken in.
            message: what the agent said.
            solved: tells whether the task is solved as things stand.

        Raises:
            UserFault: there is none.
        """


class ScriptedUser:
    """Follows the task: fills slots when asked, encourages once a turn, goes on to the next turn, leaves.

    A message that asks (it has a question mark or the word "please") and names a slot of the turn is answered
    with that slot. Any other question is waved through once, unless the task is solved. Anything else ends the
    turn. Nothing is random.
    """

    def answer(self, task: Task, at: Conversation, message: str, solved: Callable[[], bool]) -> Answer:
        """See `User`."""
        turn = task.turns[at.turn]
        asks = "?" in message or mentions(message, "please")
        if asks:
            asked = [
                index
                for index, slot in enumerate(turn.slots)
                if not at.answered >> index & 1 and any(mentions(message, word) for word in slot.ask)
            ]
            if asked:
                slots = [turn.slots[index] for index in asked]
                at = at._replace(answered=at.answered | sum(1 << index for index in asked))
                calls = tuple(call for slot in slots for call in slot.calls)
                return Answer(at, " ".join(slot.reply for slot in slots), calls)
            if "?" in message and not at.questions and not solved():
                return Answer(at._replace(questions=1), _GO_AHEAD)
        if at.turn + 1 < len(task.turns):
            at = at._replace(turn=at.turn + 1, answered=0, questions=0)
            return Answer(at, task.turns[at.turn].text)
        return Answer(at._replace(ended=True), None)


class FunctionUser:
    """A function of your own.

    Args:
        place: ``module:function``. It is called with the `Task` and a tuple of (speaker, text) pairs so far,
            speakers ``user`` and ``agent``, and returns what the user says, or None to leave.
    """

    def __init__(self, place: str) -> None:
        module, _, name = place.partition(":")
        try:
            self._function: Callable[[Task, Sequence[tuple[str, str]]], str | None] = getattr(
                importlib.import_module(module), name
            )
        except (ImportError, AttributeError) as error:
            raise ValueError(f"user={place!r}: expected 'module:function', found {error}") from error

    def answer(self, task: Task, at: Conversation, message: str, solved: Callable[[], bool]) -> Answer:
        """See `User`."""
        spoken = at.transcript or (("user", task.turns[0].text),)
        spoken = (*spoken, ("agent", message))
        try:
            text = self._reply(task, spoken)
        except UserFault:
            raise
        except (Exception, SystemExit) as error:
            raise UserFault(f"the user failed: {type(error).__name__}: {error}") from error
        if text is None:
            return Answer(at._replace(ended=True, transcript=spoken), None)
        return Answer(at._replace(transcript=(*spoken, ("user", text))), text)

    def _reply(self, task: Task, spoken: Sequence[tuple[str, str]]) -> str | None:
        text = self._function(task, spoken)
        if text is not None and not isinstance(text, str):
            raise UserFault(f"the user function returned {type(text).__name__}, expected str or None")
        return text


class EndpointUser(FunctionUser):
    """A language model behind an OpenAI-compatible endpoint plays the user, at temperature 0.

    Args:
        url, model, timeout, tries: see `complete`.
    """

    def __init__(self, url: str, model: str, timeout: float = 60.0, tries: int = 3) -> None:
        self._url, self._model, self._timeout, self._tries = url, model, timeout, tries

    def _reply(self, task: Task, spoken: Sequence[tuple[str, str]]) -> str | None:
        turns = "\n".join(f"- {turn.text}" for turn in task.turns)
        slots = "\n".join(f"- {slot.name}: {slot.reply}" for turn in task.turns for slot in turn.slots)
        role = _ROLE.format(turns=turns, slots=slots or "- nothing more", done=_DONE)
        # The model speaks as the assistant of its own chat: what the agent said is its user's side.
        messages = [{"role": "system", "content": role}]
        messages += [
            {"role": "assistant" if who == "user" else "user", "content": said} for who, said in spoken
        ]
        text = complete(self._url, self._model, messages, timeout=self._timeout, tries=self._tries)
        return None if _DONE in text else text


def complete(
    url: str,
    model: str,
    messages: Sequence[Mapping[str, str]],
    temperature: float = 0.0,
    timeout: float = 60.0,
    tries: int = 3,
) -> str:
    """The answer of a language model behind an OpenAI-compatible endpoint.

    The key is read from ``OPENAI_API_KEY`` where that is set.

    Args:
        url: the base address, such as ``http://localhost:8000/v1``.
        model: the name of the model there.
        messages: with ``role`` and ``content``.
        temperature: of sampling.
        timeout: seconds until an answer counts as missing.
        tries: how often a request is made.

    Raises:
        UserFault: there is no answer.
    """
    address = url.rstrip("/") + "/chat/completions"
    body = {"model": model, "messages": list(messages), "temperature": temperature}
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("OPENAI_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    problem = ""
    for _ in range(tries):
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                text: str = json.load(response)["choices"][0]["message"]["content"]
                return text.strip()
        except urllib.error.HTTPError as error:
            problem = f"{error.code} {error.reason}"
            if error.code < 500 and error.code != 429:
                break
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            problem = f"{type(error).__name__}: {error}"
    raise UserFault(f"the endpoint {address} gave no answer: {problem}")


def make_user(spec: str | dict[str, Any]) -> User:
    """The user that an environment's argument names.

    Args:
        spec: ``scripted``, ``module:function``, or ``{"endpoint": URL, "model": NAME}`` with, if wanted,
            ``timeout`` and ``tries``.

    Raises:
        ValueError: it names none.
    """
    if isinstance(spec, dict):
        if not {"endpoint", "model"} <= set(spec) <= {"endpoint", "model", "timeout", "tries"}:
            raise ValueError(
                f"user: expected {{'endpoint': URL, 'model': NAME}}, found the keys {sorted(spec)}"
            )
        return EndpointUser(
            spec["endpoint"], **{key: value for key, value in spec.items() if key != "endpoint"}
        )
    if spec == "scripted":
        return ScriptedUser()
    if not isinstance(spec, str) or ":" not in spec:
        raise ValueError(f"user must be 'scripted', 'module:function' or an endpoint's dict, got {spec!r}")
    return FunctionUser(spec)
