"""Exact bounds on a share, from the number of wrong ones among those that were looked at.

Clopper and Pearson's one-sided bounds (Biometrika 26, 1934), and their finite form for a sample
drawn without replacement from hits that can be counted. Both invert a distribution function, here
by bisection on sums of logarithms of binomial coefficients, so that nothing need be installed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import ceil, exp, floor, lgamma, log, log1p

ALPHA = 0.05
"""One-sided: a bound fails on one log in twenty."""
FINITE_SHARE = 0.05
"""From this share of the hits on, a sample says more than the binomial form gives it."""
_STEPS = 200


def log_binomial(n: int, k: int) -> float:
    """Return the logarithm of n over k."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def binomial_cdf(k: int, n: int, p: float) -> float:
    """Return P(X <= k) of n trials that succeed with probability p each."""
    if k >= n or p <= 0:
        return 1.0
    if p >= 1 or k < 0:
        return 0.0
    log_p, log_q = log(p), log1p(-p)
    if k > n * p:  # fewer terms, and no cancellation where the sum is near 1
        tail = sum(
            exp(log_binomial(n, i) + i * log_p + (n - i) * log_q) for i in range(k + 1, n + 1)
        )
        return max(0.0, 1 - tail)
    return sum(exp(log_binomial(n, i) + i * log_p + (n - i) * log_q) for i in range(k + 1))


def upper_bound(wrong: int, looked_at: int, alpha: float = ALPHA) -> float:
    """Return the Clopper-Pearson upper bound: the share at which so few wrong are alpha likely."""
    if wrong >= looked_at:
        return 1.0
    return _root(lambda p: binomial_cdf(wrong, looked_at, p) - alpha)


def lower_bound(wrong: int, looked_at: int, alpha: float = ALPHA) -> float:
    """Return the Clopper-Pearson lower bound: the share at which so many wrong are alpha likely."""
    if wrong <= 0:
        return 0.0
    return _root(lambda p: alpha - (1 - binomial_cdf(wrong - 1, looked_at, p)))


def _root(falling: Callable[[float], float]) -> float:
    """Return where a falling function of [0, 1] crosses zero."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def hypergeometric_cdf(k: int, population: int, wrong: int, looked_at: int) -> float:
    """Return P(X <= k) of the wrong ones among ``looked_at`` drawn without replacement."""
    total = log_binomial(population, looked_at)
    lowest = max(0, looked_at - (population - wrong))
    return sum(
        exp(log_binomial(wrong, i) + log_binomial(population - wrong, looked_at - i) - total)
        for i in range(lowest, min(k, wrong) + 1)
    )


def finite_upper_bound(wrong: int, looked_at: int, population: int, alpha: float = ALPHA) -> float:
    """Return max K / population of which so few wrong in a random sample are alpha likely."""
    low, high = wrong, population - (looked_at - wrong)
    while low < high:  # the distribution function falls as K grows
        middle = (low + high + 1) // 2
        if hypergeometric_cdf(wrong, population, middle, looked_at) >= alpha:
            low = middle
        else:
            high = middle - 1
    return low / population


def sample_upper_bound(wrong: int, looked_at: int, population: int, alpha: float = ALPHA) -> float:
    """Return the upper bound on the share of wrong ones among ``population`` hits."""
    if looked_at > FINITE_SHARE * population:
        return finite_upper_bound(wrong, looked_at, population, alpha)
    return upper_bound(wrong, looked_at, alpha)


def finite_lower_bound(wrong: int, looked_at: int, population: int, alpha: float = ALPHA) -> float:
    """Return min K / population of which so many wrong in a random sample are alpha likely."""
    low, high = wrong, population - (looked_at - wrong)
    while low < high:  # the chance of so many grows with K
        middle = (low + high) // 2
        below = hypergeometric_cdf(wrong - 1, population, middle, looked_at) if wrong else 0.0
        if 1 - below >= alpha:
            high = middle
        else:
            low = middle + 1
    return low / population


def sample_lower_bound(wrong: int, looked_at: int, population: int, alpha: float = ALPHA) -> float:
    """Return the lower bound on the share of wrong ones among ``population`` hits."""
    if looked_at > FINITE_SHARE * population:
        return finite_lower_bound(wrong, looked_at, population, alpha)
    return lower_bound(wrong, looked_at, alpha)


def clustered_upper(
    wrong: Sequence[bool], clusters: Sequence[Hashable], alpha: float = ALPHA
) -> float:
    """Return the upper bound if all hits of a cluster were right or wrong together.

    The sample then says as much as one of (sum of m)^2 / sum of m^2 independent hits, m hits a
    cluster (Kish, Survey Sampling, 1965); rounded so that the bound grows.
    """
    sizes = Counter(clusters).values()
    independent = sum(sizes) ** 2 / sum(size * size for size in sizes)
    looked_at = max(1, floor(independent))
    return upper_bound(min(looked_at, ceil(sum(wrong) * looked_at / len(wrong))), looked_at, alpha)


def labels_needed(wrong: int, limit: float, alpha: float = ALPHA) -> int:
    """Return the fewest labels that prove the limit if so many of them are wrong."""
    low, high = wrong + 1, wrong + 2
    while upper_bound(wrong, high, alpha) > limit:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if upper_bound(wrong, middle, alpha) <= limit else (middle + 1, high)
        )
    return low
