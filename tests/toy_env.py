"""A small complete environment for several tests: find the coin hidden in a room and carry it to the hall."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import gymnasium

from envrl.envs.core import ActionStatus, StepResult, TextEnv
from envrl.envs.errors import InvalidTask, NoExpert

ROOMS = ("hall", "attic", "cellar", "müll room")


class Hidden(NamedTuple):
    coin: str  # a room, "hand" or "home"
    place: str
    looked: frozenset[str]
    noted: str


class ToyEnv(TextEnv):
    """In task ``coin-<n>`` the coin lies in room ``n % 4``. Go to, look, take coin, drop coin, note."""

    def __init__(self, split: str = "train", tasks: int = 8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.split, self.tasks = split, tasks

    def task_ids(self) -> Sequence[str]:
        return [f"coin-{n}" for n in range(self.tasks)]

    def describe_state(self) -> str:
        s = self.s
        return f"coin at {s.coin}; you in {s.place}; looked in {sorted(s.looked)}; noted {s.noted!r}"

    def classify_action(self, text: str) -> tuple[ActionStatus, str]:
        verb = text.strip()
        if verb in self._admissible() or (verb.startswith("note[") and verb.endswith("]")):
            return "ok", ""
        known = {f"go to {room}" for room in ROOMS} | {"look", "take coin", "drop coin"}
        return ("inadmissible", "You cannot do that now.") if verb in known else ("malformed", "What?")

    def expert_actions(self, privileged: bool = True) -> list[str]:
        if not privileged:
            raise NoExpert("ToyEnv has no imitable expert")
        s, plan = self.s, []
        if s.coin == "home":
            return []
        if s.coin != "hand":
            plan += (
                [f"go to {s.coin}"] * (s.coin != s.place)
                + ["look"] * (s.coin not in s.looked)
                + ["take coin"]
            )
        at = s.place if s.coin == "hand" else s.coin
        return plan + ["go to hall"] * (at != "hall") + ["drop coin"]

    def _start(self, task_id: str, options: dict[str, Any]) -> str:
        head, _, number = str(task_id).partition("-")
        if head != "coin" or not number.isdigit():
            raise InvalidTask(f"expected a task like coin-3, found {task_id!r}")
        self.s = Hidden(ROOMS[int(number) % 4], "hall", frozenset(), "")
        return "You are in the hall. A coin is hidden somewhere."

    def _act(self, action: str) -> StepResult:
        status, message = self.classify_action(action)
        if status != "ok":
            return StepResult(message, status=status)
        s, verb = self.s, action.strip()
        if verb.startswith("go to "):
            self.s = s._replace(place=verb[6:])
            return StepResult(f"You are in the {self.s.place}.")
        if verb == "look":
            self.s = s._replace(looked=s.looked | {s.place})
            return StepResult("A coin!" if s.coin == s.place else "Nothing here.")
        if verb == "take coin":
            self.s = s._replace(coin="hand")
            return StepResult("You hold the coin.")
        if verb == "drop coin":
            self.s = s._replace(coin="home" if s.place == "hall" else s.place)
            won = self.s.coin == "home"
            return StepResult(
                "The coin is home." if won else "You drop it.", reward=float(won), terminated=won
            )
        self.s = s._replace(noted=verb[5:-1])
        return StepResult(f"You note: {self.s.noted}")

    def _admissible(self) -> tuple[str, ...]:
        s = self.s
        actions = [f"go to {room}" for room in ROOMS if room != s.place] + ["look"]
        if s.coin == s.place and s.place in s.looked:
            actions.append("take coin")
        if s.coin == "hand":
            actions.append("drop coin")
        return tuple(actions)

    def _info_fields(self) -> tuple[str, tuple[str, ...], tuple[str, ...], bool, str]:
        s = self.s
        facts = repr((s.coin, s.place, sorted(s.looked), s.noted)).encode("utf-8", "surrogatepass")
        return (
            "bring the coin to the hall",
            self._admissible(),
            ("note[<text>]",),
            s.coin == "home",
            blake2b(facts, digest_size=8).hexdigest(),
        )

    def _get_hidden(self) -> Hidden:
        return self.s

    def _set_hidden(self, task_id: str, hidden: Hidden) -> None:
        self.s = hidden


if "Toy/Coin-v0" not in gymnasium.registry:
    gymnasium.register("Toy/Coin-v0", entry_point="toy_env:ToyEnv", max_episode_steps=20)
