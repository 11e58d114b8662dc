"""What the messages of a conversation say, in text: shared by chat models here and behind an endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from envrl.agents.choices import ResponseKind
from envrl.agents.prompts import Offer
from envrl.wrappers.history import PromptTemplate, render_prompt

_INSTRUCTIONS: dict[ResponseKind, str] = {
    "bare": "You act in a text environment to solve a task. Answer with your next action and nothing else.",
    "tags": (
        "You act in a text environment to solve a task. Think between <think> and </think>, then write your next "
        "action between <action> and </action>."
    ),
}


@dataclass(frozen=True)
class ChatTexts:
    """Texts of messages.

    instructions: the system message; None has one that suits ``response``. response: ``bare``: an answer is the
    action. ``tags``: demonstrated answers put it between <action> tags. list_actions: messages list what can be done.
    template: what the first message of a row looks like.
    """

    instructions: str | None = None
    response: ResponseKind = "bare"
    list_actions: bool = False
    template: PromptTemplate = field(default_factory=PromptTemplate)

    @property
    def system(self) -> str:
        """The system message."""
        return _INSTRUCTIONS[self.response] if self.instructions is None else self.instructions

    def opening(
        self, goal: str, history: Sequence[tuple[str, str]], observation: str, offer: Offer, steps: int
    ) -> str:
        """The first user message: the goal, the last turns, the observation, what can be done."""
        return render_prompt(self.template, goal, history, observation, self._listed(offer), steps=steps)

    def listing(self, offer: Offer) -> str:
        """What follows the observation in a later message; ``""`` where nothing is listed."""
        listed = self._listed(offer)
        if not listed:
            return ""
        actions = self.template.action_separator.join(self.template.action.format(action=a) for a in listed)
        return "\n\n" + self.template.admissible.format(actions=actions).rstrip()

    def answer(self, action: str) -> str:
        """A demonstrated answer."""
        return f"<action>{action}</action>" if self.response == "tags" else action

    def _listed(self, offer: Offer) -> list[str]:
        return [*offer.actions, *offer.templates] if self.list_actions else []
