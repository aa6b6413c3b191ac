"""Data sets that `trex` does not have: traffic signs, house numbers, and the domains of adaptations."""

from __future__ import annotations


def offer_datasets() -> None:
    """Let `trex` know the data sets in color; call it before `trex.worlds` is imported."""
    from reproduce.datasets.signs import SIGNS
    from reproduce.datasets.svhn import SVHN
    from trex.mnist_models.datasets import DATASETS

    DATASETS.update(signs=SIGNS, svhn=SVHN)
