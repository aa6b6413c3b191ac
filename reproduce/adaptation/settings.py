"""What decides the weights of an adaptation, and what a user may choose of it."""

from __future__ import annotations

from dataclasses import dataclass

from reproduce.adaptation.options import AdaptationPlan
from reproduce.datasets.domains import DOMAINS
from trex.foundation.errors import unknown
from trex.mnist_models.networks.classifiers import FEATURES
from trex.mnist_models.training.loop import Settings

VIEWS = {"logits": 10, "features": FEATURES["lenet"]}  # what it may see, and how wide that is
DOMAIN_LABELS = ("true", "shuffled")  # shuffled: a control, from which nothing can be learned


@dataclass(frozen=True)
class SourceSettings(Settings):
    """Of the source network; `epochs` is what the steps come to, begun ones included."""

    steps: int

    def n_steps(self, n_images: int) -> int:
        """The number of steps, whatever the number of pictures."""
        return self.steps


@dataclass(frozen=True)
class AdaptationSettings(SourceSettings):
    """Of the adaptation, which goes through the source's pictures; `start` is the sha256 of the source weights."""

    target: str
    target_data: str
    start: str
    adversary_at: str
    domain_labels: str


def check_plan(plan: AdaptationPlan) -> None:
    """Raise InputError for names that are not known."""
    for what, name, known in (
        ("source domain", plan.source, DOMAINS),
        ("target domain", plan.target, DOMAINS),
        ("view of the adversary", plan.adversary_at, tuple(VIEWS)),
        ("kind of domain labels", plan.domain_labels, DOMAIN_LABELS),
    ):
        if name not in known:
            raise unknown(what, name, known)
