"""Intervals and tests for success rates: of one policy, of two on the same tasks, of several seeds."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

import numpy as np

Interval = Literal["wilson", "bootstrap"]
#: resamples of a bootstrap, sign flips of a test; more would change the last shown digit at most
RESAMPLES = 10_000
#: numbers drawn at once: bounds the memory of a bootstrap
_DRAWS = 2**22


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a success rate (E. B. Wilson, JASA 22, 1927).

    Args:
        successes: out of ``n``.
        n: trials; 0 gives (0, 1).
        confidence: coverage.
    """
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def bootstrap_interval(
    values: Sequence[float], confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean (B. Efron, Annals of Statistics 7, 1979).

    Args:
        values: one a task; none gives (NaN, NaN).
        confidence: coverage.
        resamples: how many.
        seed: of the resampling.
    """
    return crossed_bootstrap_interval([values], confidence, resamples, seed)


def crossed_bootstrap_interval(
    table: Sequence[Sequence[float]], confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Bootstrap interval of the mean of a table whose rows and columns are both samples.

    Rows (seeds of training) and columns (tasks of an evaluation) are resampled apart, since all seeds meet the same
    tasks; the interval tends to be a little too wide (A. B. Owen, "The pigeonhole bootstrap", Annals of
    Applied Statistics 1, 2007). With a single row the columns alone are resampled, and the reverse.

    Args:
        table: ``(rows, columns)``; an empty one gives (NaN, NaN).
        confidence: coverage.
        resamples: how many.
        seed: of the resampling.
    """
    values = np.asarray(table, dtype=float)
    if not values.size:
        return float("nan"), float("nan")
    rows, columns = values.shape
    rng = np.random.default_rng(seed)
    means = []
    part = max(1, _DRAWS // (rows + columns))
    for start in range(0, resamples, part):
        count = min(part, resamples - start)
        # how often each row and each column is drawn
        of_rows = rng.multinomial(rows, np.full(rows, 1 / rows), size=count)
        of_columns = rng.multinomial(columns, np.full(columns, 1 / columns), size=count)
        means.append(((of_rows @ values) * of_columns).sum(1) / (rows * columns))
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return float(low), float(high)


def success_interval(
    outcomes: Sequence[Sequence[bool]], method: Interval | None = None, confidence: float = 0.95
) -> tuple[float, float]:
    """Interval of the success rate over tasks.

    Args:
        outcomes: of each task, whether each of its samples solved it; tasks without samples are left out.
        method: ``wilson`` takes all samples as independent; ``bootstrap`` resamples tasks with all their samples. By
            default Wilson's where every task has one sample, which also holds at rates of 0 and 1, else the bootstrap.
        confidence: coverage.
    """
    counts = [(sum(samples), len(samples)) for samples in outcomes if samples]
    if method is None:
        method = "wilson" if all(n == 1 for _, n in counts) else "bootstrap"
    if method == "wilson":
        return wilson_interval(sum(won for won, _ in counts), sum(n for _, n in counts), confidence)
    return bootstrap_interval([won / n for won, n in counts], confidence) if counts else (0.0, 1.0)


def pass_at_k(n: int, successes: int, k: int) -> float:
    """Chance that at least one of ``k`` samples solves a task, estimated without bias from ``n >= k`` samples.

    Source: arXiv 2107.03374, eq. 1.

    Raises:
        ValueError: ``k`` is not in ``1 .. n``.
    """
    if not 1 <= k <= n:
        raise ValueError(f"pass@k needs k between 1 and the number of samples, got k = {k} of {n}")
    return 1.0 - math.comb(n - successes, k) / math.comb(n, k)


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p value of McNemar's test that two policies solve the same tasks equally often, by the exact binomial.

    Args:
        only_first: tasks that the first policy alone solved.
        only_second: tasks that the second policy alone solved.
    """
    n = only_first + only_second
    fewer = min(only_first, only_second)
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(fewer + 1)) / 2**n)


def sign_flip_test(differences: Sequence[float], resamples: int = RESAMPLES, seed: int = 0) -> float:
    """Two-sided p value that paired differences are symmetric around 0: each sign could as well be the other.

    With differences of -1, 0 and 1 this is McNemar's test; it also takes the differences of rates.

    Args:
        differences: one a task.
        resamples: random flips; the observed signs count as one more, so that p is never 0.
        seed: of the flips.
    """
    values = np.asarray(differences, dtype=float)
    rng = np.random.default_rng(seed)
    observed = abs(values.sum())
    extreme = 0
    part = max(1, _DRAWS // max(values.size, 1))
    for start in range(0, resamples, part):
        signs = rng.choice((-1.0, 1.0), size=(min(part, resamples - start), values.size))
        # sums of the same fractions in another order differ in the last bits
        extreme += int((np.abs(signs @ values) >= observed - 1e-9).sum())
    return (extreme + 1) / (resamples + 1)
