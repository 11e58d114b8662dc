"""Rows of ids to padded tensors, grouped so that little is padding."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def pad(rows: Sequence[Sequence[int]], device: torch.device | None = None) -> Tensor:
    """Right-padded ids ``(rows, longest)``; pads are id 0 (no real token sees them under causal attention)."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], device=device)


def bucket(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Indices in batches of similar length, each at most ``max_tokens`` with padding (or a single row)."""
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= max_tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def epoch(
    lengths: Sequence[int], max_tokens: int, rng: np.random.Generator, pool: int = 256
) -> list[list[int]]:
    """All indices once, in random batches: bucketed within random pools, then shuffled."""
    order = rng.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), pool):
        part = order[start : start + pool]
        batches += [[int(part[i]) for i in batch] for batch in bucket([lengths[i] for i in part], max_tokens)]
    return [batches[i] for i in rng.permutation(len(batches))]
