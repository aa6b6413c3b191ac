"""JUnit files checked by a validator that is not ours: xmlschema, an implementation of W3C XML Schema."""

from __future__ import annotations

from pathlib import Path

import pytest

SCHEMA = Path(__file__).with_name("junit.xsd")


def check_valid(junit: Path | bytes) -> None:
    """AssertionError with the first fault unless the file is valid; skips the test if xmlschema is not installed."""
    xmlschema = pytest.importorskip("xmlschema", reason="xmlschema is not installed (extra `dev`)")
    data = junit if isinstance(junit, bytes) else junit.read_bytes()
    faults = [f"{fault.path}: {fault.reason}" for fault in xmlschema.XMLSchema(SCHEMA).iter_errors(data)]
    assert not faults, faults[0]
