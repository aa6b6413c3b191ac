"""The looks of a world's pictures: the deciding one, and cheaper ones that lead a search."""

from __future__ import annotations

from collections.abc import Callable

from trex.inference.scoring import Scorer
from trex.inference.types import Classifier
from trex.query.schema import RenderSection
from trex.render.presets import ANALYTIC
from trex.scenes.noise import noise_draws
from trex.scenes.scene import Scene
from trex.scenes.views import view_draws
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.latents import Latent, OpenRenderer

DECIDING = ""  # every other look is named by its preset
# Cheapest first. The first is the bank's; each costs a small part of the deciding look (docs/reference/presets.md).
LADDER = (ANALYTIC, "sketch", "fast", "coarse", "sharp")
LADDERS = {
    "reference": LADDER, "clevr": LADDER, "sharp": (ANALYTIC,), "coarse": (ANALYTIC,), "fast": (ANALYTIC,),
    "fake": ("fake-small",),
}  # fmt: skip
LADDER_BEFORE = LADDER[1:]  # of runs that do not say which they had
LADDERS_BEFORE = {"reference": LADDER_BEFORE, "clevr": LADDER_BEFORE, "fake": ("fake-small",)}
OpenLook = Callable[[str], OpenRenderer[Latent]]


def ladder(render: RenderSection) -> tuple[str, ...]:
    """The looks that may lead a search at this deciding look, cheapest first; the first is the bank's.

    Those that [render] names, or else the preset's. Empty for a look that costs little itself: surrogate transitions
    pay from ten cheap pictures for a dear one on (benchmarks/kernels/KERNELS.md). Its bank is at the deciding look, and
    there is no second phase.
    """
    return LADDERS.get(render.preset, ()) if render.looks is None else render.looks


def deciding_scorer(
    section: RenderSection, renderer: OpenRenderer[Latent], classifier: Classifier, vocabulary: Vocabulary
) -> Scorer[Latent]:
    """Scores scenes as [render] says: by the mean probability over `noise` draws of each of `views` viewpoints."""

    def draws(scene: Scene) -> list[Scene]:
        views = view_draws(scene, section.views, vocabulary)
        return [draw for view in views for draw in noise_draws(view, section.noise)]

    return Scorer(renderer, classifier, draws=draws if section.pictures > 1 else None)


class Looks:
    """Scorers by look; a cheap look's renderer starts with its first picture, and closes with the world.

    A cheap look has one noise draw, that of the scene's own seed.
    """

    def __init__(self, deciding: Scorer[Latent], open_look: OpenLook, classifier: Classifier) -> None:
        self._scorers = {DECIDING: deciding}
        self._open_look, self._classifier = open_look, classifier
        self._renderers: dict[str, OpenRenderer[Latent]] = {}

    def scorer(self, look: str) -> Scorer[Latent]:
        """The scorer of this look."""
        if look not in self._scorers:
            self._renderers[look] = self._open_look(look)
            self._scorers[look] = Scorer(self._renderers[look], self._classifier)
        return self._scorers[look]

    def renderer(self, look: str) -> OpenRenderer[Latent]:
        """The renderer of a cheap look."""
        self.scorer(look)
        return self._renderers[look]

    def close(self, kept: str = DECIDING) -> None:
        """End the renderers of all cheap looks but `kept`; a later render starts them again."""
        for look, renderer in self._renderers.items():
            if look != kept:
                renderer.close()
