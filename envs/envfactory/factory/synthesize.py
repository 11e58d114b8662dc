"""Stage 5, synthesize: what a user says who wants a chain carried out, and the conversation that does it.

By default the words come from templates: phrases and nouns of the toolkits where they have them, descriptions
of tools and fields where not. A language model behind an endpoint may reword them (`Reword`); whatever it says,
the next stage checks that nothing was lost or given away.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from envrl.envs.envfactory.factory.arena import Stock
from envrl.envs.envfactory.factory.chain import Chain, ChainCall
from envrl.envs.envfactory.factory.phrasing import Phrasing, words_for
from envrl.envs.envfactory.factory.wording import bare, readable, unguessable
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.envfactory.task import Output, ReferenceStep, Slot, ToolkitUse, Turn
from envrl.envs.envfactory.toolbox import Toolbox

_SPLIT = 0.4  # share of chains with several goals that are told one goal at a time
_SLOT = 0.2  # share of goals of which the user holds back an argument until asked
_CONNECTIVES = ("Then: ", "After that: ", "And also: ")
_DONE = ("Done.", "That is done.", "I have done that.")

#: everything is said; something must be looked up; the user must be asked; the user has several turns; tools of
#: several toolkits are needed
TYPES = ("direct", "lookup", "ask_user", "multi_turn", "cross_toolkit")

#: (a user's turn, the chain) -> the turn in other words
Reword = Callable[[str, Chain], str]


class Draft(NamedTuple):
    """A task in words whose goal is not known yet.

    Attributes:
        chain: what it was made from.
        kind: one of `TYPES`, the hardest that applies.
        toolkits, turns, reference, outputs: as in `Task`.
        hidden: values that the user's words must not contain.
    """

    chain: Chain
    kind: str
    toolkits: tuple[ToolkitUse, ...]
    turns: tuple[Turn, ...]
    reference: tuple[ReferenceStep, ...]
    outputs: tuple[Output, ...]
    hidden: tuple[Any, ...]


def synthesize(
    chain: Chain, stocks: Mapping[str, Stock], toolbox: Toolbox, reword: Reword | None = None
) -> Draft:
    """Put a chain into words; the same chain gives the same words.

    Args:
        chain: as sampled.
        stocks: toolkit name -> stock; those of the chain are used.
        toolbox: the tools of the chain's toolkits.
        reword: says a turn in other words.
    """
    rng = np.random.default_rng([*chain.seed, 5])
    sources = {name: stocks[name].source for name in chain.states}
    specs = {call.tool: toolbox.place(call.tool)[1] for call in chain.calls}
    phrasing = Phrasing(chain, sources, specs)
    goals = chain.goals()
    several = len(goals) > 1 and rng.random() < _SPLIT
    turns: list[Turn] = []
    steps: list[ReferenceStep] = []
    outputs: dict[tuple[Any, bool], Output] = {}
    texts: list[str] = []
    slots: list[Slot] = []
    answers: list[str] = []
    asked = False
    for number, goal in enumerate(goals):
        unsaid = _hold_back(goal, specs[goal.tool], rng) if not asked else None
        sentence = phrasing.request(goal, rng, unsaid)
        if texts:
            sentence = _CONNECTIVES[int(rng.integers(len(_CONNECTIVES)))] + sentence
        texts.append(sentence)
        if unsaid is not None:
            asked = True
            value = goal.arguments[unsaid]
            texts[-1] += f" Ask me for the {bare(unsaid)} first."
            words = tuple(dict.fromkeys((bare(unsaid), readable(unsaid))))
            slots.append(Slot(name=unsaid, ask=words, reply=f"The {bare(unsaid)} is {words_for(value)}."))
            steps.append(ReferenceStep(say=f"What is the {bare(unsaid)}?"))
            outputs[value, False] = Output(value=value, say=False, unused=unguessable(value))
        for call in (call for call in chain.calls if call.goal == number):
            steps.append(ReferenceStep(tool=call.tool, arguments=call.arguments))
            for parameter, origin in call.origins.items():
                value = call.arguments[parameter]
                found = not origin.made
                evidence = Output(value=value, say=False, see=found, unused=found and unguessable(value))
                outputs.setdefault((value, False), evidence)
        for ask in goal.asks:
            outputs[ask.value, True] = Output(value=ask.value)
        answers += [text for text in [phrasing.answer(goal)] if text]
        if several or number == len(goals) - 1:
            text = " ".join(texts)
            turns.append(Turn(text=reword(text, chain) if reword else text, slots=tuple(slots)))
            steps.append(ReferenceStep(say=" ".join(answers) or _DONE[int(rng.integers(len(_DONE)))]))
            texts, slots, answers = [], [], []
    hidden = [call.arguments[name] for call in chain.calls for name in call.origins]
    uses = tuple(
        ToolkitUse(name=name, source=stocks[name].source.spec, state=stocks[name].state_id(index))
        for name, index in chain.states.items()
    )
    kept = tuple(output for output in outputs.values() if output.say or output.see)
    return Draft(chain, _kind(chain, several, asked), uses, tuple(turns), tuple(steps), kept, tuple(hidden))


def _hold_back(goal: ChainCall, spec: ToolSpec, rng: np.random.Generator) -> str | None:
    """An argument that the user does not say at first, or None."""
    if rng.random() >= _SLOT:
        return None
    properties = spec.parameters["properties"]
    names = [
        name
        for name in spec.required
        if name not in goal.origins
        and isinstance(goal.arguments[name], str | int | float)
        and not isinstance(goal.arguments[name], bool)
        and not {"enum", "const"} & set(properties[name])
    ]
    return names[int(rng.integers(len(names)))] if names else None


def _kind(chain: Chain, several: bool, asked: bool) -> str:
    if len(chain.states) > 1:
        return "cross_toolkit"
    if several:
        return "multi_turn"
    if asked:
        return "ask_user"
    return "lookup" if any(call.lookup for call in chain.calls) else "direct"
