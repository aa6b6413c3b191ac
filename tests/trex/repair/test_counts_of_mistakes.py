"""Which mistakes are new."""

from __future__ import annotations

from pathlib import Path

from tests.trex.repair.test_label import begun
from tests.worlds.repair_toy import toy
from trex.repair.decoders.identify import GROWN, IdentifyResult, read_mistakes


def test_a_mistake_is_new_if_the_model_is_right_of_the_plain_reconstruction(tmp_path: Path) -> None:
    """Planted bug: those that need no noise were counted as new."""
    with begun(tmp_path / "r", toy(), identify={"scale": 40.0}) as folder:
        place = folder.require("identify")
        found, grown = (
            folder.found("identify", IdentifyResult),
            read_mistakes(place / GROWN),
        )
    new = int((~grown.plain_wrong).sum())
    assert 0 < new < len(grown.rows) and new != len(grown.rows) - new
    assert (found.grown.wrong, found.grown.wrong_new) == (len(grown.rows), new)
    assert (found.kept, found.kept_new) == (len(grown.rows), new)
