"""Agreement between saliency and leave-one-out: per scene, and over all explained scenes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trex.explain.explanation import Explanation, Method, SaliencyMap
from trex.foundation.words import counted, whole_percent
from trex.inference.statistics.clustered import share_of_alike
from trex.inference.statistics.proportion import Proportion

FEWEST = 3  # objects, at least, for a rank correlation


@dataclass(frozen=True)
class SceneAgreement:
    """One map compared with its scene's ablation; None if no object has the largest effect alone, or nothing to rank.

    That object counts whether its removal makes the model right or not: a map is of one answer's
    probability, and so is the effect.
    """

    method: Method
    peak_is_strongest: bool | None  # the largest pixel lies on it
    top_is_strongest: bool | None  # it has the largest sum
    rank_correlation: float | None  # Spearman's, between sums and sizes of the effects


@dataclass(frozen=True)
class MethodAgreement:
    """One method over all explained scenes in which one object has the largest effect.

    `chance_peak` and `chance_top` are the rates of an uninformative map: its share of the pixels, and one
    object in n.
    """

    method: Method
    scenes: int
    peak: Proportion  # the largest pixel lies on that object
    chance_peak: float
    top: Proportion  # that object has the largest sum
    chance_top: float
    rank_correlation: float | None  # mean
    ranked: int  # scenes with a rank correlation

    def sentence(self) -> str:
        """The agreement in a sentence, for the report."""
        if not self.scenes:
            return f"{self.method}: no scene has one object of the largest effect, so there is nothing to compare."
        words = "" if self.rank_correlation is None else (
            f"; mean rank correlation {self.rank_correlation:+.2f} over {counted(self.ranked, 'scene')}"
        )  # fmt: skip
        scenes = counted(self.scenes, "scene")
        peak, top = self._share(self.peak, self.chance_peak), self._share(self.top, self.chance_top)
        return (
            f"{self.method}: the brightest pixel lies on the object of the largest effect in {self.peak.count} of "
            f"{scenes} {peak}, and that object is the most salient in {self.top.count} {top}{words}."
        )

    def _share(self, found: Proportion, chance: float) -> str:
        return f"(95% CI {found.range}; by chance {whole_percent(chance)})"


def scene_agreement(explanation: Explanation, found: SaliencyMap) -> SceneAgreement:
    """Compare one map of an explanation with its ablation."""
    strongest = explanation.strongest
    sizes = [abs(effect.change) for effect in explanation.removals]
    return SceneAgreement(
        method=found.method,
        peak_is_strongest=None if strongest is None else found.peak_object == strongest,
        top_is_strongest=None if strongest is None else found.ranking[0] == strongest,
        rank_correlation=rank_correlation(found.sums, sizes),
    )


def rank_correlation(values: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's, ties sharing their mean rank; None for fewer than three values or constant ones."""
    from scipy.stats import spearmanr

    if len(values) < FEWEST or len(set(values)) == 1 or len(set(other)) == 1:
        return None
    return float(spearmanr(values, other).statistic)


def agreements(explanations: Sequence[Explanation], starts: Mapping[str, Hashable]) -> list[MethodAgreement]:
    """The agreement of each method over all these scenes; `starts` has the start of each picture, whose scenes are
    alike (`Results.starts`).
    """
    pairs = [(e, found) for e in explanations if e.saliency for found in e.saliency.maps]
    methods = list(dict.fromkeys(found.method for _, found in pairs))
    return [
        _agreement(method, [(e, found) for e, found in pairs if found.method == method], starts)
        for method in methods
    ]


def _agreement(
    method: Method, pairs: Sequence[tuple[Explanation, SaliencyMap]], starts: Mapping[str, Hashable]
) -> MethodAgreement:
    rows = [scene_agreement(e, found) for e, found in pairs]
    blamed = [(e.strongest, found) for e, found in pairs if e.strongest is not None]
    n = len(blamed)
    clusters = [starts.get(e.picture, e.picture) for e, _ in pairs]

    def share(hits: Sequence[bool | None]) -> Proportion:
        return share_of_alike(
            (start, hit) for start, hit in zip(clusters, hits, strict=True) if hit is not None
        )

    ranked = [row.rank_correlation for row in rows if row.rank_correlation is not None]
    shares = [found.pixels[index] / (sum(found.pixels) + found.background_pixels) for index, found in blamed]
    return MethodAgreement(
        method=method,
        scenes=n,
        peak=share([row.peak_is_strongest for row in rows]),
        chance_peak=float(np.mean(shares)) if n else 0.0,
        top=share([row.top_is_strongest for row in rows]),
        chance_top=float(np.mean([1 / len(found.sums) for _, found in blamed])) if n else 0.0,
        rank_correlation=float(np.mean(ranked)) if ranked else None,
        ranked=len(ranked),
    )
