"""One action on its way from what is offered to what is chosen, token by token.

Concrete actions form a trie: only tokens at which they branch are decisions, what remains of a decided action is
forced. A template enters the trie with the text before its first blank; from there on its content is decided token by
token within the rules of `envrl.agents.policies.blanks`, and its other literals are forced.
"""

from collections.abc import Sequence
from typing import NamedTuple

from envrl.agents.policies.blanks import BlankRules, Template, completion, parse_template, read
from envrl.agents.prompts import Allowed, Decision, EpisodeFormat, Excluded, Offer
from envrl.agents.transcripts import Choice


class Candidate(NamedTuple):
    """Something to choose: a concrete action, or a template with the ids before its first blank."""

    text: str
    ids: tuple[int, ...]
    template: Template | None = None


def candidates(format: EpisodeFormat, offer: Offer) -> list[Candidate]:
    """What is offered, each sequence of ids once."""
    found: dict[tuple[int, ...], Candidate] = {}
    for text in offer.actions:
        ids = format.action(text)
        found.setdefault(ids, Candidate(text, ids))
    for text in offer.templates:
        template = parse_template(text)
        if not template.blanks:
            ids = format.action(text)
            found.setdefault(ids, Candidate(text, ids))
        else:
            ids = format.lm.encode(template.literals[0])
            found.setdefault(ids, Candidate(text, ids, template))
    return list(found.values())


class Walk:
    """The walk of one action.

    Args:
        format: tokens of an action.
        rules: of blanks.
        offered: what to choose from, at least one.
        longest: a blank is closed after so many tokens.
    """

    def __init__(
        self, format: EpisodeFormat, rules: BlankRules, offered: Sequence[Candidate], longest: int = 64
    ) -> None:
        self._format, self._rules, self._longest = format, rules, longest
        self._left = list(offered)
        self.ids: list[int] = []
        self.decisions: list[Decision] = []
        self.done = False
        self._text = ""
        self._allowed: Allowed = ()
        # inside a template:
        self._template: Template | None = None
        self._blank, self._state = 0, ""
        self._content: list[int] = []

    def forced(self) -> list[int]:
        """Ids that leave no choice from here on; they become part of the action."""
        start = len(self.ids)
        while not self.done:
            depth = len(self.ids)
            if self._template is not None:
                if len(self._content) < self._longest:
                    break
                self.ids += self._format.lm.encode(completion(self._state))
                self._content += self.ids[depth:]
                self._close()
            elif len(self._left) == 1:
                (only,) = self._left
                self.ids += only.ids[depth:]
                if only.template is None:
                    self._text, self.done = only.text, True
                else:
                    self._enter(only.template)
            else:
                following = {c.ids[depth] for c in self._left if len(c.ids) > depth}
                if len(following) > 1 or self._open() is not None:
                    break
                self.ids.append(following.pop())
        return self.ids[start:]

    def allowed(self) -> tuple[int, ...] | Excluded:
        """What the next token may be."""
        depth = len(self.ids)
        if self._template is not None:
            found: tuple[int, ...] = self._barred()
        else:
            following = {c.ids[depth] for c in self._left if len(c.ids) > depth}
            template = self._open()
            if template is None:
                found = tuple(sorted(following))
            else:
                barred = self._rules.excluded(template.blanks[0], "", None)
                found = Excluded(i for i in barred if i not in following)
        self._allowed = found
        return found

    def take(self, token: int, logprob: float = 0.0, entropy: float = 0.0) -> None:
        """The next token, one of `allowed`."""
        depth = len(self.ids)
        self.decisions.append(Decision(depth, 0, self._allowed, logprob, entropy))
        if self._template is None:
            left = [c for c in self._left if len(c.ids) > depth and c.ids[depth] == token]
            if left:
                self.ids.append(token)
                self._left = left
                return
            template = self._open()
            assert template is not None  # else the token was not allowed
            self._enter(template)
        if token == self._close_id():
            self._close()
        else:
            self.ids.append(token)
            self._content.append(token)
            blank = self._template.blanks[self._blank]  # type: ignore[union-attr]
            self._state = read(blank, self._state, self._rules.lm.token_texts[token]) or ""

    def choice(self) -> Choice:
        """The finished action."""
        return Choice(self._text, tuple(self.ids), self.decisions)

    def _open(self) -> Template | None:
        """The template whose first blank begins here, if there is one."""
        return next((c.template for c in self._left if c.template and len(c.ids) == len(self.ids)), None)

    def _enter(self, template: Template) -> None:
        self._template, self._blank, self._state, self._content = template, 0, "", []
        self._text = template.literals[0]

    def _closing(self) -> tuple[int, ...]:
        """Ids that end the present blank, up to the next one or the end of the action."""
        assert self._template is not None
        literal = self._template.literals[self._blank + 1]
        if self._blank + 1 < len(self._template.blanks):
            return self._format.lm.encode(literal)
        return (*self._format.lm.encode(literal), self._format.stop)

    def _close_id(self) -> int | None:
        """The id that ends the present blank; None where it must not end."""
        assert self._template is not None
        blank = self._template.blanks[self._blank]
        return self._closing()[0] if self._rules.may_close(blank, self._state, self._content) else None

    def _barred(self) -> Excluded:
        assert self._template is not None
        return self._rules.excluded(self._template.blanks[self._blank], self._state, self._close_id())

    def _close(self) -> None:
        assert self._template is not None
        self.ids += self._closing()
        self._text += self._rules.lm.decode(self._content) + self._template.literals[self._blank + 1]
        self._blank, self._state, self._content = self._blank + 1, "", []
        self.done = self._blank == len(self._template.blanks)


def retrace(
    format: EpisodeFormat, rules: BlankRules, offered: Sequence[Candidate], action: str
) -> Choice | None:
    """The walk that ends in ``action``, with log-probabilities 0; None if no walk does."""
    for candidate in offered:
        target = _ids_of(format, candidate, action)
        if target is None:
            continue
        walk = Walk(format, rules, offered, longest=len(target) + 1)
        walk.forced()
        while not walk.done:
            allowed, token = walk.allowed(), target[len(walk.ids)]
            if (token in allowed) == isinstance(allowed, Excluded):
                break
            walk.take(token)
            walk.forced()
        if walk.done and tuple(walk.ids) == target:
            return walk.choice()
    return None


def _ids_of(format: EpisodeFormat, candidate: Candidate, action: str) -> tuple[int, ...] | None:
    """Ids of ``action`` as an instance of the candidate."""
    if candidate.template is None:
        return candidate.ids if candidate.text == action else None
    contents = candidate.template.contents(action)
    if contents is None:
        return None
    ids = list(candidate.ids)
    for content, literal in zip(contents, candidate.template.literals[1:], strict=True):
        ids += [*format.lm.encode(content), *format.lm.encode(literal)]
    return (*ids, format.stop)
