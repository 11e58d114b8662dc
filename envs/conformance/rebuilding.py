"""Checks that an environment can be built again: from its spec, from a pickle, in another process."""

import functools
import inspect
import json
import pickle
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from envrl.envs.conformance.subject import Skipped, Subject, attempt, claim
from envrl.envs.conformance.walks import Factory, first_difference, walk, walk_in_process

_HASH_SEEDS = (1, 4242)


def check_spec(subject: Subject) -> None:
    """The spec is JSON and picklable, and builds the same environment again."""
    env = subject.factory()
    spec = env.spec or _spec_of(subject.factory)
    claim(isinstance(spec.entry_point, str), "entry point", "a str like 'module:Class'", spec.entry_point)
    attempt("JSON of the constructor's arguments", lambda: json.dumps(spec.kwargs))
    text = attempt("JSON of the spec", spec.to_json)
    seed = subject.seeds[0]
    expected = walk(env.unwrapped, seed, subject.steps)
    for what, stored in (("JSON", EnvSpec.from_json(text)), ("a pickle", pickle.loads(pickle.dumps(spec)))):
        again = attempt(f"making the spec from {what}", functools.partial(gymnasium.make, stored))
        difference = first_difference(expected, walk(again.unwrapped, seed, subject.steps))
        if difference:
            claim(False, f"a walk in the environment made from {what}, at {difference[0]}", *difference[1:])
    for name in ("observation_space", "action_space"):
        space = getattr(env, name)
        copy = attempt(f"pickling {name}", functools.partial(_pickled_copy, space))
        claim(copy == space, f"{name} after pickling", space, copy)
    env.close()


def _pickled_copy(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def check_processes(subject: Subject) -> None:
    """New interpreters with other hash seeds play the same walks, letter by letter."""
    env = subject.env()
    here = json.loads(json.dumps([walk(env, seed, subject.steps) for seed in subject.seeds]))
    for hash_seed in _HASH_SEEDS:
        there = attempt(
            "a walk in a new process (the environment must be importable there)",
            functools.partial(walk_in_process, subject.factory, subject.seeds, subject.steps, hash_seed),
        )
        difference = first_difference(here, there)
        if difference:
            what = f"a walk in a process with PYTHONHASHSEED={hash_seed}, at {difference[0]}"
            claim(False, what, *difference[1:])


def _spec_of(factory: Factory) -> EnvSpec:
    """The spec that a class, or a partial of one, would be registered with."""
    made: Any = factory
    kwargs: dict[str, Any] = {}
    if isinstance(factory, functools.partial):
        if factory.args:
            raise Skipped("make is a partial with positional arguments; a spec has keywords only")
        made, kwargs = factory.func, factory.keywords
    if not inspect.isclass(made):
        raise Skipped("make is neither an id nor a class nor a functools.partial of one")
    if "." in made.__qualname__:
        raise Skipped(f"{made.__qualname__} is defined inside something else, where no entry point leads")
    return EnvSpec(
        "Conformance-v0", entry_point=f"{made.__module__}:{made.__qualname__}", kwargs=dict(kwargs)
    )
