"""The comparison in words and tables, in Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from reproduce.adaptation.calibration import mean_interval
from reproduce.adaptation.compare import Comparison
from reproduce.adaptation.measures import DIGITS, SURE, Answers, Contrast
from trex.foundation.words import counted
from trex.inference.statistics.clustered import clustered_interval
from trex.inference.statistics.proportion import Interval, Proportion
from trex.pages.wording import points

EACH = 100  # drawings for each digit and network
HEAD = (
    "| run | network | right | sure | of these wrong (95%) | calibration error | confidently wrong: adapted alone, "
    "source alone, p |"
)
Change = Callable[[Contrast], float]
Verdict = Literal["more", "less", "not measurably more", "unclear", "unmeasured"]
VERDICTS: dict[Verdict, str] = {
    "more": "It makes **more overconfident** here.",
    "less": "It makes **less overconfident** here.",
    "not measurably more": "It makes **not measurably more overconfident** here.",
    "unclear": "**The two measures disagree** about whether it makes more overconfident here.",
    "unmeasured": "Whether it makes more overconfident **cannot be said**: a network that is sure of nothing has no "
    "share of wrong answers.",
}


def markdown(found: Comparison) -> str:
    """Every table, and the sentence that they come to."""
    parts = [
        f"**MNIST's 10,000 test pictures.** {sentence(found.test)}",
        _runs(found.test),
        "Answers by digit shown (rows), all runs, source network and adapted network:",
        _confusion(found.test),
    ]
    if found.drawn:
        options = found.options
        parts += [
            f"**{options.draws:,} drawings of {options.generator}**, labelled by a committee of "
            f"{len(options.committee)} networks, which sees no digit in {found.no_digit:,}. {sentence(found.drawn)}",
            _runs(found.drawn),
            f"Right among the first {EACH} drawings of which a network is sure, for each digit and run:",
            _digits(found.drawn),
        ]
    return "\n\n".join(parts) + "\n"


def sentence(contrasts: Sequence[Contrast]) -> str:
    """Whether adaptation makes more overconfident, by the change of wrong ones among sure answers over the runs."""
    return (
        f"Over {len(contrasts)} runs, adaptation changes the share of wrong ones among the answers of which the "
        f"network is sure (≥ {SURE:g}) by {_change(contrasts, lambda contrast: contrast.sure_wrong_change)} "
        f"({_change(contrasts, lambda contrast: contrast.unswapped.sure_wrong_change)} without the answers that name a "
        "swapped digit), and the expected calibration error by "
        f"{_change(contrasts, lambda contrast: contrast.calibration_change)}. "
        f"{VERDICTS[verdict(contrasts)]}"
    )


def changes(contrasts: Sequence[Contrast], of: Change) -> tuple[float, Interval]:
    """The mean change over the runs, and its 95% interval with runs as clusters."""
    values = [of(contrast) for contrast in contrasts]
    return float(np.mean(values)), mean_interval(values)


def _change(contrasts: Sequence[Contrast], of: Change) -> str:
    mean, interval = changes(contrasts, of)
    if np.isnan(mean):
        n = sum(np.isnan(of(contrast)) for contrast in contrasts)
        return f"an amount that cannot be measured (in {counted(n, 'run')} a network is sure of nothing)"
    if not np.isfinite(interval.low):
        return f"{points(mean)}, one run, so no interval"
    return f"{points(mean)}, 95%: {points(interval.low)} to {points(interval.high)}"


def verdict(contrasts: Sequence[Contrast]) -> Verdict:
    """Whether adaptation makes more overconfident; measurable if the interval of the change leaves out 0.

    Unmeasured if a network is sure of nothing in some run; unclear if the calibration error clearly goes the other way.
    """
    sure, error = (
        changes(contrasts, of)
        for of in (lambda contrast: contrast.sure_wrong_change, lambda contrast: contrast.calibration_change)
    )
    if np.isnan(sure[0]):
        return "unmeasured"
    more, less = sure[1].low > 0, sure[1].high < 0
    if (more and error[1].high < 0) or (less and error[1].low > 0):
        return "unclear"
    return "more" if more else "less" if less else "not measurably more"


def _runs(contrasts: Sequence[Contrast]) -> str:
    lines = [HEAD, "|---" * 7 + "|"]
    for run, contrast in enumerate(contrasts, start=1):
        mistakes = contrast.mistakes
        test = f"{mistakes.only_first}, {mistakes.only_second}, {mistakes.p_value:.2g}"
        lines += [_line(run, "source", contrast.source, ""), _line(run, "adapted", contrast.adapted, test)]
    return "\n".join(lines)


def _line(run: int, network: str, answers: Answers, test: str) -> str:
    sure = answers.sure_wrong
    wrong = (
        f"{sure.count:,} of {sure.of:,}: {_percent(sure.value, sure.interval)}" if sure.of else "never sure"
    )
    right = f"{100 * answers.accuracy.value:.1f}%"
    return (
        f"| {run} | {network} | {right} | {sure.of:,} | {wrong} | {answers.calibration_error:.3f} | {test} |"
    )


def _digits(contrasts: Sequence[Contrast]) -> str:
    """Shares of right ones by digit, over all runs, which are the clusters of the intervals."""
    lines = ["| digit | source (95%) | adapted (95%) |", "|---|---|---|"]
    for digit in range(DIGITS):
        both = [_pooled([answers.sure_of(digit, EACH) for answers in each]) for each in _both(contrasts)]
        lines.append(f"| {digit} | {both[0]} | {both[1]} |")
    return "\n".join((*lines, "| mean of the digits | " + " | ".join(map(_mean, _both(contrasts))) + " |"))


def _mean(every: Sequence[Answers]) -> str:
    """The mean share over digits and runs; those of which a network is never sure have none and are left out."""
    rates = [answers.sure_of(digit, EACH) for answers in every for digit in range(DIGITS)]
    kept = [rate.value for rate in rates if rate.of]
    if not kept:
        return "never sure"
    missing = len(rates) - len(kept)
    return f"{np.mean(kept):.3f}" + (f" (without {missing} of {len(rates)}: never sure)" if missing else "")


def _both(contrasts: Sequence[Contrast]) -> tuple[list[Answers], list[Answers]]:
    """The source networks' answers, and the adapted networks'."""
    return [contrast.source for contrast in contrasts], [contrast.adapted for contrast in contrasts]


def _pooled(rates: Sequence[Proportion]) -> str:
    kept = [rate for rate in rates if rate.of]
    if not kept:
        return "never sure"
    counts, sizes = [rate.count for rate in kept], [rate.of for rate in kept]
    low, high = clustered_interval(counts, sizes)
    return f"{sum(counts):,} of {sum(sizes):,}: {sum(counts) / sum(sizes):.2f} ({low:.2f} to {high:.2f})"


def _confusion(contrasts: Sequence[Contrast]) -> str:
    source, adapted = (
        sum(getattr(contrast, name).confusion for contrast in contrasts) for name in ("source", "adapted")
    )
    head = "| | " + " | ".join(map(str, range(DIGITS))) + " |"
    rows = [
        f"| {k} | " + " | ".join(f"{source[k, j]} → {adapted[k, j]}" for j in range(DIGITS)) + " |"
        for k in range(DIGITS)
    ]
    return "\n".join((head, "|---" * (DIGITS + 1) + "|", *rows))


def _percent(value: float, interval: Interval) -> str:
    return f"{100 * value:.1f}% ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def comparison_json(found: Comparison) -> dict[str, object]:
    """Everything as JSON: for each set of pictures every run's figures, and the changes over the runs."""
    options = found.options
    return {
        "pairs": [list(pair) for pair in found.pairs],
        "committee": list(options.committee),
        "generator": options.generator,
        "draws": options.draws if found.drawn else 0,
        "seed": options.seed,
        "no_digit": found.no_digit,
        "test": _set_json(found.test),
        "drawn": _set_json(found.drawn),
    }


