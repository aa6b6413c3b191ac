"""`sheet.webp` beside an experiment's record: what its page draws, in one small picture.

The matrix of pictures of the test set is beside it in a file of its own, `test-set/sheet.webp`: a data set's pictures
may not be passed on with the documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduce.experiments.experiment import Outcome
from reproduce.experiments.test_set import TEST_SET
from reproduce.sheet.canvas import packed, stacked
from reproduce.sheet.galleries import galleries, matrix, strip, test_matrix
from reproduce.sheet.plots import confusion_panel, plane_panel, violins_panel
from trex.foundation.files import make_folder, write_atomic

if TYPE_CHECKING:
    from PIL.Image import Image

SHEET = "sheet.webp"


def write_sheet(outcome: Outcome) -> None:
    """Write the sheet into the experiment's folder, and one with the test set's pictures into that of the test set."""
    write_atomic(outcome.folder / SHEET, packed(stacked(panels(outcome))))
    if outcome.dataset is not None and outcome.experiment.pairs:
        side_by_side = stacked([matrix(outcome), test_matrix(outcome)])
        make_folder(outcome.folder / TEST_SET)
        write_atomic(outcome.folder / TEST_SET / SHEET, packed(side_by_side))


def panels(outcome: Outcome) -> list[Image]:
    """The panels that the experiment has, in the order of its page."""
    found = [_pictures(outcome)]
    plots = (plane_panel(outcome), None if outcome.experiment.pairs else violins_panel(outcome.results))
    found += [panel for panel in plots if panel is not None]
    counted = [result.test_set for result in outcome.results if result.test_set is not None]
    by_model = {baseline.model_hash: baseline for baseline in counted}
    return [*found, *(confusion_panel(baseline) for baseline in by_model.values() if baseline.confusion)]


def _pictures(outcome: Outcome) -> Image:
    if outcome.experiment.pairs:
        return matrix(outcome)
    return strip(outcome) if outcome.experiment.form == "strip" else galleries(outcome)
