"""Trainings that are finished: found by their weights and card, and never overwritten by another."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from trex.artifacts.card import card_path, read_card
from trex.foundation.errors import InputError, RunError
from trex.mnist_models.training.loop import Settings


def check_out(out: Path) -> None:
    """Create the folder; InputError if it cannot be made or written to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create {out}: {error.strerror}; give another folder with --out") from error
    if not os.access(out, os.W_OK):
        raise InputError(f"cannot write to {out}; give another folder with --out")


def is_done(weights: Path, settings: Settings) -> bool:
    """Whether these weights are there, trained with these settings; RunError if with others."""
    if not (weights.exists() and card_path(weights).exists()):  # killed between the two: write both again
        return False
    found = read_card(weights).get("settings")
    if found != plain(settings):
        raise RunError(f"{weights} was trained with other settings ({found}); give another folder with --out")
    return True


def plain(settings: Settings) -> dict[str, object]:
    """The settings as the card has them."""
    return asdict(settings) | {"classes": list(settings.classes)}
