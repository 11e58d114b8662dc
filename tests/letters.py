"""A model's text side with one id a character, so that walks and blanks can be followed by hand."""

import string


class Letters:
    """As much of `LanguageModel` as text needs: id 0 is the stop token, the others are printable characters."""

    def __init__(self) -> None:
        self.token_texts = ["", *string.printable, '",', "]}", "a]", "\\n"]

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(self.token_texts.index(c) for c in text)

    def decode(self, ids) -> str:
        return "".join(self.token_texts[i] for i in ids)


class LetterFormat:
    """As much of an `EpisodeFormat` as an action needs."""

    stop = 0

    def __init__(self) -> None:
        self.lm = Letters()

    def action(self, text: str) -> tuple[int, ...]:
        return (*self.lm.encode(text), self.stop)
