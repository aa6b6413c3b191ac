"""Step 5: `report.html` and `report.json` of the steps that are finished."""

from __future__ import annotations

from trex.foundation.files import read_bytes, write_atomic
from trex.pages.figures import COLORS, axes_of, styled, svg_of
from trex.pages.page import page
from trex.render.png_url import url_of_png
from trex.repair.correction.results import FRESH, GROWN, SWEEP, TEST, CorrectResult
from trex.repair.distill import RESULT as DISTILLED
from trex.repair.distill import DistillResult
from trex.repair.folder import COMMANDS, STEPS, RepairFolder
from trex.repair.novelty import PAIRS, read_pairs
from trex.repair.page.results import read_results
from trex.repair.page.sentences import difference_words
from trex.repair.pictures import ITEMS, NOT, png_of, read_items
from trex.repair.records import read_record, write_json
from trex.repair.words import COLUMNS, NAMES, NOVEL, accuracy_rows, agreement_words

PAGE, DOCUMENT = "report.html", "report.json"


def write_report(folder: RepairFolder) -> dict[str, object]:
    """Write the page and the JSON file; returns what the file holds."""
    results = read_results(folder)
    missing = [COMMANDS.get(step, step) for step in STEPS if not folder.is_done(step)]
    document: dict[str, object] = {
        "sentences": results.sentences,
        "is_mended": results.is_mended,
        "sources": folder.sources.model_dump(mode="json"),
        "query": folder.query.model_dump(mode="json"),
        **{
            step: None if one is None else one.model_dump(mode="json")
            for step, one in results._asdict().items()
        },
    }
    write_json(folder.path / DOCUMENT, document)
    values: dict[str, object] = {
        "sources": folder.sources,
        "results": results,
        "grids": _grids(folder) if results.label is not None else {},
        "rows": accuracy_rows(results.correct) if results.correct is not None else [],
        "columns": [NAMES[name] for name in COLUMNS],
        "claims": _claims(results.correct),
        "curve": _curve(results.correct),
        "novel": NOVEL,
        "pairs": _pairs(folder) if results.novelty is not None else [],
        "missing": list(dict.fromkeys(missing)),
        "agreement": agreement_words,
        "commands": [f"trex repair {one} {folder.path}" for one in ("distill", "label", "correct", "report")],
    }
    write_atomic(folder.path / PAGE, page("repair.html", values).encode())
    return document


def _grids(folder: RepairFolder) -> dict[int, list[tuple[str, str]]]:
    """For each component its pictures as data URLs, each with the model's answer."""
    place = folder.require("pictures")
    items = read_items(place / ITEMS)
    classes = read_record(DistillResult, folder.require("distill") / DISTILLED).classes
    grids: dict[int, list[tuple[str, str]]] = {}
    for name, component, first, answer in zip(
        items.names, items.component, items.first, items.answer, strict=True
    ):
        if component != NOT and first == NOT:
            shown = (url_of_png(read_bytes(place / f"{name}.png", follow_links=False)), classes[answer])
            grids.setdefault(int(component), []).append(shown)
    return grids


def _pairs(folder: RepairFolder) -> list[tuple[str, str, float]]:
    """Pictures as data URLs, each with its nearest training picture and the distance."""
    pairs = read_pairs(folder.require("novelty") / PAIRS)
    return [(url_of_png(png_of(one)), url_of_png(png_of(near)), distance) for one, near, distance in pairs]


def _claims(found: CorrectResult | None) -> list[tuple[str, str, str, str]]:
    """Against what, on which test, the difference, and what it supports."""
    if found is None:
        return []
    return [
        (
            NAMES[one.against],
            NAMES[one.test],
            difference_words(one),
            "better in every seed"
            if one.is_better
            else "worse in a seed"
            if one.is_worse
            else "no clear difference",
        )
        for one in found.claims()
        if all(pair.n for pair in one.pairs)
    ]


def _curve(found: CorrectResult | None) -> str:
    """Accuracy over lambda, means of the seeds, as SVG."""
    if found is None or found.before is None:
        return ""
    weights = sorted({one.weight for one in found.of(SWEEP)})
    with styled():
        figure, axes = axes_of("lambda", "right")
        for number, name in enumerate((FRESH, GROWN, TEST)):
            models = [found.of(SWEEP, weight) for weight in weights]
            if not models[0][0].accuracy(name).of:
                continue
            means = [sum(one.accuracy(name).value for one in same) / len(same) for same in models]
            axes.plot(range(len(weights)), means, "o-", markersize=4, color=COLORS[number], label=NAMES[name])
        axes.set_xticks(range(len(weights)), labels=[f"{weight:g}" for weight in weights])
        axes.set_ylim(-0.03, 1.03)
        axes.legend(fontsize=7, frameon=False)
        return svg_of(figure)
