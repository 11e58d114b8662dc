"""Choices: fixed by the seed, within their bounds, with the shares that they are asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.webshop.draw import Draw


def test_the_stream_is_fixed() -> None:
    draw = Draw("a seed")
    assert [draw.below(1000) for _ in range(4)] == [397, 37, 765, 400]


@given(st.text(max_size=20), st.integers(1, 50), st.integers(0, 60))
def test_some_gives_different_items(seed: str, size: int, count: int) -> None:
    chosen = Draw(seed).some(range(size), count)
    assert len(chosen) == len(set(chosen)) == min(size, count)
    assert set(chosen) <= set(range(size))
    assert chosen == Draw(seed).some(range(size), count)


@given(st.text(max_size=20))
def test_bounds(seed: str) -> None:
    draw = Draw(seed)
    assert 0 <= draw.uniform() < 1
    assert 0 <= draw.below(3) < 3
    assert draw.one("abc") in "abc"
    assert draw.weighted([0, 2, 0, 1, 0]) in (1, 3)
    assert not draw.chance(0) and draw.chance(1)
    assert 5 <= draw.quantile([(0, 5), (0.5, 6), (1, 20)]) <= 20


def test_shares() -> None:
    draw = Draw("shares")
    count = 20_000
    tens = sum(draw.weighted([1, 9]) for _ in range(count)) / count
    assert tens == pytest.approx(0.9, abs=0.01)
    low = sum(draw.quantile([(0, 0), (0.3, 1), (1, 8)]) <= 1 for _ in range(count)) / count
    assert low == pytest.approx(0.3, abs=0.015)
    normals = [draw.normal() for _ in range(count)]
    mean = sum(normals) / count
    assert mean == pytest.approx(0, abs=0.03)
    assert sum((value - mean) ** 2 for value in normals) / count == pytest.approx(1, abs=0.05)


def test_every_order_of_some_comes_up() -> None:
    orders = {tuple(Draw(str(seed)).some("abc", 3)) for seed in range(200)}
    assert len(orders) == 6
