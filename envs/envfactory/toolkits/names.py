"""Made-up people and places for sample states."""

import numpy as np

FIRST = (
    "Ada", "Bela", "Chidi", "Dalia", "Emre", "Farah", "Goran", "Hana", "Ines", "Jonas", "Keiko", "Luis", "Mira",
    "Nils", "Olga", "Pavel", "Rosa", "Sami", "Tara", "Uma", "Viktor", "Wanda", "Yara", "Zoe",
)  # fmt: skip
LAST = (
    "Almeida", "Brandt", "Castell", "Dubois", "Eriksen", "Fontaine", "Gruber", "Haddad", "Ivanova", "Jansen", "Kovac",
    "Lindgren", "Moreau", "Novak", "Okafor", "Petrov", "Quispe", "Rossi", "Sato", "Tanaka", "Urban", "Vogel", "Weiss",
    "Zhang",
)  # fmt: skip
CITIES = (
    "Aarhus", "Bologna", "Cork", "Dresden", "Eindhoven", "Faro", "Ghent", "Haifa", "Izmir", "Jena", "Krakow", "Lyon",
    "Malmo", "Nantes", "Oslo", "Porto", "Riga", "Split", "Turin", "Utrecht", "Varna", "Zagreb",
)  # fmt: skip


def people(rng: np.random.Generator, count: int) -> list[str]:
    """``count`` different full names; no two share a first or a last name while there are enough of them.

    Args:
        rng: draws the names.
        count: at most 24.
    """
    firsts, lasts = rng.permutation(len(FIRST))[:count], rng.permutation(len(LAST))[:count]
    return [f"{FIRST[first]} {LAST[last]}" for first, last in zip(firsts, lasts, strict=True)]


def email_of(name: str) -> str:
    """The address of somebody at example.com.

    >>> email_of("Ada Brandt")
    'ada.brandt@example.com'
    """
    return name.lower().replace(" ", ".") + "@example.com"
