"""The report of a study as Markdown, with a table of arms, a table of seeds, and how the numbers were made."""

from collections.abc import Sequence

from envrl.agents.study.arms import ARMS
from envrl.agents.study.config import StudyConfig
from envrl.agents.study.plot import Line, line_plot
from envrl.agents.study.results import ArmResult, Difference


def to_markdown(config: StudyConfig, arms: Sequence[ArmResult], missing: Sequence[str]) -> str:
    """The report.

    Args:
        config: of the study.
        arms: the results, at least one.
        missing: names of runs that are not finished.
    """
    train, share = config.train, f"{config.confidence:.0%}"
    seeds = {run.seed for arm in arms for run in arm.runs}
    lines = [
        f"# {' / '.join(ARMS[arm.arm].title for arm in arms)}",
        "",
        f"{train.env}, model `{train.model}`, {train.algorithm}, policy `{train.policy}`: "
        f"{train.sft_updates if train.sft_episodes or train.demonstrations else 0} supervised updates, then "
        f"{train.updates} updates of {train.groups} x {train.group_size} episodes in every arm; "
        f"{len(seeds)} seeds; success on {max(arm.tasks for arm in arms)} tasks of `{train.eval_split}`. "
        + (
            "Arms differ in both stages."
            if config.stages == "both"
            else "Arms differ in reinforcement alone; imitation has both objectives as set."
        ),
        "",
        f"![success against environment steps]({PLOT})",
        "",
        f"| arm | success | {share} interval | difference | {share} interval | seeds ahead | env steps | minutes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for arm in arms:
        steps = sum(run.env_steps for run in arm.runs) / len(arm.runs)
        minutes = sum(run.wall_s for run in arm.runs) / len(arm.runs) / 60
        lines.append(
            f"| {ARMS[arm.arm].title} | {arm.mean:.1%} | {arm.low:.1%} to {arm.high:.1%} | "
            f"{_difference(arm.difference)} | {steps:,.0f} | {minutes:.1f} |"
        )
    lines += [
        "",
        f"| seed | {' | '.join(ARMS[arm.arm].title for arm in arms)} |",
        "|---" * (len(arms) + 1) + "|",
    ]
    for seed in config.seeds:
        if seed in seeds:
            rates = [next((f"{r.success_rate:.1%}" for r in a.runs if r.seed == seed), "") for a in arms]
            lines.append(f"| {seed} | {' | '.join(rates)} |")
    lines += ["", _how(arms, share)]
    if missing:
        lines += ["", f"Not finished: {', '.join(missing)}. `envrl study` with the same settings goes on."]
    return "\n".join(lines) + "\n"


PLOT = "curves.svg"


def to_plot(config: StudyConfig, arms: Sequence[ArmResult]) -> str:
    """Success against environment steps as SVG: means in bold, seeds thin, a whisker for the final interval."""
    lines = [
        Line(
            ARMS[arm.arm].title,
            [(p.env_steps, p.success_rate) for p in arm.curve],
            [[(p.env_steps, p.success_rate) for p in run.curve] for run in arm.runs],
            (arm.low, arm.high),
        )
        for arm in arms
    ]
    return line_plot(f"Held-out success, {config.train.env}", "environment steps", lines)


def _difference(difference: Difference | None) -> str:
    if difference is None:
        return "| |"
    ahead = sum(value > 0 for value in difference.by_seed.values())
    return (
        f"{100 * difference.mean:+.1f} points | {100 * difference.low:+.1f} to {100 * difference.high:+.1f} | "
        f"{ahead} of {len(difference.by_seed)}"
    )


def _how(arms: Sequence[ArmResult], share: str) -> str:
    against = next((arm.difference.against for arm in arms if arm.difference is not None), None)
    text = f"Intervals are {share} bootstrap intervals over seeds and tasks, resampled apart."
    if against is not None:
        text += (
            f" Differences are against {ARMS[against].title}, paired: the same seeds (demonstrations, initial weights, "
            "training tasks) and the same held-out tasks."
        )
    if any(arm.low == arm.high for arm in arms):
        text += " Where all tasks or none were solved, a bootstrap knows no width."
    few = min(len(arm.runs) for arm in arms)
    if few < 6:
        text += f" With {few} seeds an interval over seeds is rough: seeds alone may differ by ten points."
    return text
