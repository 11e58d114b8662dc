"""``envrl study``: run what is not done yet, a few runs at a time, and report on what is."""

import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from envrl.agents.demonstrate import record_demonstrations
from envrl.agents.display import Display
from envrl.agents.metrics import MetricsFile
from envrl.agents.policies.scripted import ImitablePolicy
from envrl.agents.study import report
from envrl.agents.study.config import StudyConfig
from envrl.agents.study.plan import Run, demonstrations_folder, plan
from envrl.agents.study.processes import Job, run_jobs
from envrl.agents.study.results import ArmResult, read_run, summarize, to_json
from envrl.agents.tasks import make_envs
from envrl.envs.errors import EnvRLError


def study(config: StudyConfig, console: Console | None = None) -> list[ArmResult]:
    """Run a study, or go on with one; a finished run is not repeated.

    The report is written anew whenever a run ends, so that an interrupted study has one too.

    Args:
        config: its settings.
        console: where to show it.

    Returns:
        Results by arm.

    Raises:
        DataNotFound: games or recordings are missing.
        EnvRLError: a run is there with other settings, or some runs failed (after all others have ended).
        KeyboardInterrupt: after the running ones have written checkpoints.
    """
    runs = plan(config)
    left = [run for run in runs if not run.finished]
    with Display(console) as display:
        if len(left) < len(runs):
            display.say(f"{len(runs) - len(left)} of {len(runs)} runs are finished already")
        _demonstrate(config, left, display)
        codes = _train(config, runs, left, display)
    results = write_report(config, runs)
    if results:
        text = (config.output / REPORT).read_text()
        display.console.print(text, markup=False, highlight=False, soft_wrap=True)
        display.say(f"report: {config.output / REPORT}")
    failed = [run for run in left if codes.get(run.name)]
    if failed:
        logs = ", ".join(str(_log(run)) for run in failed)
        raise EnvRLError(
            f"{len(failed)} of {len(runs)} runs failed; see {logs}; the same command tries them again"
        )
    return results


REPORT = "report.md"


def write_report(config: StudyConfig, runs: list[Run]) -> list[ArmResult]:
    """Write ``report.md``, ``report.json`` and ``curves.svg`` from the finished runs; nothing without one."""
    finished = [run for run in runs if run.finished]
    results = summarize(config, [read_run(run) for run in finished])
    if results:
        missing = [run.name for run in runs if run not in finished]
        for name, text in (
            (REPORT, report.to_markdown(config, results, missing)),
            ("report.json", to_json(config, results, missing)),
            (report.PLOT, report.to_plot(config, results)),
        ):
            partial = config.output / f".{name}.part"
            partial.write_text(text)
            partial.replace(config.output / name)
    return results


def _demonstrate(config: StudyConfig, left: list[Run], display: Display) -> None:
    """Expert episodes of each seed, which all its runs share."""
    for seed in dict.fromkeys(run.seed for run in left):
        folder = demonstrations_folder(config, seed)
        train = replace(config.train, seed=seed)
        if train.demonstrations is not None or not train.sft_episodes or folder.exists():
            continue
        (env,) = make_envs(train.env, 1, train.split, train.env_kwargs)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with display.stage(f"Expert episodes, seed {seed}", train.sft_episodes) as bar:
            won = record_demonstrations(
                env,
                folder,
                ImitablePolicy(),
                train.sft_episodes,
                seed,
                label="imitable",
                split=train.split,
                progress=bar.advance,
            )
        env.close()
        display.say(f"seed {seed}: the expert solved {won} of {train.sft_episodes} tasks")


def _train(config: StudyConfig, runs: list[Run], left: list[Run], display: Display) -> dict[str, int]:
    """Run what is left; exit codes by name."""
    by_name = {run.name: run for run in left}
    running: set[str] = set()

    def started(name: str) -> None:
        running.add(name)
        display.say(f"{name}: started, log in {_log(by_name[name])}")

    with display.stage("Runs", len(left)) as bar:

        def ended(name: str, code: int) -> None:
            running.discard(name)
            bar.advance()
            if code:
                display.say(f"{name}: stopped with exit code {code}")
                return
            result = read_run(by_name[name])
            display.say(f"{name}: {result.success_rate:.1%} after {result.env_steps:,} environment steps")
            write_report(config, runs)

        def waiting() -> None:
            if display.console.is_terminal:
                bar.advance(0, note="  ".join(_position(by_name[name]) for name in sorted(running)))

        return run_jobs([_job(run) for run in left], config.parallel, started, ended, waiting)


def _job(run: Run) -> Job:
    run.folder.parent.mkdir(parents=True, exist_ok=True)
    settings = run.folder.with_name(f"{run.name}.json")
    settings.write_text(run.config.to_json())
    threads = str(run.config.threads)
    return Job(
        run.name,
        [sys.executable, "-m", f"{__package__}.worker", str(settings)],
        _log(run),
        {"OMP_NUM_THREADS": threads, "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"},
    )


def _log(run: Run) -> Path:
    return run.folder.with_name(f"{run.name}.log")


def _position(run: Run) -> str:
    rows = MetricsFile(run.folder / "metrics.jsonl").read()
    if not rows:
        return f"{run.name} imitates"
    return f"{run.name} {rows[-1]['update']}/{run.config.updates} ({rows[-1]['train/success_rate']:.0%})"
