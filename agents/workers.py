"""Where the environments of a run are stepped: ``--rollout-workers``."""

import re

#: environments in the process of the run
LOCAL = "local"


def ray_actors(workers: str) -> int:
    """The N of ``ray:N``; 0 for ``local``.

    Raises:
        ValueError: ``workers`` is neither.
    """
    if workers == LOCAL:
        return 0
    found = re.fullmatch(r"ray:([1-9][0-9]*)", workers)
    if found is None:
        raise ValueError(
            f"rollout_workers must be {LOCAL!r} or 'ray:N' with N actors (at least 1), got {workers!r}"
        )
    return int(found[1])
