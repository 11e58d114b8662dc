"""Errors that EnvRL raises. Each message says what was expected, what was found and what mends it."""


class EnvRLError(Exception):
    """Base class of all errors raised by EnvRL."""


class DataNotFound(EnvRLError):
    """Data an environment needs is absent; the message names the command or path that supplies it."""


class InvalidData(EnvRLError):
    """A data file is there but is not what it should be (truncated, wrong schema, wrong version)."""


class InvalidTask(EnvRLError):
    """A ``task_id`` that names no task of this environment."""


class NoExpert(EnvRLError):
    """The environment has no expert for the present state, or the expert knows no action."""


class MissingExtra(EnvRLError):
    """An optional dependency is needed and not installed; the message names the extra."""


class WrongUse(EnvRLError, ValueError):
    """Something was asked for that does not exist or cannot be."""


class EnvironmentFault(Exception):
    """An environment cannot begin or go on, for no fault of the agent (a process died, a deadline passed).

    No `EnvRLError`: whoever plays many episodes loses this one and goes on.
    """
