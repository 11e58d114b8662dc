"""How a synthetic product is described: title, bullets, description.

Everything a buyer asks for stands in the title or in the first bullet, the two that the search looks at.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envrl.envs.webshop.draw import Draw
from envrl.envs.webshop.lexicon import PLACES, Phrases, Place, ProductType

Points = Sequence[tuple[float, float]]
#: (share of products, number) of the official 1,000 products
TITLE_WORDS: Points = (
    (0, 4),
    (0.05, 7),
    (0.1, 8),
    (0.25, 12),
    (0.5, 18),
    (0.75, 24),
    (0.9, 29),
    (0.95, 31),
    (1, 41),
)
DESCRIPTION_WORDS: Points = ((0, 0), (0.36, 0), (0.5, 49), (0.75, 127), (0.9, 217), (0.95, 256), (1, 330))
BULLETS: Points = ((0, 1), (0.05, 1), (0.1, 2), (0.25, 5), (0.75, 5), (0.9, 7), (1, 8))

_SMALL = frozenset(("with", "for", "and", "of", "to", "in", "on", "x"))
_LETTERS = frozenset("av bpa dpi dvd gps hdmi led msg pc rgb sd spf ssd tv usb uv vr".split())  # noqa: SIM905 - short
_WORD = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is drawn of a product before it is put into words.

    Args:
        kind: what it is.
        brand: of the maker.
        head: what a single one is called.
        wanted: (place, property) that a buyer asks for; empty for a product that is no goal.
        others: further properties.
        options: name -> values.
        version: values of the type's options that the product has without a choice.
    """

    kind: ProductType
    brand: str
    head: str
    wanted: Sequence[tuple[Place, str]]
    others: Sequence[tuple[Place, str]]
    options: Mapping[str, tuple[str, ...]]
    version: Sequence[str]


@dataclass(frozen=True, slots=True)
class Listing:
    """A product in words.

    Args:
        title: its name.
        nouns: the nouns of the title, lower case, in order, with repetitions.
        bullets: features.
        description: a paragraph, possibly empty.
    """

    title: str
    nouns: tuple[str, ...]
    bullets: tuple[str, ...]
    description: str


def write_listing(facts: Facts, phrases: Phrases, draw: Draw) -> Listing:
    """Put a product into words."""
    title, untold = _title(facts, phrases, draw)
    wanted = [feature for feature in untold if feature in facts.wanted]
    return Listing(
        title=title,
        nouns=title_nouns(title, phrases.not_nouns),
        bullets=tuple(_bullets(facts, wanted, phrases, draw)),
        description=_description(facts, phrases, draw),
    )


def title_nouns(title: str, not_nouns: frozenset[str]) -> tuple[str, ...]:
    """The nouns of a title made here, where ``not_nouns`` are all words that are none."""
    words = (word.removesuffix("'s") for word in _WORD.findall(title.lower()))
    return tuple(word for word in words if len(word) > 1 and word.isalpha() and word not in not_nouns)


def join(words: Sequence[str]) -> str:
    """A list in a sentence.

    >>> join(["soft", "warm", "light"])
    'soft, warm and light'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def capitals(text: str) -> str:
    """A text in the capitals of a title."""
    words = []
    for word in text.split():
        if word in _LETTERS:
            words.append(word.upper())
        elif word in _SMALL or not word[0].islower():
            words.append(word)
        else:
            words.append(word[0].upper() + word[1:])
    return " ".join(words)


def _title(facts: Facts, phrases: Phrases, draw: Draw) -> tuple[str, list[tuple[Place, str]]]:
    """The title and the properties that found no room in it."""
    length = int(draw.quantile(TITLE_WORDS))
    features = [*facts.wanted, *facts.others]
    first = {place: next((name for at, name in features if at == place), None) for place in PLACES}
    text = f"{facts.brand} {facts.head}"
    told: set[tuple[Place, str]] = set()
    for place in PLACES:
        name = first[place]
        if name is None or len(text.split()) >= length:
            continue
        text = f"{facts.brand} {name} {facts.head}" if place == "before" else f"{text} {place} {name}"
        told.add((place, name))
    if not _names(facts.head, facts.kind.query):
        # shops add the words that people search by
        text = f"{text}, {facts.kind.query}"
    more = [feature for feature in features if feature not in told]
    rest: list[tuple[Place, str] | str] = [*more, *draw.some(phrases.details[facts.kind.department], 2)]
    if facts.kind.department == "electronics":
        rest.append(f"{facts.brand[:2].upper()}{100 + draw.below(900)}")
    rest.extend(facts.version)
    for addition in draw.some(rest, len(rest)):
        if len(text.split()) >= length:
            break
        if isinstance(addition, str):
            text = f"{text}, {addition}"
        else:
            place, name = addition
            told.add(addition)
            text = f"{text}, {'for ' if place == 'for' else ''}{name}"
    return capitals(text), [feature for feature in features if feature not in told]


def _names(head: str, query: str) -> bool:
    """Whether the words of ``query`` stand in ``head``, be it in the singular."""
    return all(word.removesuffix("es").removesuffix("s") in head for word in query.split())


def _bullets(facts: Facts, untold: list[tuple[Place, str]], phrases: Phrases, draw: Draw) -> list[str]:
    count = int(draw.quantile(BULLETS))
    features = draw.some(
        [feature for feature in (*facts.others, *facts.wanted) if feature not in untold], count
    )
    bullets = []
    if untold:
        told = describe(facts.head, untold)
        bullets.append(draw.one(phrases.bullets[:6]).format(a=told[0].upper() + told[1:]))
    forms = draw.some(phrases.bullets, count)
    plain = draw.some(phrases.plain_bullets, count)
    while len(bullets) < count and (features or plain):
        if features and (not plain or draw.chance(0.7)):
            _, name = features.pop()
            form = forms.pop() if forms else phrases.bullets[-1]
            bullets.append(form.format(a=name[0].upper() + name[1:]))
        else:
            bullets.append(plain.pop().format(head=facts.head))
    return bullets


def _description(facts: Facts, phrases: Phrases, draw: Draw) -> str:
    length = int(draw.quantile(DESCRIPTION_WORDS))
    if not length:
        return ""
    features: dict[str, list[str]] = {place: [] for place in PLACES}
    for place, name in (*facts.wanted, *facts.others):
        features[place].append(name)
    named: list[str] = []
    for form in draw.some(phrases.feature_sentences, 3):
        needed = next(place for place in PLACES if f"{{{place}}}" in form)
        if features[needed]:
            named.append(form.replace(f"{{{needed}}}", draw.one(features[needed])))
    others = [*phrases.sentences, *phrases.department_sentences[facts.kind.department]]
    sentences: list[str] = []
    words = 0
    for form in [*named, *draw.some(others, len(others))]:
        sentences.append(form.format(brand=facts.brand, head=facts.head, query=facts.kind.query))
        words += form.count(" ") + 1
        if words >= length:
            break
    return " ".join(draw.some(sentences, len(sentences)))


def describe(what: str, features: Sequence[tuple[Place, str]]) -> str:
    """A thing with its properties in the places where they read well."""
    before, with_, for_ = ([name for at, name in features if at == place] for place in PLACES)
    text = f"{', '.join(before)} {what}" if before else what
    text += f" with {join(with_)}" if with_ else ""
    return text + (f" for {join(for_)}" if for_ else "")
