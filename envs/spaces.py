"""`FreeText`: the text space of observations and actions, any Unicode string up to a length.

Gymnasium's own ``Text`` cannot serve here: its default alphabet has no spaces or newlines, an alphabet of
printable ASCII makes ``AsyncVectorEnv`` return stale text from shared memory without an error, and one of all
of Unicode takes half a minute to build.
"""

import multiprocessing
import string
from typing import Any

from gymnasium import spaces
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

#: what `FreeText.sample` draws from; membership is not limited to it
_SAMPLED = "".join(c for c in string.printable if c not in "\x0b\x0c")
_LENGTH_BYTES = 4
_MAX_UTF8_BYTES = 4


class FreeText(spaces.Text):
    """Any Unicode string of ``min_length`` to ``max_length`` characters, lone surrogates included.

    Args:
        max_length: longest member, in characters (code points).
        min_length: shortest member, in characters.
        seed: seed of `sample`.

    >>> "a fridge 1,\\n€5 日本" in FreeText(64)
    True
    """

    def __init__(self, max_length: int = 8192, *, min_length: int = 0, seed: int | None = None) -> None:
        super().__init__(max_length, min_length=min_length, charset=_SAMPLED, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a string of an allowed length."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A random printable ASCII string, short unless ``min_length`` asks for more."""
        if mask is None and probability is None:
            longest = min(self.max_length, max(self.min_length, 64))
            mask = (int(self.np_random.integers(self.min_length, longest + 1)), None)
        return super().sample(mask, probability)

    @property
    def is_np_flattenable(self) -> bool:
        """False: text has no fixed array form."""
        return False

    def __repr__(self) -> str:
        return f"FreeText({self.max_length}, min_length={self.min_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FreeText) and (other.min_length, other.max_length) == (
            self.min_length,
            self.max_length,
        )

    __hash__ = None  # type: ignore[assignment]  # as all Gymnasium spaces: mutable through their RNG


# ---- shared memory of AsyncVectorEnv: per env a length in bytes, then UTF-8 --------------------------------


def _slot_bytes(space: FreeText) -> int:
    return _LENGTH_BYTES + _MAX_UTF8_BYTES * space.max_length


class _SharedText:
    """The texts of n envs in shared memory, decoded at each access.

    AsyncVectorEnv makes one of these when it is built and deep-copies it after every step: the copy is a
    plain tuple of strings.
    """

    def __init__(self, space: FreeText, memory: Any, n: int) -> None:
        self._slot, self._memory, self._n = _slot_bytes(space), memory, n

    def _decode(self) -> tuple[str, ...]:
        buffer = memoryview(self._memory.get_obj()).cast("B")
        texts = []
        for start in range(0, self._n * self._slot, self._slot):
            body = start + _LENGTH_BYTES
            size = int.from_bytes(buffer[start:body], "little")
            texts.append(bytes(buffer[body : body + size]).decode("utf-8", "surrogatepass"))
        return tuple(texts)

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return self._decode()

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        return self._decode()[index]

    def __iter__(self) -> Any:
        return iter(self._decode())


@create_shared_memory.register(FreeText)
def _create(space: FreeText, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("B", n * _slot_bytes(space))


@read_from_shared_memory.register(FreeText)
def _read(space: FreeText, shared_memory: Any, n: int = 1) -> _SharedText:
    return _SharedText(space, shared_memory, n)


@write_to_shared_memory.register(FreeText)
def _write(space: FreeText, index: int, values: str, shared_memory: Any) -> None:
    if len(values) > space.max_length:  # by characters, so that the error does not depend on the script
        raise ValueError(
            f"a text of {len(values)} characters does not fit FreeText({space.max_length}); "
            "the environment must cut its observations to the space"
        )
    data = values.encode("utf-8", "surrogatepass")
    start = index * _slot_bytes(space)
    buffer = memoryview(shared_memory.get_obj()).cast("B")
    buffer[start : start + _LENGTH_BYTES] = len(data).to_bytes(_LENGTH_BYTES, "little")
    buffer[start + _LENGTH_BYTES : start + _LENGTH_BYTES + len(data)] = data
