"""The pictures of the documents, docs/images, made again from real runs.

python -m benchmarks.documents.pictures               # all
python -m benchmarks.documents.pictures audit explain # these

Needs Chromium and its driver, the extras dev and farm, and for `repair` the files of Fashion-MNIST in TREX_DIGITS. Runs
are kept in --work: a second call reads or resumes them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from benchmarks.documents import figures, found, pages, terminals
from benchmarks.documents.tools import ROOT, Made, save
from benchmarks.planted.page import planted

PICTURES: dict[str, Callable[[], Made]] = {
    make.__name__.replace("_", "-"): make
    for make in (
        *(figures.loop, figures.level_set, figures.finding, figures.intervals, figures.gpu, planted),
        *(found.found, found.found_cylinder, found.found_cube, found.found_sphere, found.found_cone),
        *(found.export, found.own_world),
        *(pages.report, pages.explain, pages.baseline, pages.audit, pages.own_model, pages.own_shape),
        *(pages.digits, pages.repair, pages.farm),
        *(terminals.ci, terminals.bank, terminals.chat_models),
    )
}


def main() -> None:
    """Make the named pictures, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}")
    parser.add_argument("--work", type=Path, default=Path("runs/pictures"), help="the folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    given = parser.parse_args()
    if strange := sorted(set(given.names) - PICTURES.keys()):
        parser.error(f"no picture is called {strange[0]}; there are {', '.join(PICTURES)}")
    out = given.out.resolve()
    for folder in (given.work, out):
        folder.mkdir(parents=True, exist_ok=True)
    with chdir(given.work):
        for name in given.names or PICTURES:
            save(PICTURES[name](), name, out)


if __name__ == "__main__":
    main()
