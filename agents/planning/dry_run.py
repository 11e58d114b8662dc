"""``envrl train --dry-run``: print what a run would need and do."""

import os
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from envrl.agents.config import TrainConfig
from envrl.agents.planning.layout import configured_layout, launched_layout
from envrl.agents.planning.plan import Plan, make_plan
from envrl.agents.planning.report import print_plan


def dry_run(config: TrainConfig, launch: Path | None = None, console: Console | None = None) -> Plan | None:
    """Print the plan of a run; of several processes the first one does, and the others return None.

    Args:
        config: settings of the run.
        launch: the accelerate configuration that the run is for; by default it has the processes
            that this one was started with, or ``config.processes``.
        console: where to.

    Raises:
        DataNotFound: the configuration of the model cannot be had.
        WrongUse: there is no such environment, or ``launch`` is no configuration.
    """
    if os.environ.get("RANK", "0") != "0":
        return None
    layout = configured_layout(launch) if launch is not None else launched_layout()
    if launch is None and layout.processes == 1:
        layout = replace(layout, processes=config.processes)
    plan = make_plan(config, layout)
    print_plan(plan, config, console or Console())
    return plan
