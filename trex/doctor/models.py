"""Examines the models: the shipped one, and those that can be fetched."""

from __future__ import annotations

from trex.clevr_models.catalog import load_model
from trex.clevr_models.fetch import list_models
from trex.clevr_models.iep.fetch import list_iep
from trex.doctor.finding import Finding, State
from trex.foundation.errors import TrexError


def model_findings() -> list[Finding]:
    """Whether the shipped model's weights are whole, and which released models have been fetched."""
    return [_shipped(), _fetched()]


def _shipped() -> Finding:
    try:
        load_model("shipped")
    except TrexError as error:
        return Finding("shipped model", State.FAULT, f"{error}", "install trex again (docs/INSTALL.md)")
    return Finding("shipped model", State.OK, "its weights have the sha256 of their card")


def _fetched() -> Finding:
    names = [name for name, _, is_there in [*list_models(), *list_iep()] if is_there]
    if names:
        return Finding("released models", State.OK, ", ".join(names))
    return Finding("released models", State.ABSENT, "none fetched", "trex models fetch relation-network")
