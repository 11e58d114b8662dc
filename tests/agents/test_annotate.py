import numpy as np
import pytest

from envrl.agents.annotate import annotate
from envrl.agents.prompts import Decision, TokenSequence
from envrl.agents.samples import Sample
from envrl.wrappers.transition import Transition


def step(**extras):
    return Transition(observation="o", action="a", next_observation="p", extras=extras)


def test_rows_say_how_their_action_was_judged():
    rows = [step(), step(action_templates=["search[<query>]"])]
    # the first action was one free choice, the second two: ln 1/2, then ln 1/4 + ln 1/8
    decisions = [
        Decision(3, 0, (1, 2), np.log(0.5)),
        Decision(7, 1, (3, 4), np.log(0.25)),
        Decision(8, 1, (5, 6), np.log(0.125)),
    ]
    tokens = TokenSequence(list(range(12)), decisions, [(3, 4), (7, 9)], [(4, 5), (9, 12)])
    annotate([Sample(rows, tokens, [1.0, 1.0], np.array([0.75, -1.2345678]))])
    assert rows[0].extras == {"advantage": 0.75, "logprob": pytest.approx(-0.69315)}
    assert rows[1].extras == {
        "action_templates": ["search[<query>]"],
        "advantage": -1.23457,
        "logprob": pytest.approx(-3.46574),
    }


def test_values_of_a_critic_are_noted_too():
    rows = [step()]
    tokens = TokenSequence([1, 2, 3], [], [(1, 2)], [(2, 3)])
    annotate([Sample(rows, tokens, [1.0], np.array([0.0]), np.array([0.3]), np.array([0.9]))])
    assert rows[0].extras == {"advantage": 0.0, "logprob": 0.0, "value": 0.3}
