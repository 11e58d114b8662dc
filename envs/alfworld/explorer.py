"""A scripted player for varied data: the imitable expert, interrupted by random commands."""

from collections.abc import Sequence
from random import Random

from envrl.envs.alfworld.game import Goal
from envrl.envs.alfworld.imitable import ImitableExpert
from envrl.envs.errors import NoExpert

#: verbs that change nothing; a random player would spend a large share of its steps on them
_IDLE = frozenset({"examine", "help", "inventory", "look"})


class Explorer:
    """Acts like `ImitableExpert`, except that a share of its commands is drawn at random.

    The verb of a random command is drawn first, so that the many ``go to`` do not crowd out the few others;
    ``idle`` says how often it is one that changes nothing. Call `start`, then `act` and `observe` in turn.

    Args:
        rng: source of all randomness; two explorers with equal states of it act alike.
        epsilon: share of random commands, 0 to 1.
        noise: jitter on the order in which receptacles are searched (see `ImitableExpert`).
        idle: weight, relative to 1 for another verb, of looking, examining, taking stock and asking for help.
    """

    def __init__(self, rng: Random, epsilon: float = 0.3, *, noise: float = 1.0, idle: float = 0.25) -> None:
        if not 0.0 <= epsilon <= 1.0:
            raise ValueError(f"epsilon is a share between 0 and 1, got {epsilon}")
        self._rng, self.epsilon, self._noise, self._idle = rng, epsilon, noise, idle
        self._expert: ImitableExpert | None = None

    def start(self, goal: Goal | str, observation: str) -> None:
        """Begin an episode."""
        self._expert = ImitableExpert(goal, rng=self._rng, noise=self._noise)
        self._expert.observe(observation)

    def observe(self, observation: str, action: str | None = None) -> None:
        """Take in what an action led to."""
        if self._expert is None:
            raise NoExpert("call start(goal, observation) before observe")
        self._expert.observe(observation, action)

    def act(self, admissible: Sequence[str]) -> str:
        """The next command, one of ``admissible``."""
        if self._expert is None:
            raise NoExpert("call start(goal, observation) before act")
        if self._rng.random() >= self.epsilon:
            try:
                return self._expert.act(admissible)
            except NoExpert:
                pass
        return self._random(admissible)

    def _random(self, admissible: Sequence[str]) -> str:
        by_verb: dict[str, list[str]] = {}
        for command in admissible:
            by_verb.setdefault(command.partition(" ")[0], []).append(command)
        verbs = list(by_verb)
        weights = [self._idle if verb in _IDLE else 1.0 for verb in verbs]
        if not any(weights):
            weights = [1.0] * len(verbs)
        verb = self._rng.choices(verbs, weights)[0]
        return self._rng.choice(by_verb[verb])