def _set_json(contrasts: Sequence[Contrast]) -> dict[str, object] | None:
    if not contrasts:
        return None
    measures: dict[str, Change] = {
        "sure_wrong": lambda contrast: contrast.sure_wrong_change,
        "sure_wrong_unswapped": lambda contrast: contrast.unswapped.sure_wrong_change,
        "calibration_error": lambda contrast: contrast.calibration_change,
        "accuracy": lambda contrast: contrast.adapted.accuracy.value - contrast.source.accuracy.value,
    }
    found = {name: changes(contrasts, of) for name, of in measures.items()}
    return {
        "verdict": verdict(contrasts),
        "changes": {
            name: {
                "mean": mean if np.isfinite(mean) else None,
                "interval": list(interval) if np.isfinite(interval.low) else None,
            }
            for name, (mean, interval) in found.items()
        },
        "runs": [_run_json(contrast) for contrast in contrasts],
    }


def _run_json(contrast: Contrast) -> dict[str, object]:
    mistakes = contrast.mistakes
    return {
        "source": _answers_json(contrast.source),
        "adapted": _answers_json(contrast.adapted),
        "swapped": list(contrast.swapped),
        "only_adapted_confidently_wrong": mistakes.only_first,
        "only_source_confidently_wrong": mistakes.only_second,
        "p_value": mistakes.p_value,
        "difference": mistakes.difference,
        "interval": list(mistakes.interval),
    }


def _answers_json(answers: Answers) -> dict[str, object]:
    sure = answers.sure_wrong
    return {
        "n": answers.accuracy.of,
        "right": answers.accuracy.count,
        "sure": sure.of,
        "sure_wrong": sure.count,
        "sure_wrong_interval": list(sure.interval),
        "calibration_error": answers.calibration_error,
        "swapped": list(answers.swapped),
        "first_sure": [[rate.count, rate.of] for rate in (answers.sure_of(k, EACH) for k in range(DIGITS))],
        "confusion": answers.confusion.tolist(),
    }
