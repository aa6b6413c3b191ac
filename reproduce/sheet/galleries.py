"""Panels of generated pictures: a matrix of pairs, a graded strip, and a gallery for each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from reproduce.experiments.experiment import CellResult, Outcome
from reproduce.sheet.canvas import EMPTY, GAP_PX, WIDTH_PX, Tile, grid
from trex.pages.thumbnails import SMALL_PX, picture_of

if TYPE_CHECKING:
    from PIL.Image import Image

STRIP_ROWS = 3  # pictures of each step
SMALL_TILE_PX, LARGE_TILE_PX = 42, 150  # widths in a gallery, of digits and of scenes
NAME_PX = 120  # for a cell's name beside its pictures
NAME_LETTERS = 18  # that fit into it
NOT_FOUND = Tile(words="not\nfound", background=EMPTY)


def matrix(outcome: Outcome) -> Image:
    """Every two answers: the best picture below the diagonal, the mean probabilities above it, gray if not found."""

    def tile(result: CellResult, is_below: bool) -> Tile:
        if not result.is_found:
            return Tile(background=EMPTY)
        if is_below:
            return _at(_pictures(result, 1), 0)
        return Tile(words="\n".join(f"{mean:.2f}" for mean in result.means))

    return _pairs(outcome, tile, "Every pair, and above the diagonal the mean probabilities; gray: not found")


def test_matrix(outcome: Outcome) -> Image:
    """Every two answers: below the diagonal the surest picture of the test set, above it how many it has."""

    def tile(result: CellResult, is_below: bool) -> Tile:
        hits = 0 if result.test_set is None else result.test_set.hits.count
        if not hits:
            return Tile(background=EMPTY)
        return Tile(picture_of(result.test_picture)) if is_below else Tile(words=str(hits))

    return _pairs(outcome, tile, "The same in the test set, and above the diagonal how many; gray: none")


def strip(outcome: Outcome) -> Image:
    """The most confident pictures of each step, the steps in columns."""
    columns = [_pictures(result, STRIP_ROWS) or [NOT_FOUND] for result in outcome.results]
    side = min(120, WIDTH_PX // len(columns) - GAP_PX)
    rows = [[_at(column, k) for column in columns] for k in range(max(map(len, columns)))]
    names = [Tile(words=_broken(result.cell.name, 0)) for result in outcome.results]
    return grid([names, *rows], [side] * len(columns), side, "The most confident pictures of each step")


def galleries(outcome: Outcome) -> Image:
    """A row for each cell: its name and its most confident pictures."""
    every = [_pictures(result, len(result.pictures)) for result in outcome.results]
    first = next((tile.picture for row in every for tile in row if tile.picture), None)
    width = SMALL_TILE_PX if first is None or first.width < SMALL_PX else LARGE_TILE_PX
    height = width if first is None else round(width * first.height / first.width)
    fitting = min((WIDTH_PX - NAME_PX) // (width + GAP_PX), max(1, *map(len, every)))
    rows = [
        [
            Tile(words=_broken(result.cell.name, NAME_LETTERS)),
            *(_at(row or [NOT_FOUND], k) for k in range(fitting)),
        ]
        for result, row in zip(outcome.results, every, strict=True)
    ]
    return grid(rows, [NAME_PX, *[width] * fitting], height, "The most confident pictures of each level set")


def _pairs(outcome: Outcome, tile: Callable[[CellResult, bool], Tile], title: str) -> Image:
    """A matrix of every two answers; `tile` takes a pair's result, and whether it is below the diagonal."""
    names = outcome.experiment.pairs
    known = {frozenset(result.answers): result for result in outcome.results}
    side = WIDTH_PX // (len(names) + 1) - GAP_PX
    rows = [[Tile(), *(Tile(words=name) for name in names)]]
    for y, row in enumerate(names):
        found = [known.get(frozenset((row, column))) for column in names]
        rows.append(
            [Tile(words=row), *(tile(result, x < y) if result else Tile() for x, result in enumerate(found))]
        )
    return grid(rows, [side] * len(rows), side, title)


def _pictures(result: CellResult, most: int) -> Sequence[Tile]:
    return [Tile(picture_of(url)) for url in result.pictures[:most]]


def _at(tiles: Sequence[Tile], place: int) -> Tile:
    return tiles[place] if place < len(tiles) else Tile()


def _broken(name: str, letters: int) -> str:
    """A name of more letters on two lines, broken at the space nearest to its middle."""
    spaces = [place for place, letter in enumerate(name) if letter == " "]
    if len(name) <= letters or not spaces:
        return name
    middle = min(spaces, key=lambda place: abs(place - len(name) / 2))
    return f"{name[:middle]}\n{name[middle + 1 :]}"
