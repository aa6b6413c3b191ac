"""The comparison in words and tables, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trex.experiments.adaptation.compare import Comparison
from trex.experiments.adaptation.measures import DIGITS, SURE, Answers, Contrast
from trex.inference.statistics.clustered import clustered_interval, mean_interval
from trex.inference.statistics.proportion import Interval, Proportion
from trex.pages.wording import points

EACH = 100  # drawings for each digit and network
HEAD = (
    "| run | network | right | sure | of these wrong (95 %) | calibration error | confidently wrong: adapted alone, "
    "source alone, p |"
)
Change = Callable[[Contrast], float]


def markdown(found: Comparison) -> str:
    """Every table, and the sentence that they come to."""
    parts = [
        f"**MNIST's 10,000 test pictures.** {sentence(found.test)}",
        _runs(found.test),
        "Answers by digit shown (rows), all runs, source network and adapted network:",
        _confusion(found.test),
    ]
    if found.drawn:
        request = found.request
        parts += [
            f"**{request.draws:,} drawings of {request.generator}**, labelled by a committee of "
            f"{len(request.committee)} networks, which sees no digit in {found.no_digit:,}. {sentence(found.drawn)}",
            _runs(found.drawn),
            f"Right among the first {EACH} drawings of which a network is sure, for each digit and run:",
            _digits(found.drawn),
        ]
    return "\n\n".join(parts) + "\n"


def sentence(contrasts: Sequence[Contrast]) -> str:
    """Whether adaptation makes more overconfident, by the change of wrong ones among sure answers over the runs."""
    return (
        f"Over {len(contrasts)} runs, adaptation changes the share of wrong ones among the answers of which the "
        f"network is sure (≥ {SURE:g}) by {_change(contrasts, lambda one: one.sure_wrong_change)} "
        f"({_change(contrasts, lambda one: one.unswapped.sure_wrong_change)} without the answers that name a swapped "
        "digit), and the expected calibration error by "
        f"{_change(contrasts, lambda one: one.calibration_change)}. "
        f"It makes **{verdict(contrasts)} overconfident** here."
    )


def changes(contrasts: Sequence[Contrast], of: Change) -> tuple[float, Interval]:
    """The mean change over the runs, and its 95 % interval with runs as clusters."""
    values = [of(one) for one in contrasts]
    return float(np.mean(values)), mean_interval(values)


def _change(contrasts: Sequence[Contrast], of: Change) -> str:
    mean, interval = changes(contrasts, of)
    if not np.isfinite(interval.low):
        return f"{points(mean)}, one run, so no interval"
    return f"{points(mean)}, 95 %: {points(interval.low)} to {points(interval.high)}"


def verdict(contrasts: Sequence[Contrast]) -> str:
    """How much more overconfident, in words; measurable if the interval of the change leaves out 0."""
    _, interval = changes(contrasts, lambda one: one.sure_wrong_change)
    if interval.low > 0:
        return "more"
    return "less" if interval.high < 0 else "not measurably more"


def _runs(contrasts: Sequence[Contrast]) -> str:
    lines = [HEAD, "|---" * 7 + "|"]
    for run, one in enumerate(contrasts, start=1):
        mistakes = one.mistakes
        test = f"{mistakes.only_first}, {mistakes.only_second}, {mistakes.p_value:.2g}"
        lines += [_line(run, "source", one.source, ""), _line(run, "adapted", one.adapted, test)]
    return "\n".join(lines)


def _line(run: int, network: str, answers: Answers, test: str) -> str:
    sure = answers.sure_wrong
    wrong = f"{sure.count:,} of {sure.of:,}: {_percent(sure.value, sure.interval)}"
    right = f"{100 * answers.accuracy.value:.1f} %"
    return (
        f"| {run} | {network} | {right} | {sure.of:,} | {wrong} | {answers.calibration_error:.3f} | {test} |"
    )


def _digits(contrasts: Sequence[Contrast]) -> str:
    """Shares of right ones by digit, over all runs, which are the clusters of the intervals."""
    lines = ["| digit | source (95 %) | adapted (95 %) |", "|---|---|---|"]
    for digit in range(DIGITS):
        both = [_pooled([answers.sure_of(digit, EACH) for answers in each]) for each in _both(contrasts)]
        lines.append(f"| {digit} | {both[0]} | {both[1]} |")
    means = [
        np.mean([[answers.sure_of(k, EACH).value for k in range(DIGITS)] for answers in each])
        for each in _both(contrasts)
    ]
    return "\n".join((*lines, f"| mean of the ten | {means[0]:.3f} | {means[1]:.3f} |"))


def _both(contrasts: Sequence[Contrast]) -> tuple[list[Answers], list[Answers]]:
    """The source networks' answers, and the adapted networks'."""
    return [one.source for one in contrasts], [one.adapted for one in contrasts]


def _pooled(rates: Sequence[Proportion]) -> str:
    kept = [rate for rate in rates if rate.of]
    if not kept:
        return "never sure"
    counts, sizes = [rate.count for rate in kept], [rate.of for rate in kept]
    low, high = clustered_interval(counts, sizes)
    return f"{sum(counts):,} of {sum(sizes):,}: {sum(counts) / sum(sizes):.2f} ({low:.2f} to {high:.2f})"


def _confusion(contrasts: Sequence[Contrast]) -> str:
    source, adapted = (
        sum(getattr(one, name).confusion for one in contrasts) for name in ("source", "adapted")
    )
    head = "| | " + " | ".join(map(str, range(DIGITS))) + " |"
    rows = [
        f"| {k} | " + " | ".join(f"{source[k, j]} → {adapted[k, j]}" for j in range(DIGITS)) + " |"
        for k in range(DIGITS)
    ]
    return "\n".join((head, "|---" * (DIGITS + 1) + "|", *rows))


def _percent(value: float, interval: Interval) -> str:
    return f"{100 * value:.1f} % ({100 * interval.low:.1f} to {100 * interval.high:.1f})"
