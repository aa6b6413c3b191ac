"""Examines the whole installation, part by part."""

from __future__ import annotations

from collections.abc import Iterator

from trex.doctor.finding import Finding
from trex.doctor.machine import machine_findings
from trex.doctor.models import model_findings
from trex.doctor.packages import package_findings
from trex.doctor.rendering import rendering_findings

PARTS = (machine_findings, package_findings, rendering_findings, model_findings)


def findings() -> Iterator[Finding]:
    """What is there and what is not, each part as soon as it is examined; renders one small scene."""
    for examine in PARTS:
        yield from examine()
