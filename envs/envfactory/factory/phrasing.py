"""Words for calls: what a user says who wants a call made, and how things are meant without their ids."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from envrl.envs.envfactory.conversation import mentions
from envrl.envs.envfactory.factory.chain import Ask, Chain, ChainCall, Origin
from envrl.envs.envfactory.factory.wording import (
    bare,
    blanks,
    looks_like_id,
    normal,
    readable,
    unguessable,
    words_of,
)
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.envfactory.sources import Source


def words_for(value: Any) -> str:
    """A value as people write it.

    >>> words_for(25.0), words_for([1, "two"]), words_for(True)
    ('25', '1, two', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, list | tuple):
        return ", ".join(map(words_for, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{readable(key)} {words_for(item)}" for key, item in value.items())
    return str(value)


class Phrasing:
    """Puts the calls of one chain into words.

    Args:
        chain: the chain.
        sources: toolkit name -> source.
        specs: tool as agents call it -> spec.
    """

    def __init__(self, chain: Chain, sources: Mapping[str, Source], specs: Mapping[str, ToolSpec]) -> None:
        self._chain, self._sources, self._specs = chain, sources, specs

    def request(self, call: ChainCall, rng: np.random.Generator, unsaid: str | None = None) -> str:
        """What the user says who wants a goal reached: one or two sentences.

        Args:
            call: the goal.
            rng: chooses among the tool's phrases.
            unsaid: an argument that the user will tell only when asked.
        """
        spec = self._specs[call.tool]
        words = {name: self._argument(call, name) for name in call.arguments}
        if unsaid is not None:
            number = isinstance(call.arguments[unsaid], int | float)
            words[unsaid] = "some" if number else f"a certain {bare(unsaid)}"
        phrases = [p for p in spec.phrases if set(blanks(p)) <= set(words)]
        if phrases:
            phrase = phrases[int(rng.integers(len(phrases)))]
            text, said = _filled(phrase, words, call, unsaid), set(blanks(phrase))
        else:
            text, said = _first_sentence(spec.description) + ".", set[str]()
        rest = {name: text for name, text in words.items() if name not in said}
        text = _before_the_end(text, ", ".join(f"{readable(name)}: {word}" for name, word in rest.items()))
        if call.asks:
            text += f" I want to know {' and '.join(_wanted(ask) for ask in call.asks)}."
        return _capital(text)

    def answer(self, call: ChainCall) -> str:
        """What the agent tells who has found out what was asked; "" if nothing was."""
        told = [f"{_asked(ask)} is {words_for(ask.value)}" for ask in call.asks]
        return _capital(" and ".join(told)) + "." if told else ""

    def _argument(self, call: ChainCall, name: str) -> str:
        origin = call.origins.get(name)
        return words_for(call.arguments[name]) if origin is None else self._meant(call, name, origin)

    def _meant(self, call: ChainCall, name: str, origin: Origin) -> str:
        """A noun for a value that is not said, with all that its lookups need to be told."""
        if origin.made:
            return f"the new {bare(origin.name or name)}"
        finder = self._chain.calls[origin.call]
        nouns = self._sources[finder.toolkit].nouns
        noun = nouns.get(origin.entity or name, "")
        used = blanks(noun)
        if noun and set(used) <= set(origin.clause):
            text = noun.format(**{key: words_for(origin.clause[key]) for key in used})
            if origin.entity:
                text = f"the {bare(origin.name)} of {text}"
        else:
            text, used = f"the {bare(origin.name or name)}", []
            if origin.entity:
                text += f" of the {bare(origin.entity)}"
        subject = normal(origin.entity or origin.name or name)
        if (
            subject in {normal(key) for key in origin.clause} and not used
        ):  # "the ticket T1", not "with ticket T1"
            named = next(key for key in origin.clause if normal(key) == subject)
            text, used = f"{text} {words_for(origin.clause[named])}", [named]
            text = text.replace(f"of the {bare(named)} ", f"of {bare(named)} ")
        rest = [f"{readable(k)} {words_for(v)}" for k, v in origin.clause.items() if k not in used]
        text += f" with {' and '.join(rest)}" if rest else ""
        for parameter, deeper in finder.origins.items():
            if (
                not all(mentions(text, words_for(value)) for value in deeper.clause.values())
                or not deeper.clause
            ):
                text += f" of {self._meant(finder, parameter, deeper)}"
        missing = {k: word for k, word in self._told(origin).items() if not mentions(text, word)}
        ids = [key for key in missing if unguessable(missing[key])]
        text += "".join(f" of {bare(key)} {missing.pop(key)}" for key in ids)
        return text + (
            f" ({', '.join(f'{bare(key)} {word}' for key, word in missing.items())})" if missing else ""
        )

    def _told(self, origin: Origin) -> dict[str, str]:
        """What the lookups behind a noun need to be told, those that only serve another lookup included."""
        finder = self._chain.calls[origin.call]
        told: dict[str, str] = {}
        for deeper in finder.origins.values():
            told |= {} if deeper.made else self._told(deeper)
        if finder.lookup:
            told |= {k: words_for(v) for k, v in finder.arguments.items() if k not in finder.origins}
        return told


def _wanted(ask: Ask) -> str:
    text = _asked(ask)
    if ask.clause:
        text += (
            f" of the one with {' and '.join(f'{readable(k)} {words_for(v)}' for k, v in ask.clause.items())}"
        )
    return text


def _asked(ask: Ask) -> str:
    if not ask.name:
        return "the answer"
    plain = (
        looks_like_id(ask.value)
        and isinstance(ask.value, str)
        and normal(ask.name) == "_".join(words_of(ask.name))
    )
    return f"the {readable(ask.name)}{' id' if plain else ''}"


def _filled(phrase: str, words: Mapping[str, str], call: ChainCall, unsaid: str | None) -> str:
    """A phrase with its blanks filled; "account {account}" becomes "account A1" or "the account of ..."."""
    if unsaid is not None:
        phrase = phrase.replace(f'"{{{unsaid}}}"', f"{{{unsaid}}}")
    for name in blanks(phrase):
        blank, kind = f"{{{name}}}", bare(name)
        named = f"{kind} {blank}".lower() in phrase.lower()
        if (
            name == unsaid
        ):  # "the supplier {supplier_name}" must not become "the supplier a certain supplier name"
            parts = "|".join(map(re.escape, kind.split()))
            phrase = re.sub(
                rf"\b(?:the )?(?:(?:{parts}) )+{re.escape(blank)}", blank, phrase, flags=re.IGNORECASE
            )
        if name in call.origins or name == unsaid:
            phrase = re.sub(
                rf"(?:\bthe )?\b{re.escape(kind)} {re.escape(blank)}", blank, phrase, flags=re.IGNORECASE
            )
            phrase = phrase.replace(f"the {blank}", blank)
        elif not named and looks_like_id(call.arguments[name]) and isinstance(call.arguments[name], str):
            quoted = f'"{blank}"' in phrase or f"'{blank}'" in phrase
            phrase = phrase if quoted else phrase.replace(blank, f"{kind} {blank}", 1)
        phrase = phrase.replace(blank, words[name], 1)
    return phrase


def _before_the_end(text: str, details: str) -> str:
    if not details:
        return text
    end = text[-1] if text[-1:] in ".?!" else "."
    return f"{text.rstrip('.?!')} ({details}){end}"


def _first_sentence(description: str) -> str:
    line = description.strip().splitlines()[0]
    return line.split(". ")[0].rstrip(".")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
