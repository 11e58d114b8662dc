"""A plan as text."""

from rich.console import Console
from rich.table import Table

from envrl.agents.config import TrainConfig
from envrl.agents.planning.memory import peak
from envrl.agents.planning.plan import Plan
from envrl.agents.planning.preview import Preview, Target

_WHEN = {"always": "", "update": "in updates", "rollout": "in rollouts"}


def print_plan(plan: Plan, config: TrainConfig, console: Console) -> None:
    """Print everything that a plan holds.

    Args:
        plan: of the run.
        config: its settings.
        console: where to.
    """
    sections = [
        (f"{config.env} with {plan.model}: {plan.layout.words}", _model_lines(plan)),
        ("Batches", _batch_lines(plan, config)),
        ("Stages", [f"{number}. {stage}" for number, stage in enumerate(plan.stages, 1)]),
        ("First prompt", _preview_lines(plan.preview, config, plan.counted)),
        ("Missing here", [f"- {note}" for note in plan.notes]),
    ]
    for number, (title, lines) in enumerate(sections):
        if not lines:
            continue
        _say(console, title, "bold")
        for line in lines:
            _say(console, f"  {line}" if line else "")
        _say(console, "")
        if number == 0:
            console.print(_memory_table(plan))
            _say(console, "")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True, style=style)


def _model_lines(plan: Plan) -> list[str]:
    shape = plan.shape
    return [
        f"parameters: {shape.parameters:,}, of which {shape.trainable:,} are trained "
        f"({shape.layers} layers, width {shape.hidden:,}, vocabulary {shape.vocabulary:,})",
        f"a checkpoint: {_size(plan.checkpoint_bytes)} on disk",
    ]


def _memory_table(plan: Plan) -> Table:
    table = Table(title="Memory of a process", title_justify="left", title_style="bold")
    for heading in ("part", "size", "when", "from"):
        table.add_column(heading, justify="right" if heading == "size" else "left")
    for part in plan.memory:
        table.add_row(part.name, _size(part.bytes), _WHEN[part.when], part.how)
    table.add_section()
    table.add_row("most at once", _size(peak(plan.memory)), "", "leave a tenth for the accelerator's own")
    return table


def _batch_lines(plan: Plan, config: TrainConfig) -> list[str]:
    batches, prompts = plan.batches, plan.lengths.prompts
    about = "" if plan.counted else "about "
    rows = "steps" if config.context == "step" else "episodes"
    return [
        f"update: {config.groups} tasks x {config.group_size} episodes = {batches.episodes} episodes; "
        f"a process plays {batches.groups} tasks at most",
        f"episode: {batches.steps} steps at most; {batches.env_steps:,} steps in {config.updates} updates at most",
        f"tokens: first prompts {about}{min(prompts):,} to {max(prompts):,}; prompts to {batches.longest_prompt:,} and "
        f"training rows to {batches.longest_row:,} where all limits are reached",
        f"minibatch: {batches.minibatch_rows:,} {rows} at most, about {batches.rows_per_pass} a pass of "
        f"{config.batch_tokens:,} tokens, {batches.passes:,} passes a process",
        f"optimiser steps: {config.epochs * config.minibatches} an update, {batches.optimizer_steps:,} in "
        f"{config.updates} updates",
    ]


def _preview_lines(shown: Preview | None, config: TrainConfig, counted: bool) -> list[str]:
    if shown is None:
        return []
    about = "" if counted else "about "
    lines = [f"task {shown.task_id}, {about}{shown.tokens:,} tokens:", *_quoted(shown.prompt)]
    for name, weight, target in (
        ("state prediction", config.state_prediction, shown.state_prediction),
        ("inverse dynamics", config.inverse_dynamics, shown.inverse_dynamics),
    ):
        if target is not None:
            lines += ["", f"{name} (weight {weight:g}, {config.aux_schedule}) on the step {shown.action!r}:"]
            lines += _target_lines(name, target)
    return lines


def _target_lines(name: str, target: Target) -> list[str]:
    given = "given the prompt and" if name == "state prediction" else "given"
    return [given, *_quoted(target.given), "predict", *_quoted(target.target)]


def _quoted(text: str) -> list[str]:
    return [f"| {line}" for line in text.split("\n")]


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"
