"""The small tokenizer of `tiny`: whole words and recurring phrases of an environment's text, bytes as fallback.

It is learned from text in a second, is the same for the same text on every machine, and loses nothing: decoding
gives back the exact string. Frequent phrases ("You arrive at", ", you see a") become one token, so an ALFWorld
turn costs about 15 tokens instead of 60; words that carry an instance number (``cabinet 3``) are never swallowed
by a phrase, so a name is the same token wherever it stands.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

#: structure of an episode: see `envrl.agents.prompts`
SPECIAL_TOKENS = ("<pad>", "<unk>", "<bos>", "<eos>", "<obs>", "<act>", "<goal>", "<next>", "<inverse>")
_WORD = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]|\s+"
#: the same classes for Python's `re`, used while learning
_PIECE = re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\w\s]| ?_|\s+")


def _bytes_to_unicode() -> dict[int, str]:
    """The byte alphabet of byte-level tokenizers: printable characters stand for themselves."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {b: chr(b) for b in kept}
    spare = 256
    for b in range(256):
        if b not in table:
            table[b] = chr(spare)
            spare += 1
    return table


_BYTES = _bytes_to_unicode()


def _byte_level(text: str) -> str:
    return "".join(_BYTES[b] for b in text.encode())


def find_phrases(
    pieces: Iterable[Sequence[str]], max_phrases: int, min_count: int, cohesion: float = 0.1
) -> list[str]:
    """Merge adjacent pieces that belong together, most frequent pair first.

    A pair is merged when each side follows or precedes the other in at least ``cohesion`` of its occurrences,
    neither holds a digit or a line break, and the right side is not a name that carries an instance number.

    Args:
        pieces: texts as sequences of words, numbers and punctuation.
        max_phrases: how many merges at the most.
        min_count: rarer pairs are left alone.
        cohesion: smallest share of occurrences on both sides.

    Returns:
        The phrases that stand as tokens after all merges, longest first.
    """
    texts = Counter(tuple(p) for p in pieces)
    numbered = _names_with_numbers(texts)
    made: set[str] = set()
    for _ in range(max_phrases):
        single: Counter[str] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        for text, n in texts.items():
            for piece in text:
                single[piece] += n
            for pair in itertools.pairwise(text):
                pairs[pair] += n
        best, best_count = None, min_count - 1
        for (a, b), n in pairs.items():
            if n < best_count or (n == best_count and best is not None and (a, b) >= best):
                continue
            if n < cohesion * single[a] or n < cohesion * single[b] or a in numbered or b in numbered:
                continue
            if any(c.isdigit() or c == "\n" for c in a + b):
                continue
            best, best_count = (a, b), n
        if best is None or best_count < min_count:
            break
        made.add(best[0] + best[1])
        texts = Counter({_merge(text, best): n for text, n in texts.items()})
    standing = {piece for text in texts for piece in text}
    return sorted(made & standing, key=lambda p: (-len(p), p))


def _names_with_numbers(texts: Counter[tuple[str, ...]]) -> set[str]:
    before_number: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for text, n in texts.items():
        for piece, following in zip(text, [*text[1:], ""], strict=False):
            if any(c.isalpha() for c in piece):
                total[piece] += n
                if following.strip().isdigit():
                    before_number[piece] += n
    return {piece for piece, n in total.items() if before_number[piece] > 0.2 * n}


def _merge(text: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    if pair[0] not in text:
        return text
    out, i = [], 0
    while i < len(text):
        if text[i : i + 2] == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(text[i])
            i += 1
    return tuple(out)


def train_tokenizer(
    texts: Iterable[str], *, max_words: int = 2048, max_phrases: int = 64, min_count: int = 10
) -> PreTrainedTokenizerFast:
    """Learn the tokenizer from text of an environment.

    Args:
        texts: observations, goals and actions, one string each (repeats count).
        max_words: most frequent words kept whole; others are spelled in bytes.
        max_phrases: most merges of adjacent words.
        min_count: words and pairs seen less often are left to smaller tokens.

    Returns:
        A fast Hugging Face tokenizer; the same texts give the same tokenizer.

    Raises:
        ValueError: no text was given.
    """
    pieces = [_PIECE.findall(text) for text in texts]
    if not any(pieces):
        raise ValueError("a tokenizer is learned from text, and none was given; record episodes first")
    phrases = find_phrases(pieces, max_phrases, min_count)
    words = Counter(piece for text in pieces for piece in text)
    kept = sorted((w for w in words if words[w] >= min(min_count, 2)), key=lambda w: (-words[w], w))[
        :max_words
    ]
    vocabulary = dict.fromkeys(SPECIAL_TOKENS)
    vocabulary.update(dict.fromkeys(_BYTES[b] for b in range(256)))
    vocabulary.update(dict.fromkeys(_byte_level(w) for w in sorted(kept)))
    vocabulary.update(dict.fromkeys(_byte_level(p) for p in sorted(phrases)))
    index = {token: i for i, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(
        models.WordPiece(
            vocab=index, unk_token="<unk>", continuing_subword_prefix="", max_input_chars_per_word=1_000_000
        )
    )
    # A phrase must not begin inside a word ("to" in "into") nor end inside one.
    alternatives = "|".join(_phrase_pattern(p) for p in phrases)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(f"{alternatives}|{_WORD}" if phrases else _WORD), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence([decoders.Fuse(), decoders.ByteLevel()])
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<bos>",
        eos_token="<eos>",
        clean_up_tokenization_spaces=False,
    )


def _phrase_pattern(phrase: str) -> str:
    pattern = re.escape(phrase)
    if phrase[0].isalpha():
        pattern = r"(?<!\p{L})" + pattern
    if phrase[-1].isalpha():
        pattern += r"(?!\p{L})"
    return pattern
