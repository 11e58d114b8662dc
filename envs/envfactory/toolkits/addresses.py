"""Names, email addresses and telephone numbers as tools take them."""

import re
from typing import Annotated

import numpy as np
import pydantic

from envrl.envs.envfactory.toolkit import ToolError

#: those of somebody whom a sampled state does not know
NewName = Annotated[str, pydantic.Field(examples=["Kim Larsen", "Lee Ferreira", "Noor Bakker", "Sasha Lund"])]
NewEmail = Annotated[
    str,
    pydantic.Field(examples=["kim@example.com", "lee@example.com", "noor@example.com", "sasha@example.com"]),
]
NewPhone = Annotated[
    str, pydantic.Field(examples=["+33 612 4450", "+39 348 7721", "+47 900 1336", "+49 171 6604"])
]

_EMAIL = re.compile(r"[a-z0-9._+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+", re.IGNORECASE)
_PHONE = re.compile(r"\+\d{1,3}( \d{2,5}){2,4}")


def checked_email(text: str) -> str:
    """The same text, if it is an email address. Raises ToolError.

    >>> checked_email("ada.brandt@example.com")
    'ada.brandt@example.com'
    """
    if _EMAIL.fullmatch(text) is None:
        raise ToolError(f"{text!r} is no email address")
    return text


def checked_phone(text: str) -> str:
    """The same text, if it is a telephone number with its country code. Raises ToolError.

    >>> checked_phone("+49 351 4420")
    '+49 351 4420'
    """
    if _PHONE.fullmatch(text) is None:
        raise ToolError(f"a telephone number is written like +49 351 4420, got {text!r}")
    return text


def some_phone(rng: np.random.Generator) -> str:
    """A made-up number, as `checked_phone` takes it."""
    country = int(rng.choice([33, 39, 46, 47, 48, 49]))
    return f"+{country} {int(rng.integers(100, 999))} {int(rng.integers(1000, 9999))}"
