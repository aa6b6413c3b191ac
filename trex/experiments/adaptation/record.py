"""The comparison as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trex.experiments.adaptation.compare import Comparison
from trex.experiments.adaptation.measures import DIGITS, Answers, Contrast
from trex.experiments.adaptation.table import EACH, Change, changes, verdict


def comparison_json(found: Comparison) -> dict[str, object]:
    """Everything as JSON: for each set of pictures every run's figures, and the changes over the runs."""
    request = found.request
    return {
        "pairs": [list(pair) for pair in request.pairs],
        "committee": list(request.committee),
        "generator": request.generator,
        "draws": request.draws if found.drawn else 0,
        "seed": request.seed,
        "no_digit": found.no_digit,
        "test": _set_json(found.test),
        "drawn": _set_json(found.drawn),
    }


def _set_json(contrasts: Sequence[Contrast]) -> dict[str, object] | None:
    if not contrasts:
        return None
    measures: dict[str, Change] = {
        "sure_wrong": lambda one: one.sure_wrong_change,
        "sure_wrong_unswapped": lambda one: one.unswapped.sure_wrong_change,
        "calibration_error": lambda one: one.calibration_change,
        "accuracy": lambda one: one.adapted.accuracy.value - one.source.accuracy.value,
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
        "runs": [_run_json(one) for one in contrasts],
    }


def _run_json(one: Contrast) -> dict[str, object]:
    mistakes = one.mistakes
    return {
        "source": _answers_json(one.source),
        "adapted": _answers_json(one.adapted),
        "swapped": list(one.swapped),
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
