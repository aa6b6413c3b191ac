"""Dose curves as notebooks show them."""

from __future__ import annotations

from dataclasses import dataclass

from trex.curves.curve import Curve
from trex.curves.figure import figure
from trex.curves.tables import dose_table
from trex.foundation.words import counted
from trex.pages.notebook_html import block_html

# The page's colors of lines, each of a brightness that shows on white and on black, as a notebook may be either.
FRAME = '<div style="max-width:460px;--line-0:#14958a;--line-1:#d9622b">{}</div>'


@dataclass(frozen=True, repr=False)
class ShownCurve(Curve):
    """A curve that draws itself."""

    def _repr_html_(self) -> str:
        """What it says, the figure and the doses, for notebooks."""
        drawn, table = FRAME.format(figure(self)), str(dose_table(self).html(f"Doses of {self.over}"))
        note = f"{counted(len(self.scenes), 'scene')}; shaded: the 95% band, which holds at all doses at once"
        return block_html(self.headline, self.details, [drawn, table], note)
