"""What buyers of synthetic products ask for, in the words of a list and in those of people."""

import re

from envrl.envs.webshop.draw import Draw
from envrl.envs.webshop.lexicon import PLACES, Phrases
from envrl.envs.webshop.listing import Facts, describe
from envrl.envs.webshop.product import HumanInstruction

#: instructions by people that a product has at most: enough for all splits of a catalogue of 1,000
REQUESTS = 6


def instruction(facts: Facts, phrases: Phrases, draw: Draw) -> str:
    """What a buyer would ask for, without options and price: they are added goal by goal."""
    return f"{draw.one(phrases.openers)} {describe(facts.kind.query, facts.wanted)}"


def requests(facts: Facts, phrases: Phrases, draw: Draw) -> tuple[HumanInstruction, ...]:
    """What people would write: some of the properties, some of the options, no list."""
    written = []
    for form in draw.some(phrases.requests, REQUESTS):
        chosen = {
            place: draw.one(names)
            for place in PLACES
            if (names := [name for at, name in facts.wanted if at == place])
        }
        if "{purpose}" in form and "for" not in chosen:
            continue
        told = [
            place
            for place in chosen
            if place == "before" or (place == "for" and "{purpose}" in form) or f"{{{place}}}" in form
        ]
        for place in ("with", "for"):
            if place in told and f"{{{place}}}" in form and draw.chance(0.35):
                told.remove(place)
        asked = [(name, draw.one(values)) for name, values in facts.options.items()]
        asked = draw.some(asked, 1 + draw.below(len(asked))) if asked else []
        text = form.format(
            **{place: f" {place} {chosen[place]}" if place in told else "" for place in ("with", "for")},
            before=chosen["before"],
            head=facts.head,
            query=facts.kind.query,
            thing=with_article(f"{chosen['before']} {facts.head}", facts, phrases),
            purpose=chosen.get("for", ""),
            options="".join(draw.one(phrases.option_phrases[name]).format(value) for name, value in asked),
        )
        attributes = tuple(chosen[place] for place in told)
        written.append(HumanInstruction(text, attributes, tuple(value for _, value in asked)))
    return tuple(written)


def with_article(text: str, facts: Facts, phrases: Phrases) -> str:
    """``text``, which ends in the head of ``facts``, after "a" or "an" where the head takes one."""
    plural = facts.head.endswith("s") and not facts.head.endswith("ss") and facts.head not in phrases.singular
    if plural or facts.kind.department == "grocery" or facts.head in phrases.without_article:
        return text
    # "usb", "universal" and "uv" begin with a consonant when they are spoken, "hdmi", "led" and "mp3" do not
    sounds_like_vowel = re.match(r"(?!uni|us|uv|eu)[aeiou]|hdmi|led |mp3", text)
    return f"{'an' if sounds_like_vowel else 'a'} {text}"
