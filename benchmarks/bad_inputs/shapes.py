"""Bad shape cards and meshes, met by `trex check`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.bad_inputs.cases import Case, not_files, writing
from benchmarks.bad_inputs.queries import QUERY

MESH = "v -1 -1 -1\nv 1 -1 -1\nv 0 1 -1\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 1 3 4\n"
CARD = 'name = "pyramid"\nmesh = "pyramid.obj"\n'
CARDS: dict[str, str | bytes] = {
    "no name": 'mesh = "pyramid.obj"\n',
    "no mesh": 'name = "pyramid"\n',
    "an unknown key": CARD + "size = 3\n",
    "a name with spaces": CARD.replace('"pyramid"', '"a pyramid"'),
    "a long name": CARD.replace('"pyramid"', '"' + "p" * 5000 + '"'),
    "a name with NUL": CARD.replace('"pyramid"', '"p\\u0000"'),
    "the name of a cube": CARD.replace('"pyramid"', '"cube"'),
    "an absolute mesh": CARD.replace("pyramid.obj", "/etc/passwd"),
    "a mesh above": CARD.replace("pyramid.obj", "../pyramid.obj"),
    "a mesh round about": CARD.replace("pyramid.obj", "x/../pyramid.obj"),
    "a mesh of NUL": CARD.replace("pyramid.obj", "\\u0000"),
    "a long mesh": CARD.replace("pyramid.obj", "m" * 5000),
    "the card as mesh": CARD.replace("pyramid.obj", "card.toml"),
    "an unknown outline": CARD + 'outline = "star"\n',
    "nouns of numbers": CARD + "nouns = [1]\n",
    "10,000 nouns": CARD + f"nouns = {['n'] * 10_000}\n",
    "nested": CARD + "nouns = " + "[" * 100_000,
    "no TOML": "name =",
    "Latin-1": CARD.encode() + b"\xe9",
}
MESHES: dict[str, str | bytes] = {
    "no face": "v 0 0 0\n",
    "one face": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "NaN": MESH.replace("v 0 0 1", "v nan 0 1"),
    "1e300": MESH.replace("v 0 0 1", "v 0 0 1e300"),
    "infinite": MESH.replace("v 0 0 1", "v inf 0 0"),
    "too large": MESH.replace("v 0 0 1", "v 0 0 5"),
    "an index of zero": MESH + "f 0 1 2\n",
    "an index beyond": MESH + "f 1 2 99\n",
    "an index of 5000 digits": MESH + "f 1 2 " + "9" * 5000 + "\n",
    "a long face": MESH + "f " + "1 " * 100_000 + "\n",
    "a word": MESH + "call other.obj\n",
    "NUL": MESH + "\0\n",
    "binary": b"\xff\xfe" * 100,
    "300,000 vertices": "v 0 0 0\n" * 300_000,
    "flat": "v -1 -1 -1\nv 1 -1 -1\nv 0 1 -1\nv 1 1 -1\nf 1 2 3\nf 1 2 4\n",
    "a degenerate face": MESH + "f 1 1 2\n",
    "a normal of zero": MESH.replace("f 1 2 3", "vn 0 0 0\nf 1//1 2//1 3//1"),
}
WORDS = ("check", "query.toml", "--set", 'scene.introduce=["card.toml"]')


def cases() -> Iterator[Case]:
    """Cards, meshes, and links that lead out of the card's folder."""
    good = {"query.toml": QUERY, "card.toml": CARD, "pyramid.obj": MESH}
    for name, card in CARDS.items():
        yield Case(f"card: {name}", WORDS, writing({**good, "card.toml": card}))
    for name, mesh in MESHES.items():
        yield Case(f"mesh: {name}", WORDS, writing({**good, "pyramid.obj": mesh}))
    yield Case("mesh: a link that leads out", WORDS, _linked)
    for place in ("card.toml", "pyramid.obj"):
        for name, make in not_files(place):
            yield Case(f"{place}: {name}", WORDS, _instead(place, make))


def _linked(folder: Path) -> None:
    outside = folder.parent / f"{folder.name}-outside.obj"
    outside.write_text(MESH, encoding="utf-8")
    writing({"query.toml": QUERY, "card.toml": CARD})(folder)
    (folder / "pyramid.obj").symlink_to(outside)


def _instead(place: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def both(folder: Path) -> None:
        writing({"query.toml": QUERY, "card.toml": CARD, "pyramid.obj": MESH})(folder)
        os.unlink(folder / place)
        make(folder)

    return both
