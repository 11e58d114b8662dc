"""Dates and times of day as tools take and give them: ``2025-03-03`` and ``09:30``."""

import datetime
import re

from envrl.envs.envfactory.toolkit import ToolError

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


def checked_day(text: str, not_before: str = "") -> str:
    """The same text, if it is a day.

    Args:
        text: a day as YYYY-MM-DD.
        not_before: the earliest day allowed; ISO days sort as text.

    Raises:
        ToolError: it is no day, or too early.

    >>> checked_day("2025-03-03", not_before="2025-01-01")
    '2025-03-03'
    """
    try:
        # The pattern comes first: fromisoformat also reads 20250303 and 2025-W10-1.
        valid = _DAY.fullmatch(text) is not None and bool(datetime.date.fromisoformat(text))
    except ValueError:
        valid = False
    if not valid:
        raise ToolError(f"a date is written YYYY-MM-DD, got {text!r}")
    if text < not_before:
        raise ToolError(f"{text} is before {not_before}")
    return text


def days_after(day: str, days: int) -> str:
    """The day so many days later (or earlier, for a negative number).

    >>> days_after("2025-02-27", 3)
    '2025-03-02'
    """
    return (datetime.date.fromisoformat(day) + datetime.timedelta(days=days)).isoformat()


def days_between(first: str, last: str) -> int:
    """How many days ``last`` comes after ``first``.

    >>> days_between("2025-02-27", "2025-03-02")
    3
    """
    return (datetime.date.fromisoformat(last) - datetime.date.fromisoformat(first)).days


def minutes_of(time: str) -> int:
    """Minutes since midnight of a time as HH:MM. Raises ToolError where it is none.

    >>> minutes_of("09:30")
    570
    """
    match = _TIME.fullmatch(time)
    if match is None:
        raise ToolError(f"a time is written HH:MM, got {time!r}")
    return int(match[1]) * 60 + int(match[2])


def time_of(minutes: int) -> str:
    """Minutes since midnight as HH:MM.

    >>> time_of(570)
    '09:30'
    """
    return f"{minutes // 60:02}:{minutes % 60:02}"
