"""`envrl play` through a pipe, and in a real terminal."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pexpect
import pyte
import pytest

from envrl.envs.lookup import make_env
from envrl.play.reading import completions
from envrl.play.session import Session
from envrl.wrappers import Transition, iter_episodes, read_env_spec

TASK = "procedural/pick_and_place_simple/7"
PLAY = [sys.executable, "-m", "envrl", "play", "alfworld"]


@pytest.fixture
def session() -> Session:
    session = Session(make_env("alfworld", {}, max_episode_steps=-1), limit=4)
    session.begin(task_id=TASK)
    return session


def plan(session: Session) -> list[str]:
    return session.inner.expert_actions()


def typed(lines: list[str], *options: str) -> str:
    """The transcript of a game whose lines come through a pipe."""
    result = subprocess.run(
        [*PLAY, *options], input="\n".join(lines), capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def episodes(folder: Path) -> list[list[Transition]]:
    return list(iter_episodes(folder))


# ---- the session, without a terminal -----------------------------------------------------------------------


def test_undo_brings_back_state_observation_and_actions(session: Session) -> None:
    first = (session.observation, session.info, session.inner.get_state())
    move = next(a for a in session.info["admissible_actions"] if a.startswith("go to"))
    session.act(move)
    second = (session.observation, session.info["state_key"])
    session.act("nonsense")
    assert session.undo() and (session.observation, session.info["state_key"]) == second
    assert session.undo() and (session.observation, session.info, session.inner.get_state()) == first
    assert not session.undo()
    session.act(move)
    assert (session.observation, session.info["state_key"]) == second


def test_undone_steps_do_not_count_against_the_limit(session: Session) -> None:
    for _ in range(3):
        session.act("look")
    assert session.undo() and session.undo()
    session.act("look")
    session.act("look")
    assert not session.over
    session.act("look")
    assert session.over and not session.terminated
    assert session.undo() and not session.over


def test_hints_lead_to_the_goal_and_the_end_can_be_undone(session: Session) -> None:
    session.limit = None
    while not session.over:
        hint = session.hint()
        assert hint is not None
        session.act(hint)
    assert session.terminated and session.info["is_success"] and session.score == 1.0
    assert session.undo() and not session.over and session.score == 0.0
    session.restart()
    assert session.info["task_id"] == TASK and session.turns == []


def test_completion_offers_actions_by_their_beginning_then_by_their_words(session: Session) -> None:
    admissible = session.info["admissible_actions"]
    place = next(a for a in admissible if a.startswith("go to")).removeprefix("go to ")
    assert completions(session, "") == list(admissible)
    assert completions(session, "GO TO") == [a for a in admissible if a.startswith("go to")]
    assert f"go to {place}" in completions(session, place)
    assert completions(session, "zzz") == []
    assert completions(session, ":u") == [":undo"]
    session.info = session.info | {"action_templates": ("search[<query>]",)}
    assert completions(session, "sea") == ["search["]


# ---- through a pipe ----------------------------------------------------------------------------------------


def test_a_piped_game_is_won_and_recorded_without_its_undone_step(tmp_path: Path, session: Session) -> None:
    steps = plan(session)
    lines = [
        steps[0],
        "nonsense",
        ":undo",
        ":history",
        ":actions",
        ":goal",
        ":help",
        ":bogus",
        *steps[1:],
        "look",
        ":quit",
    ]
    shown = typed(lines, "--task-id", TASK, "--record", str(tmp_path))
    assert session.info["goal"] in shown and session.observation in shown
    assert "Nothing happens.\n(malformed; :actions lists what is possible)" in shown
    assert f"Solved in {len(steps)} steps, score 1." in shown
    assert "Unknown command :bogus." in shown and "The game is over." in shown
    ((episode),) = episodes(tmp_path)
    assert [row.action for row in episode] == steps
    assert {(row.policy, row.task_id, row.split) for row in episode} == {("human", TASK, "train")}
    assert episode[-1].terminated and episode[-1].is_success and not episode[-1].truncated
    spec = read_env_spec(tmp_path)
    assert spec is not None and (spec.id, spec.max_episode_steps) == ("EnvRL/ALFWorld-v0", 50)
    for before, after in pairwise(episode):
        assert (before.next_observation, before.next_state_key) == (after.observation, after.state_key)


def test_an_unfinished_game_is_recorded_at_the_end_of_input_and_at_restart(tmp_path: Path) -> None:
    typed(["look", "look", ":restart", "inventory", ":new", ":new"], "--seed", "1", "--record", str(tmp_path))
    assert [[row.action for row in episode] for episode in episodes(tmp_path)] == [
        ["look", "look"],
        ["inventory"],
    ]


def test_the_time_limit_of_the_environment_ends_the_game(tmp_path: Path) -> None:
    shown = typed(["look"] * 51, "--task-id", TASK, "--record", str(tmp_path))
    assert "Out of time after 50 steps, score 0." in shown
    ((episode),) = episodes(tmp_path)
    assert len(episode) == 50 and episode[-1].truncated and not any(row.truncated for row in episode[:-1])


def test_env_kwargs_and_split_reach_the_environment() -> None:
    shown = typed(
        [":actions"], "--split", "valid_seen", "--env-kwargs", 'task_types=["look_at_obj_in_light"]'
    )
    assert "procedural/look_at_obj_in_light/" in shown


# ---- in a terminal -----------------------------------------------------------------------------------------


class Terminal:
    """A person at a terminal: types, and reads the screen."""

    def __init__(self, *options: str, command: Sequence[str] = PLAY) -> None:
        rows, columns = 60, 160
        words = [*command[1:], *options]
        self.child = pexpect.spawn(command[0], words, timeout=300, dimensions=(rows, columns))
        self.screen = pyte.Screen(columns, rows)
        self.screen.write_process_input = self.child.send  # answers "where is the cursor?"
        self.stream = pyte.ByteStream(self.screen)

    def type(self, keys: str) -> None:
        self.child.send(keys)

    def wait_for(self, *texts: str) -> None:
        """Until the screen shows all of the texts."""
        deadline = time.monotonic() + 300
        while not all(text in "\n".join(self.screen.display) for text in texts):
            assert time.monotonic() < deadline, f"{texts} not on the screen:\n" + "\n".join(
                self.screen.display
            )
            with contextlib.suppress(pexpect.TIMEOUT):
                self.stream.feed(self.child.read_nonblocking(4096, timeout=1))

    def exit_status(self) -> int | None:
        with contextlib.suppress(pexpect.EOF):
            while True:
                self.stream.feed(self.child.read_nonblocking(4096, timeout=300))
        self.child.close()
        return self.child.exitstatus


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_tab_keys_and_commands_in_a_real_terminal(session: Session) -> None:
    steps = plan(session)
    admissible = session.info["admissible_actions"]
    only = next(a for a in admissible if a.startswith("go to") and len(completions(session, a[:-2])) == 1)
    terminal = Terminal("--task-id", TASK)
    terminal.wait_for("step 0/50", "F2 hint")
    terminal.type("\x1bOQ")  # F2
    terminal.wait_for(f"The expert would do: {steps[0]}", "step 0/50")
    terminal.type(only[:-2] + "\t")
    terminal.wait_for(f"> {only}")
    terminal.type("\r")
    terminal.wait_for("step 1/50")
    terminal.type("\x1bOR")  # F3
    terminal.wait_for("Taken back", "step 0/50")
    for number, step in enumerate(steps[:-1], 1):
        terminal.type(step + "\r")
        terminal.wait_for(f"step {number}/50")
    terminal.type(steps[-1] + "\r")
    terminal.wait_for(f"Solved in {len(steps)} steps", "score 1")
    terminal.type("\x04")  # Ctrl-D
    assert terminal.exit_status() == 0


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_ctrl_c_in_a_terminal_leaves_with_130() -> None:
    terminal = Terminal()
    terminal.wait_for("F2 hint")
    terminal.type("\x03")
    terminal.wait_for("envrl: interrupted")
    assert terminal.exit_status() == 130


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_without_prompt_toolkit_a_terminal_reads_plain_lines() -> None:
    code = (
        "import sys; sys.modules['prompt_toolkit'] = None  # as if it were not installed\n"
        "from envrl.cli import main; sys.exit(main(['play', 'alfworld', *sys.argv[1:]]))"
    )
    terminal = Terminal("--task-id", TASK, command=(sys.executable, "-c", code))
    terminal.wait_for("pip install 'envrl[play]'", "> ")
    terminal.type("look\n")
    terminal.wait_for(
        "> look", "You are in the middle of a room. Looking quickly around you, you see nothing."
    )
    terminal.type("\x04")
    assert terminal.exit_status() == 0
