"""The top of a report: how many hits, how confident, how often, why, and whether they stay at another look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from trex.explain.explanation import Explanation
from trex.foundation.percent import percent
from trex.foundation.words import capitalized
from trex.inference.statistics.verdict import Ending
from trex.pages.wording import rate_words
from trex.runs.manifest import Manifest
from trex.scenes.describe import object_words
from trex.search.judging.headline import how_often_words
from trex.search.results import Results
from trex.trials.confirmation import Confirmation, stay

Tone = Literal["bad", "good", "open"]


def tone(results: Results) -> Tone:
    """The color of the outcome: "good" only if every hit's answer is known to be right, "bad" if one is wrong."""
    if results.conclusion.ending is Ending.NOT_FOUND or not results.found:
        return "open"
    judged = [found.is_wrong for found in results.found]
    return "bad" if True in judged else "good" if all(item is False for item in judged) else "open"


def summary(
    manifest: Manifest,
    results: Results,
    explanations: Mapping[str, Explanation],
    looks: Sequence[Confirmation],
) -> str:
    """Two sentences below the headline: how often and how fragile, then why; leaves out what was not examined."""
    outcome = how_often_words(manifest, results)
    detail = "; ".join(
        part for part in (_how_sure(manifest, results), _why(explanations), stays(looks)) if part
    )
    return f"{capitalized(outcome)}. {capitalized(detail)}."


def _how_sure(manifest: Manifest, results: Results) -> str:
    if not results.found:
        return f"the best confidence was {percent(results.conclusion.best)}"
    is_sure = manifest.query.target.declared.is_sure
    values = [
        found.mean_confidence
        or (found.answers[0][1] if is_sure else found.confidence)  # not the chosen draw's
        for found in results.found
    ]
    low, high = percent(min(values)), percent(max(values))
    share = low if low == high else f"{low} to {high}"
    return f"the model is {share} sure of its answer" if is_sure else f"confidence in the target {share}"


def _why(explanations: Mapping[str, Explanation]) -> str:
    """The number of explained scenes with objects responsible, and the most frequent one."""
    exact = [explanation for explanation in explanations.values() if explanation.control.is_exact]
    blamed = [explanation for explanation in exact if explanation.blame.parts]
    if not exact:
        return ""
    if not blamed:
        return f"no object is responsible in any of the {len(exact)} explained scenes"
    names = Counter(name for explanation in blamed for name in _blamed_names(explanation))
    name, times = names.most_common(1)[0]
    return (
        f"objects responsible were identified in {len(blamed)} of {len(exact)} explained scenes, most often a "
        f"{name} ({times})"
    )


def _blamed_names(explanation: Explanation) -> set[str]:
    return {object_words(explanation.scene, index) for index in explanation.blame.parts}


def stays(looks: Sequence[Confirmation]) -> str:
    """How many hits stay at the look that is closest to CLEVR's own; "" if none was rendered again."""
    done = [look for look in sorted(looks, key=lambda look: look.preset != "clevr") if look.scenes]
    if not done:
        return ""
    return (
        f"rendered again at preset {done[0].preset}, {rate_words(stay(done[0].scenes))} stay in the level set"
    )
