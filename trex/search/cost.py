"""What the pictures of a search cost, by the documented CPU seconds of one core: the same whatever else runs."""

from __future__ import annotations

from collections.abc import Sequence

from trex.query.schema import Query, RenderSection
from trex.runs.record import BANK, CALIBRATION, Record
from trex.worlds.costs import CPU_S
from trex.worlds.looks import ladder


def cpu_s_of(records: Sequence[Record], query: Query) -> float:
    """CPU seconds that the pictures of these records cost.

    Only for queries whose cost is documented (`render_speed.has_known_cost`).
    The look that leads the chains is the last one that the calibration tried. A picture that came from a bank or a
    cache counts as if it had been rendered.
    """
    looks, render = ladder(query.render), query.render
    rank = max((record.rank for record in records if record.phase == CALIBRATION), default=0)
    return sum(_cost(record, looks, rank, render) for record in records)


def _cost(record: Record, looks: Sequence[str], lead: int, render: RenderSection) -> float:
    if record.phase in (BANK, CALIBRATION):
        return CPU_S[looks[record.rank]]
    total = record.pictures(render) * CPU_S[render.preset]
    inner = record.inner_pictures
    return total + (inner * CPU_S[looks[lead]] if inner else 0.0)
