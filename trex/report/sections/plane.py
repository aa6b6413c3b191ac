"""Section of planes: where a family's misread objects lie among all that could be misread so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from trex.explain.run_families import Plane, read_planes
from trex.report.context import ReportContext
from trex.report.section import Section, template_file
from trex.scenes.scene import scene_id

WIDTH, HEIGHT, LEFT, BOTTOM = 520, 260, 44, 34  # of the drawing, and of its margins
REACH = 3.0  # largest gap that is drawn, Blender units; what is farther lies at the edge


class Dot(NamedTuple):
    """A place in the drawing; of a found scene its number on the page, 0 of any other."""

    x: float
    y: float
    scene: int = 0


class Drawing(NamedTuple):
    """The dots of one family."""

    words: str
    prior: tuple[Dot, ...]
    failed: tuple[Dot, ...]
    members: tuple[Dot, ...]


def planes(context: ReportContext) -> Mapping[str, object] | None:
    """A drawing for each family of misread objects; None without one."""
    place = {
        scene_id(hit.record.scene): k for k, hit in enumerate(context.results.found) if hit.scene is not None
    }
    found = []
    for stored, plane in read_planes(context.folder):
        numbers = [place.get(scene, -1) + 1 for scene in stored.scenes]
        family = next((f for f in context.results.families.known if numbers[0] - 1 in f.members), None)
        if family is not None:
            found.append(drawing(family.words, plane, numbers))
    size = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "bottom": BOTTOM}
    return {"drawings": found, **size} if found else None


def drawing(words: str, plane: Plane, numbers: list[int]) -> Drawing:
    """The dots of a plane: gap to the right, visible share upward."""

    def dot(share: float, gap: float, scene: int = 0) -> Dot:
        x = LEFT + (WIDTH - LEFT - 8) * min(max(gap, 0.0), REACH) / REACH
        return Dot(round(x, 1), round((HEIGHT - BOTTOM) * (1.0 - share) + 6.0 * share, 1), scene)

    return Drawing(
        words,
        tuple(dot(*point) for point in plane.prior),
        tuple(dot(*point) for point in plane.failed),
        tuple(dot(*point, number) for point, number in zip(plane.members, numbers, strict=True) if number),
    )


SECTION = Section("plane", template_file("trex.pages", "templates/plane.html"), planes, 5)
