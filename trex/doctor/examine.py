"""Examines the whole installation, part by part."""

from __future__ import annotations

from collections.abc import Iterator

from trex.clevr_models.catalog import load_model
from trex.clevr_models.fetch import list_models
from trex.clevr_models.iep.fetch import list_iep
from trex.doctor.finding import Finding, State
from trex.doctor.machine import machine_findings, package_findings
from trex.doctor.rendering import rendering_findings, shading_findings
from trex.foundation.errors import TrexError
from trex.mnist_models.load import EXTRA, left_out


def model_findings() -> list[Finding]:
    """Whether the shipped model's weights are whole, and which others are there."""
    return [_shipped(), _worlds(), _fetched()]


def _shipped() -> Finding:
    try:
        load_model("shipped")
    except TrexError as error:
        return Finding("shipped model", State.FAULT, f"{error}", "install trex again (docs/start/install.md)")
    return Finding("shipped model", State.OK, "its weights have the sha256 of their card")


def _worlds() -> Finding:
    missing = left_out()
    if missing:
        remedy = f"pip install 'bayes-trex[{EXTRA}]'"
        return Finding(f"extra {EXTRA}", State.ABSENT, f"missing: {', '.join(missing)}", remedy)
    return Finding(f"extra {EXTRA}", State.OK, "weights of garments and of the digits' GAN")


def _fetched() -> Finding:
    names = [name for name, _, is_there in [*list_models(), *list_iep()] if is_there]
    if names:
        return Finding("released models", State.OK, ", ".join(names))
    return Finding("released models", State.ABSENT, "none fetched", "trex models fetch relation-network")


PARTS = (machine_findings, package_findings, shading_findings, rendering_findings, model_findings)


def findings() -> Iterator[Finding]:
    """What is there and what is not, each part as soon as it is examined; renders one small scene."""
    for examine in PARTS:
        yield from examine()
