"""Users: scripted, functions, and a language model behind a real endpoint (a small server in this process)."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, chat_server

from envrl.envs.envfactory.conversation import Conversation, given, mentions, say, see
from envrl.envs.envfactory.env import EnvFactoryEnv
from envrl.envs.envfactory.task import Task
from envrl.envs.envfactory.user import EndpointUser, ScriptedUser, UserFault, complete, make_user

sys.path.insert(0, str(Path(__file__).parent))  # tasks and users are named by module
import episodes

TASK = Task.model_validate(episodes.TALK)


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("It costs $1,250.50.", 1250.5, True), ("It costs 1250.5", 1250.5, True), ("1250.499 or so", 1250.5, True),
        ("a share of 0.031", 0.035, False), ("nothing: 0", 0.004, False), ("0.035", 0.035, True),
        ("1250.49", 1250.5, False), ("12 and 1250", 1250, True), ("1250.0", 1250, True), ("1251", 1250, False),
        ("A1250", 1250, False), ("1,2,3", 123, False), ("-5 degrees", -5, True), ("room 5a", 5, False), ("5.", 5, True),
        ("the Order  A12\nis late", "order a12 is", True), ("A12", "A1", False), ("A1.", "a1", True),
        ("BA1", "A1", False),
        ("costs (about) 5", "(about)", True), ("a@b.com, x", "a@b.com", True), ("naïve Ünal", "ünal", True),
    ],
)  # fmt: skip
def test_mentions(text: str, value: Any, found: bool) -> None:
    assert mentions(text, value) is found


def test_what_was_seen_and_said() -> None:
    task = Task.model_validate(episodes.LEND)
    start = Conversation()
    assert say(task, start, "It costs 1250.5") is start  # not known yet
    assert see(task, start, "nothing of it") is start
    read = see(task, start, '{"book": "B1", "price": 1250.5}')
    assert read.seen == 0b11 and given(task.outputs, read) == [False, True]
    assert given(task.outputs, say(task, read, "1,250.50 euros")) == [True, True]
    echoed = see(task, start, '{"book": "B1", "price": 1250.5}', {"book": "B1"})
    assert echoed.seen == 0b01  # what the agent put in is no news


def answer(message: str, at: Conversation = Conversation(), solved: bool = False) -> Any:  # noqa: B008 - immutable
    return ScriptedUser().answer(TASK, at, message, lambda: solved)


def test_the_scripted_user() -> None:
    told = answer("Which book do you mean?")
    assert (told.text, told.at.answered, told.at.turn) == ("Dune.", 1, 0)
    both = answer("Please tell me the title and the airplane mode")
    assert both.text == "Dune. I try." and both.calls[0].tool == "set_airplane_mode"
    again = answer("And the title?", told.at)
    assert again.text.startswith("Yes, please go ahead") and again.at.questions == 1
    assert answer("And the title?", again.at).text == TASK.turns[1].text
    assert answer("Is that all?", solved=True).at.turn == 1
    assert answer("The title is nice.").at == Conversation(turn=1)  # no question
    last = answer("Bye.", Conversation(turn=1))
    assert last.text is None and last.at.ended


def short(task: Task, spoken: Sequence[tuple[str, str]]) -> str | None:
    """A user of our own."""
    if "fail" in spoken[-1][1]:
        raise RuntimeError("no mood")
    if "number" in spoken[-1][1]:
        return 5  # type: ignore[return-value]
    return None if len(spoken) > 3 else f"You said {spoken[-1][1]!r}; Dune, of course."


def test_a_function_as_user(tmp_path: Path) -> None:
    env = EnvFactoryEnv(
        tasks=episodes.folder(tmp_path, {**episodes.TALK, "split": "train"}), user=f"{__name__}:short"
    )
    sys.modules.setdefault(__name__, sys.modules[short.__module__])
    _, info = env.reset()
    observation, _, terminated, _, after = env.step("Which one?")
    assert observation == "User: You said 'Which one?'; Dune, of course." and not terminated
    assert after["state_key"] != info["state_key"]
    snapshot = env.get_state()
    _, _, terminated, truncated, after = env.step("Thanks.")
    assert (terminated, truncated, after["is_success"]) == (True, False, False)
    env.set_state(snapshot)
    for text, fault in (("fail", "RuntimeError: no mood"), ("number", "returned int, expected str")):
        env.set_state(snapshot)
        observation, reward, terminated, truncated, after = env.step(text)
        assert (reward, terminated, truncated) == (0.0, False, True) and fault in after["fault"]
    assert env.step("again")[3] is True


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with chat_server() as server:
        yield server


def test_an_endpoint_as_user(tmp_path: Path, model: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    model.answers[:] = [(500, b"busy"), " It is Dune. ", "###DONE###"]
    tasks = episodes.folder(tmp_path, {**episodes.TALK, "split": "train"})
    env = EnvFactoryEnv(tasks=tasks, user={"endpoint": model.url, "model": "m"})
    env.reset()
    assert env.step("Which book?")[0] == "User: It is Dune."
    assert env.step("Done.")[2] is True
    path, key, body = model.asked[-1]
    assert (path, key, body["model"], body["temperature"]) == ("/v1/chat/completions", "Bearer key", "m", 0)
    roles = [(m["role"], m["content"]) for m in body["messages"]]
    assert roles[1:] == [
        ("assistant", "Lend a book to cy."), ("user", "Which book?"), ("assistant", "It is Dune."), ("user", "Done."),
    ]  # fmt: skip
    assert "And write the note" in roles[0][1] and "- title: Dune." in roles[0][1]


@pytest.mark.parametrize(
    ("answers", "asked", "reason"),
    [
        ([(401, b"who are you")], 1, "401"),
        ([(503, b"")] * 3, 3, "503"),
        ([(200, b"no json")] * 3, 3, "JSONDecodeError"),
        ([(200, b"{}")] * 3, 3, "KeyError"),
    ],
)
def test_endpoints_that_do_not_answer(model: ChatServer, answers: list[Any], asked: int, reason: str) -> None:
    model.answers[:] = answers
    with pytest.raises(UserFault, match=reason):
        complete(model.url, "m", [{"role": "user", "content": "hi"}])
    assert len(model.asked) == asked


def test_an_endpoint_that_is_not_there(tmp_path: Path) -> None:
    user = EndpointUser("http://127.0.0.1:9/v1", "m", timeout=1, tries=1)
    with pytest.raises(UserFault, match="gave no answer"):
        user.answer(TASK, Conversation(), "hi", lambda: False)
    assert isinstance(make_user({"endpoint": "http://x/v1", "model": "m", "tries": 2}), EndpointUser)
