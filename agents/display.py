"""What a person sees of a run: progress bars and a live table on a terminal, one log line a stage elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from envrl.agents.evaluate import Evaluation

#: columns of the live table: heading, metric, format
_COLUMNS = (
    ("update", "update", "{:.0f}"),
    ("success", "train/success_rate", "{:.1%}"),
    ("return", "train/return", "{:.3f}"),
    ("steps", "episode/steps", "{:.1f}"),
    ("entropy", "policy/entropy", "{:.3f}"),
    ("state pred.", "loss/state_prediction", "{:.3f}"),
    ("inverse dyn.", "loss/inverse_dynamics", "{:.3f}"),
    ("lambda", "aux/lambda", "{:.3f}"),
    ("env steps", "env_steps", "{:.0f}"),
    ("wall s", "wall_s", "{:.0f}"),
)


class Bar:
    """A counter of one stage: a bar on a terminal, silent elsewhere."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def advance(self, by: int = 1, note: str = "") -> None:
        """Count ``by`` more."""
        self._progress.update(self._task, advance=by, note=note)


class Display:
    """Shows a run; a context manager.

    Args:
        console: where to; a new one by default.
        rows: newest updates in the live table.
        quiet: show nothing.
    """

    def __init__(self, console: Console | None = None, rows: int = 8, quiet: bool = False) -> None:
        self.console = console or Console(quiet=quiet)
        self._rows, self._metrics = rows, list[dict[str, Any]]()
        self._progress = Progress(
            TextColumn("{task.description:<28}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=self.console,
        )
        self._live = Live(console=self.console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "Display":
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.console.is_terminal:
            self._live.stop()

    def say(self, text: str) -> None:
        """One line that stays."""
        self.console.print(text, highlight=False, soft_wrap=True)

    @contextmanager
    def stage(self, title: str, total: int, done: int = 0) -> Iterator[Bar]:
        """A stage with a bar; elsewhere than on a terminal its title is logged."""
        if not self.console.is_terminal:
            self.say(f"{title} ({total})")
        task = self._progress.add_task(title, total=total, completed=done, note="")
        self._refresh()
        try:
            yield Bar(self._progress, task)
        finally:
            self._progress.remove_task(task)
            self._refresh()

    def update(self, metrics: dict[str, Any]) -> None:
        """Show the metrics of one update."""
        self._metrics.append(metrics)
        if self.console.is_terminal:
            self._refresh()
        else:
            self.say(
                "  ".join(
                    f"{title} {form.format(metrics[key])}"
                    for title, key, form in _COLUMNS
                    if metrics.get(key) is not None
                )
            )

    def _refresh(self) -> None:
        table = Table(*(title for title, _, _ in _COLUMNS))
        for row in self._metrics[-self._rows :]:
            table.add_row(*("" if row.get(k) is None else f.format(row[k]) for _, k, f in _COLUMNS))
        self._live.update(Group(table, self._progress) if self._metrics else self._progress)


def results_table(results: Sequence[tuple[str, Evaluation, int, float]]) -> Table:
    """The table at the end of a run.

    Args:
        results: (stage, evaluation, environment steps so far, seconds so far).
    """
    table = Table(title="Held-out success (95 % Wilson interval)")
    for heading in ("policy", "success", "interval", "episodes", "mean steps", "env steps", "seconds"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for stage, result, env_steps, seconds in results:
        table.add_row(
            stage,
            f"{result.success_rate:.1%}",
            f"{result.low:.1%} - {result.high:.1%}",
            str(result.n),
            f"{result.mean_steps:.1f}",
            str(env_steps),
            f"{seconds:.0f}",
        )
    return table
