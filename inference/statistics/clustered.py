"""The interval of a share whose examples come in clusters of similar ones, such as the scenes of one chain."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.inference.statistics.paired import paired
from trex.inference.statistics.proportion import Interval, Proportion
from trex.inference.types import Floats


def clustered_interval(hits: Sequence[float], sizes: Sequence[int], level: float = 0.95) -> Interval:
    """The interval of sum(hits) / sum(sizes), for clusters c with hits[c] among sizes[c] examples.

    Clopper and Pearson's interval with the effective number of examples (Korn and Graubard 1998, Survey Methodology
    24, 193-201), which the variance between clusters determines, with its degrees of freedom (see `_between`). If the
    share is 0 or 1 there is no visible variance, and (sum of sizes)^2 / (sum of squared sizes) examples count, which is
    the number of clusters if they are of one size (Kish 1965, Survey Sampling). An interval is never shorter than that:
    where all but few examples are alike, the visible variance does not tell of clusters that differ as wholes.
    """
    from scipy.stats import beta

    x, n = np.asarray(hits, dtype=float), np.asarray(sizes, dtype=float)
    if x.shape != n.shape or np.any(n <= 0) or np.any(x < 0) or np.any(x > n):
        raise InputError(f"hits {list(hits)} of {list(sizes)} are not counts of hits in clusters")
    if n.size == 0:
        return Interval(0.0, 1.0)
    share = float(x.sum() / n.sum())
    tail = (1.0 - level) / 2.0
    effective = _effective(x, n, share, tail)
    found = share * effective
    low = float(beta.ppf(tail, found, effective - found + 1)) if share > 0 else 0.0
    high = float(beta.ppf(1.0 - tail, found + 1, effective - found)) if share < 1 else 1.0
    unseen = _unseen(n, tail)
    return Interval(min(low, unseen), max(high, 1.0 - unseen))


def _unseen(n: Floats, tail: float) -> float:
    """One minus the share of clusters that no cluster shows with this probability."""
    return float(tail ** (np.sum(n**2) / n.sum() ** 2))


def clustered_share(hits: Sequence[int], sizes: Sequence[int], level: float = 0.95) -> Proportion:
    """A share of examples that come in clusters, such as those of a picture; empty clusters do not count."""
    kept = [(hit, size) for hit, size in zip(hits, sizes, strict=True) if size]
    interval = clustered_interval([hit for hit, _ in kept], [size for _, size in kept], level)
    return Proportion(sum(hits), sum(sizes), interval)


def share_of_alike(examples: Iterable[tuple[Hashable, bool]]) -> Proportion:
    """The share of True among examples (cluster, whether it is), of which those of one cluster are alike.

    >>> share_of_alike([("first start", True), ("first start", True), ("second start", False)]).count
    2
    """
    groups: dict[Hashable, list[bool]] = {}
    for cluster, is_it in examples:
        groups.setdefault(cluster, []).append(is_it)
    return clustered_share(list(map(sum, groups.values())), list(map(len, groups.values())))


def clustered_difference(differences: Sequence[float], clusters: Sequence[int]) -> Interval:
    """The 95% interval of the mean of differences in [-1, 1], one an example, examples of one cluster being alike.

    Student's t with the variance and the degrees of freedom of `_between`. It is -1 to 1 for fewer than two clusters.
    """
    from scipy.stats import t

    d = np.asarray(differences, dtype=float)
    _, of = np.unique(np.asarray(clusters, dtype=int), return_inverse=True)
    if d.shape != of.shape or np.any(np.abs(d) > 1):
        raise InputError(f"{len(d)} differences in [-1, 1] need a cluster each, not {len(of)}")
    n = int(of.max()) + 1 if len(of) else 0
    if n < 2:
        return Interval(-1.0, 1.0)
    mean = float(d.mean())
    sums = np.bincount(of, weights=d - mean)
    variance, freedom = _between(sums.astype(float), np.bincount(of).astype(float))
    half = float(t.ppf(0.975, freedom)) * float(np.sqrt(variance))
    return Interval(max(-1.0, mean - half), min(1.0, mean + half))


def paired_difference(
    first: NDArray[np.bool_], second: NDArray[np.bool_], clusters: Sequence[int]
) -> Interval:
    """95% interval of the first's share of True (n,) minus the second's, examples of one cluster being alike.

    From the lower to the upper end of two intervals: Bonett and Price's (`paired`), which takes all examples as
    independent, and `clustered_difference`, which is too short if nothing or everything differs.
    """
    plain = paired(first.tolist(), second.tolist()).interval
    robust = clustered_difference(first.astype(float) - second.astype(float), clusters)
    return Interval(min(plain.low, robust.low), max(plain.high, robust.high))


def _effective(x: Floats, n: Floats, share: float, tail: float) -> float:
    """How many independent examples the clusters are worth, the degrees of freedom of the variance included."""
    from scipy.stats import t

    total = float(n.sum())
    if n.size == 1:
        return 1.0
    variance, freedom = _between(x - share * n, n)
    if share in (0.0, 1.0) or variance == 0.0:
        return float(total**2 / np.sum(n**2))
    narrowed = float(t.ppf(1 - tail, total - 1) / t.ppf(1 - tail, freedom)) ** 2
    return min(total, share * (1 - share) / variance * narrowed)


def _between(residuals: Floats, n: Floats) -> tuple[float, float]:
    """The variance of a mean of examples from the sums of their residuals (C,) in two or more clusters of sizes n (C,),
    and its degrees of freedom.

    CR2 with Satterthwaite's degrees of freedom (Bell and McCaffrey 2002, Survey Methodology 28, 169-181), taking the
    examples of a cluster as all alike: C - 1 if clusters are of one size, near 1 if one of them has most examples.
    """
    share = n / n.sum()
    weights = 1.0 / (1.0 - share)
    own = n**2  # the variance of a cluster's sum, in units of an example's
    # the covariance of the residuals is diag(own) + sides @ middle @ sides.T, and its trace times weights is wanted,
    # and that of its square, without a matrix of C times C
    sides, middle = np.stack([share, own], axis=1), np.array([[own.sum(), -1.0], [-1.0, 0.0]])
    beside = middle @ (sides.T @ (weights[:, None] * sides))
    low_rank = share * (own.sum() * share - 2.0 * own)
    trace = np.sum(weights * (own + low_rank))
    of_square = np.sum(weights**2 * own * (own + 2.0 * low_rank)) + np.trace(beside @ beside)
    freedom = trace**2 / of_square
    return float(np.sum(weights * residuals**2) / n.sum() ** 2), float(freedom)
