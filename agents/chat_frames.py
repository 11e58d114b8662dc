"""What a chat template puts around the messages of a conversation, found once per model.

Text of messages is encoded apart from the frames around it, so a turn is appended without touching what stands before
it, a message can hold no structure (text that looks like a special token is spelled out), and every span is exact.
"""

from typing import Any, NamedTuple

from envrl.agents.models import LanguageModel
from envrl.envs.errors import InvalidData

_SYSTEM, _FIRST, _ANSWER, _SECOND = "QSYSTEMQ", "QFIRSTQ", "QANSWERQ", "QSECONDQ"


class Frames(NamedTuple):
    """The text around messages: ``opening system before_user user cue answer stop after_answer user cue ...``.

    before_user is ``""`` and system is a part of the first user message where the template knows no system role.
    stop is the id of the token that ends an answer; after_answer is what follows it up to the next user message.
    """

    opening: str
    before_user: str
    has_system: bool
    cue: str
    stop: int
    after_answer: str


#: for models without a chat template
PLAIN = ("", "\n\n", "\n\nAction:\n", "\n\n")


def find_frames(lm: LanguageModel) -> Frames:
    """The frames of the model's chat template; plain ones if it has none.

    Raises:
        InvalidData: the template leaves messages out or changes them, or nothing can end an answer.
    """
    eos = lm.tokenizer.eos_token_id
    if not lm.tokenizer.chat_template:
        if eos is None:
            raise InvalidData("expected a tokenizer with an end-of-sequence token, found none")
        opening, before_user, cue, after_answer = PLAIN
        bos = lm.tokenizer.bos_token
        return Frames((bos or "") + opening, before_user, True, cue, int(eos), after_answer)
    system = {"role": "system", "content": _SYSTEM}
    messages = [
        {"role": "user", "content": _FIRST},
        {"role": "assistant", "content": _ANSWER},
        {"role": "user", "content": _SECOND},
    ]
    has_system = True
    try:
        text = _render(lm, [system, *messages])
    except Exception:  # a template refuses what it does not know by raising whatever its author chose
        text, has_system = _render(lm, messages), False
    if has_system and _SYSTEM not in text:
        text, has_system = _render(lm, messages), False
    marks = [*([_SYSTEM] if has_system else []), _FIRST, _ANSWER, _SECOND]
    parts: list[str] = []
    rest = text
    for mark in marks:
        before, found, rest = rest.partition(mark)
        if not found:
            raise InvalidData(
                f"the chat template of {lm.model.config.name_or_path!r} does not show every message"
            )
        parts.append(before)
    cue, after = rest, parts[-1]
    stop, after = _stop(lm, after)
    return Frames(parts[0], parts[1] if has_system else "", has_system, cue, stop, after)


def _render(lm: LanguageModel, messages: list[dict[str, Any]]) -> str:
    text = lm.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert isinstance(text, str)  # tokenize=False
    return text


def _stop(lm: LanguageModel, after: str) -> tuple[int, str]:
    """The special token at the start of what follows an answer, and the rest; else the end-of-sequence token."""
    text = after.lstrip()
    ids = lm.tokenizer(text, add_special_tokens=False)["input_ids"] if text else []
    if ids and ids[0] in lm.special_ids:
        token = lm.tokenizer.convert_ids_to_tokens(ids[0])
        return int(ids[0]), text.removeprefix(str(token))
    eos = lm.tokenizer.eos_token_id
    if eos is None:
        raise InvalidData(
            "expected a token that ends an answer, found none in the chat template or the tokenizer"
        )
    return int(eos), after
