"""Pictures of found scenes, side by side, the misread object outlined.

python -m benchmarks.documents.found docs/images/found.webp runs/demo
python -m benchmarks.documents.found docs/images/found-cylinder.webp \
    queries/one_cylinder_without_cylinders.toml --model relation-network:original

Of a run the first scenes of its page are taken, at the largest size that the run has. Of a query, the scenes that
`reproduce/measured/found` keeps of its search with the model; they are rendered again at `reference` and traced.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import binary_dilation

from benchmarks.survival import read_kept
from trex.explain.run_families import explained_results
from trex.explain.view import outlined
from trex.families.symptom import misread, misread_words
from trex.families.trace import trace
from trex.finding.source import query_file
from trex.inference.scoring import images
from trex.report.context import ReportContext
from trex.report.proof import misread_parts
from trex.runs.draw_log import run_draws
from trex.runs.folder import open_run
from trex.runs.pictures import read_picture
from trex.scenes.graph import facts_of
from trex.scenes.misreading import Answered
from trex.scenes.scene import scene_id
from trex.worlds.world import open_renderer

Bytes = NDArray[np.uint8]
KEPT = Path(__file__).resolve().parents[2] / "reproduce" / "measured" / "found"
SIZE = (480, 320)
GAP = 8
QUALITY = 90
MAX_BYTES = 200_000
LEAST_COLORS = 1_000  # a palette would turn a small object black


def of_run(run: Path) -> Iterator[Image.Image]:
    """The first scenes of a run's page of which it is known what the model misreads."""
    with open_run(run, for_writing=False) as folder:
        context = ReportContext(folder, explained_results(folder, run_draws(folder)), {}, is_growing=False)
        print("\n".join(context.first.lines))
        for place, hit in context.shown:
            traced = context.traces.hits.get(scene_id(hit.record.scene))
            if traced is None or not traced.failures:
                continue
            look = context.looks.get(hit.record.picture)
            pixels, mask = look.read(folder) if look else read_picture(folder, hit.record.picture)
            words = misread_words(traced.failures[0], hit.record.scene)
            print(
                f"  {place}: {words}; {hit.answer} ({hit.averaged:.3f}), {look.preset if look else 'as searched'}"
            )
            yield marked(pixels, mask, misread_parts(traced.failures))


def of_query(query: Path, model: str) -> Iterator[Image.Image]:
    """The kept scenes of a search in which the model still gives a wrong answer that can be traced."""
    plan = query_file(query, [f"model.name={model}"]).plan()
    assert plan.asks is not None, "a world of scenes has questions"
    renderer = open_renderer(plan.query.render, plan.vocabulary, plan.processes)
    try:
        for number, scene in enumerate(read_kept(KEPT, query.stem, plan).found):
            (picture,) = renderer.render([scene])
            (image,) = images([picture])
            log_probs = plan.bound.log_probs(image[None])[0]
            best = int(np.argmax(log_probs))
            answer, sure = plan.bound.labels[best], float(np.exp(log_probs[best]))
            if not plan.target.is_hit(log_probs):
                continue
            asked = [Answered(plan.question.program, answer, sure)]
            facts = facts_of(scene, plan.vocabulary)
            found = trace(np.random.default_rng(number), plan.asks, facts, image, plan.vocabulary, asked)
            if found.by[0] is None:
                continue
            failure = misread(found.misreadings[found.by[0]])
            print(f"  {number}: {misread_words(failure, scene)}; {answer} ({sure:.3f})", flush=True)
            yield marked(picture.pixels, picture.mask, misread_parts([failure]))
    finally:
        renderer.close()


def marked(pixels: Bytes, mask: Bytes, parts: Sequence[int]) -> Image.Image:
    """The picture with an outline that is seen at a third of the size; `mask` as in `outlined`."""
    inside = np.isin(mask, [part + 1 for part in parts])
    for _ in range(2):
        pixels = outlined(pixels, inside.astype(np.uint8), (0,))
        inside = binary_dilation(inside, iterations=2)
    return Image.fromarray(pixels)


def side_by_side(shown: list[Image.Image]) -> Image.Image:
    """One picture of all, with transparent gaps."""
    strip = Image.new("RGBA", (len(shown) * (SIZE[0] + GAP) - GAP, SIZE[1]), (0, 0, 0, 0))
    for place, each in enumerate(shown):
        one = each if each.size == SIZE else each.resize(SIZE, Image.Resampling.LANCZOS)
        strip.paste(one, (place * (SIZE[0] + GAP), 0))
    return strip


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("source", type=Path, help="a run folder, or a query")
    parser.add_argument("--model", default="shipped")
    parser.add_argument("--most", type=int, default=3, help="scenes")
    given = parser.parse_args()
    scenes = of_run(given.source) if given.source.is_dir() else of_query(given.source, given.model)
    shown = [each for _, each in zip(range(given.most), scenes, strict=False)]
    if not shown:
        raise SystemExit("of no scene is it known what the model misreads")
    strip = side_by_side(shown)
    strip.save(given.out, quality=QUALITY, method=6)
    colors = len(np.unique(np.asarray(strip).reshape(-1, 4), axis=0))
    if colors < LEAST_COLORS or given.out.stat().st_size > MAX_BYTES:
        raise SystemExit(f"{given.out}: {colors} colors, {given.out.stat().st_size:,} bytes; take others")


if __name__ == "__main__":
    main()
