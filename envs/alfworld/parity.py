"""Playing one game on two engines in step and reporting where they part."""

from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple

from envrl.envs.alfworld.play import Play


class Difference(NamedTuple):
    """One thing in which two engines disagree after a command ("" before the first one)."""

    step: int
    command: str
    what: str
    first: object
    second: object


def differences(first: Play, second: Play, commands: Iterable[str]) -> Iterator[Difference]:
    """Where two plays of one game differ: in texts, admissible commands, wins or the hidden state.

    Args:
        first: a play at its start; it decides what generated commands see (see `seeded_commands`).
        second: a play of the same game on another engine, at its start.
        commands: what to do; the plays stop at the first win.
    """
    yield from _compare(0, "", first, second, first.intro(), second.intro())
    for step, command in enumerate(commands, 1):
        answers = first.act(command), second.act(command)
        yield from _compare(step, command, first, second, *answers)
        if first.won or second.won:
            return


def _compare(
    step: int, command: str, first: Play, second: Play, one: str | None, two: str | None
) -> Iterator[Difference]:
    pairs: dict[str, tuple[object, object]] = {
        "text": (one, two),
        "admissible commands": (first.admissible(), second.admissible()),
        "won": (first.won, second.won),
        "state": (first.state, second.state),
    }
    for what, (of_first, of_second) in pairs.items():
        if of_first != of_second:
            yield Difference(step, command, what, of_first, of_second)


def seeded_commands(play: Play, rng: Random, steps: int, plan: Iterable[str] = ()) -> Iterator[str]:
    """Commands for a play: random possible ones with some nonsense among them, then a plan.

    The verb is drawn first, so that the many "go to" do not crowd out the rest. Each command is drawn from
    what ``play`` offers when it is asked for.

    Args:
        play: the play that the commands are drawn for.
        rng: source of the draws.
        steps: random commands to give.
        plan: commands that follow.
    """
    for _ in range(steps):
        offered = play.admissible()
        verb = rng.choice(sorted({command.partition(" ")[0] for command in offered}))
        command = rng.choice([command for command in offered if command.partition(" ")[0] == verb])
        if rng.random() < 0.1:
            command = rng.choice((command.upper(), command + " ", command.replace(" ", "  "), "dance", ""))
        yield command
    yield from plan
