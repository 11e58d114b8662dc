"""Names of arguments and fields as words: for matching them with each other, and for people to read."""

import re

_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_WHEN = re.compile(r"\d{4}-\d\d(-\d\d)?|\d\d?:\d\d")
#: endings that say that something is an identifier, not what it identifies
_IDS = ("id", "ids", "key", "number", "no", "ref", "uuid")


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case.

    >>> words_of("orderId"), words_of("new_owner"), words_of("HTTPPath2")
    (('order', 'id'), ('new', 'owner'), ('http', 'path', '2'))
    """
    return tuple(part.lower() for part in _PARTS.findall(name))


def normal(name: str) -> str:
    """A name without number and without the ending that marks an id, so that equal things have equal names.

    >>> normal("accounts"), normal("account_id"), normal("accountIds"), normal("id")
    ('account', 'account', 'account', 'id')
    """
    words = list(words_of(name))
    if len(words) > 1 and words[-1] in _IDS:
        words.pop()
    if words:
        words[-1] = singular(words[-1])
    return "_".join(words)


def singular(word: str) -> str:
    """A noun without its plural ending.

    >>> [singular(word) for word in ("entries", "boxes", "buses", "address", "status", "notes", "is")]
    ['entry', 'box', 'bus', 'address', 'status', 'note', 'is']
    """
    if len(word) <= 3 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses", "uses")) and not word.endswith(
        ("ouses", "auses", "axes")
    ):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def readable(name: str) -> str:
    """A name as people would write it.

    >>> readable("daily_limit"), readable("isActive")
    ('daily limit', 'is active')
    """
    return " ".join(words_of(name)) or name


def bare(name: str) -> str:
    """Like `readable`, without the ending of an id: what one would ask for.

    >>> bare("order_id")
    'order'
    """
    return normal(name).replace("_", " ")


def looks_like_id(value: object) -> bool:
    """Whether people are unlikely to know a value by heart.

    >>> [looks_like_id(value) for value in ("A4711", 4711, "Ada Brandt", "2025-03-10", "09:30", "kim2@example.com")]
    [True, True, False, False, False, False]
    """
    text = str(value)
    if not isinstance(value, str | int) or isinstance(value, bool) or _WHEN.match(text):
        return False
    return any(c.isdigit() for c in text) and not any(c.isspace() or c == "@" for c in text)


def unguessable(value: object) -> bool:
    """Whether nobody hits upon a value by chance: an id with letters and digits.

    >>> unguessable("A4711"), unguessable("2025-03-10"), unguessable("Oslo"), unguessable(4711)
    (True, False, False, False)
    """
    return (
        isinstance(value, str)
        and looks_like_id(value)
        and any(c.isalpha() for c in value)
        and sum(c.isdigit() for c in value) >= 2
    )


def blanks(template: str) -> list[str]:
    """The names between braces.

    >>> blanks("the {kind} account of {owner}")
    ['kind', 'owner']
    """
    return [part.split("}")[0] for part in template.split("{")[1:]]
