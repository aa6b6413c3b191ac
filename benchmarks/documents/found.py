"""Pictures of what searches found: scenes side by side, the misread object outlined; an export; a world of one's own.

Of a run the first scenes of its page are taken, at the largest size that the run has. Of a query, the scenes that
`reproduce/measured/found` keeps of its search with the model; they are rendered again at `reference` and traced.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy.ndimage import binary_dilation

from benchmarks.documents.pages import demo
from benchmarks.documents.tools import ROOT, run
from benchmarks.survival import read_kept
from tests.serving.document_blocks import blocks
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
from trex.worlds.own.values import Values, own_edits, specs_of, values_at
from trex.worlds.world import open_renderer

Bytes = NDArray[np.uint8]
KEPT = ROOT / "reproduce" / "measured" / "found"
RELATION_NETWORK = "relation-network:original"
SIZE = (480, 320)
GAP = 8
MOST = 3  # scenes
LEAST_COLORS = 1_000  # a palette would turn a small object black
BOXES = {"cube": "#ffb000", "sphere": "#00c2ff", "cylinder": "#ff4fa3"}
WRONG, RIGHT = "#b00020", "#1b5e20"


def of_run(run: Path) -> Iterator[Image.Image]:
    """The most confident scene of each start in a run's first family, then the others; all of them are traced."""
    with open_run(run, for_writing=False) as folder:
        context = ReportContext(folder, explained_results(folder, run_draws(folder)), {}, is_growing=False)
        print("\n".join(context.first.lines))
        (family, *_) = (each for each in context.results.families.known if each.is_traced)
        numbers = context.results.families.clusters
        first = {numbers[place]: place for place in reversed(family.members)}
        for place in sorted(family.members, key=lambda each: first[numbers[each]] != each):
            hit = context.results.found[place]
            traced = context.traces.hits.get(scene_id(hit.record.scene))
            if traced is None or not traced.failures:
                continue
            look = context.looks.get(hit.record.picture)
            pixels, mask = look.read(folder) if look else read_picture(folder, hit.record.picture)
            words = misread_words(traced.failures[0], hit.record.scene)
            print(
                f"  {place}: {words}; {hit.answer} ({hit.answers[0][1]:.3f}), {look.preset if look else 'as searched'}"
            )
            yield marked(pixels, mask, misread_parts(traced.failures))


def of_query(query: str, model: str) -> Iterator[Image.Image]:
    """The kept scenes of a search in which the model still gives a wrong answer that can be traced."""
    plan = query_file(ROOT / "queries" / f"{query}.toml", [f"model.name={model}"]).plan()
    assert plan.asks is not None, "a world of scenes has questions"
    renderer = open_renderer(plan.query.render, plan.vocabulary, plan.processes)
    try:
        for number, scene in enumerate(read_kept(KEPT, query, plan).found):
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


def side_by_side(scenes: Iterable[Image.Image]) -> Image.Image:
    """One picture of the first ones, with transparent gaps."""
    shown = list(islice(scenes, MOST))
    if not shown:
        raise SystemExit("of no scene is it known what the model misreads")
    strip = Image.new("RGBA", (len(shown) * (SIZE[0] + GAP) - GAP, SIZE[1]), (0, 0, 0, 0))
    for place, each in enumerate(shown):
        one = each if each.size == SIZE else each.resize(SIZE, Image.Resampling.LANCZOS)
        strip.paste(one, (place * (SIZE[0] + GAP), 0))
    colors = len(np.unique(np.asarray(strip).reshape(-1, 4), axis=0))
    if colors < LEAST_COLORS:
        raise SystemExit(f"{colors} colors; take other scenes")
    return strip


def found() -> Image.Image:
    """Of the demo."""
    return side_by_side(of_run(demo()))


def found_cylinder() -> Image.Image:
    """Of the Relation Network, which is sure of a cylinder where there is none."""
    return side_by_side(of_query("one_cylinder_without_cylinders", RELATION_NETWORK))


def found_cube() -> Image.Image:
    """The same with cubes."""
    return side_by_side(of_query("one_cube_without_cubes", RELATION_NETWORK))


def found_sphere() -> Image.Image:
    """The same with spheres."""
    return side_by_side(of_query("one_sphere_without_spheres", RELATION_NETWORK))


def found_cone() -> Image.Image:
    """Of the shipped model, which is sure of a sphere where cones take the place of spheres."""
    return side_by_side(of_query("one_sphere_with_cones", "shipped"))


def export() -> Image.Image:
    """A scene of the demo with the boxes of its COCO export."""
    out = demo() / "export-coco"
    if not out.exists():
        run("trex export runs/demo --format coco")
    coco = json.loads((out / "annotations.json").read_text(encoding="utf-8"))
    first = coco["images"][0]
    kinds = {kind["id"]: kind["name"] for kind in coco["categories"]}
    with Image.open(out / "images" / first["file_name"]) as opened:
        scale = 720 // opened.width
        picture = opened.convert("RGB").resize(
            (opened.width * scale, opened.height * scale), Image.Resampling.LANCZOS
        )
    pen = ImageDraw.Draw(picture)
    for item in (each for each in coco["annotations"] if each["image_id"] == first["id"]):
        left, top, width, height = (scale * value for value in item["bbox"])
        color = BOXES[kinds[item["category_id"]]]
        pen.rectangle((left, top, left + width, top + height), outline=color, width=2)
        words = f"{item['attributes']['color']} {kinds[item['category_id']]}"
        pen.rectangle((left, top - 16, left + 1 + pen.textlength(words, font_size=12) + 6, top), fill=color)
        pen.text((left + 4, top - 15), words, fill="black", font_size=12)
    return picture


def own_world() -> Image.Image:
    """The disk that the search of the how-to finds, beside the same disk at the middle of its range."""
    names: dict[str, Any] = {}
    for block in blocks("docs/how-to/own-world.md"):
        if block.language == "python" and "run" not in names:
            exec(block.body, names)
    specs = specs_of(names["world"].prior)
    values = values_at(specs, names["run"].hits[0].record.z)
    return disks(
        names,
        [values, next(each for name, each in own_edits(specs, values).items() if name.startswith("radius"))],
    )


def disks(names: dict[str, Any], shown: Sequence[Values]) -> Image.Image:
    """Pictures of the how-to's world, with what its model says of each."""
    world, side = names["world"], 192
    card = Image.new("RGB", (len(shown) * (side + 2 * 12), side + 44), "white")
    pen = ImageDraw.Draw(card)
    for place, values in enumerate(shown):
        left = 12 + place * (side + 24)
        picture = np.asarray(world.render(values))
        says = world.answers[int(np.argmax(names["classify"](picture[None], world.question)[0]))]
        image = Image.fromarray((picture * 255).round().astype(np.uint8))
        card.paste(image.resize((side, side), Image.Resampling.NEAREST), (left, 8))
        pen.rectangle((left, 8, left + side, 8 + side), outline="#999999")
        color = RIGHT if says == world.answer(values) else WRONG
        words = f"radius {values['radius']:.2f}: model says {says}"
        pen.text((left, 208), words, fill=color, font_size=15)
    return card
