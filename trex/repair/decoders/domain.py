"""Decoded pictures (digits, garments, traffic signs) as a domain: an autoencoder draws them, and people label them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from trex.foundation.errors import InputError, RunError
from trex.foundation.files import read_bytes
from trex.pages.figures import COLORS, axes_of, styled, svg_of
from trex.render.png_url import url_of_png
from trex.repair.decoders.bench import tune
from trex.repair.decoders.distill import cluster
from trex.repair.decoders.identify import IdentifyResult, grow
from trex.repair.decoders.label import VoteResult, judge
from trex.repair.decoders.loaded import Folder, load
from trex.repair.decoders.novelty import NAMES as NOVEL
from trex.repair.decoders.novelty import PAIRS, NoveltyResult, novelty, read_pairs
from trex.repair.decoders.pictures import ITEMS, NOT, draw_pictures, png_of, read_items
from trex.repair.domain import Domain, Opened
from trex.repair.files import Found
from trex.repair.folder import Step
from trex.repair.results import FRESH, SWEEP, TEST, CorrectResult, DistillResult
from trex.repair.results import GROWN as GROWN_TEST
from trex.repair.settings import DecoderQuery


def prepare(query: DecoderQuery, place: Path | None, data: Path | None, processes: int | None) -> Opened:
    """The models and their data, loaded; InputError if they do not fit together."""
    if processes is not None:
        raise InputError("--processes does not apply: only a repair on rendered scenes renders; drop it")
    loaded = load(query, data)
    return loaded.sources, lambda: nullcontext(loaded)


def show(folder: Folder, results: Mapping[Step, Found]) -> dict[str, object]:
    """The pictures of components with the model's answers, accuracy over lambda, and pairs of near pictures."""
    correct, distilled = results.get("correct"), results.get("distill")
    grids: dict[int, list[tuple[str, str]]] = {}
    if "label" in results and isinstance(distilled, DistillResult):
        place = folder.require("pictures")
        items = read_items(place / ITEMS)
        columns = (items.names, items.component, items.first, items.answer)
        for name, component, first, answer in zip(*columns, strict=True):
            if component != NOT and first == NOT:
                url = url_of_png(read_bytes(place / f"{name}.png", error=RunError, follow_links=False))
                grids.setdefault(int(component), []).append((url, distilled.classes[answer]))
    near = read_pairs(folder.require("novelty") / PAIRS) if "novelty" in results else []
    return {
        "template": "repair_pictures.html",
        "title": folder.sources.model.split()[0],
        "what": (
            f"Mistakes drawn by {folder.sources.generator.split()[0]} on {folder.sources.dataset}, clustered, labeled "
            "and corrected (Defuse)."
        ),
        "grids": grids,
        "curve": _curve(correct) if isinstance(correct, CorrectResult) else "",
        "novel": NOVEL,
        "pairs": [(url_of_png(png_of(each)), url_of_png(png_of(other)), far) for each, other, far in near],
    }


def _curve(found: CorrectResult) -> str:
    """Accuracy over lambda, means of the seeds, as SVG."""
    if found.before is None:
        return ""
    weights = sorted({each.weight for each in found.of(SWEEP)})
    with styled():
        figure, axes = axes_of("lambda", "right")
        for number, name in enumerate((FRESH, GROWN_TEST, TEST)):
            models = [found.of(SWEEP, weight) for weight in weights]
            if not models[0][0].accuracy(name).of:
                continue
            means = [sum(each.accuracy(name).value for each in same) / len(same) for same in models]
            label = found.rules.names[name]
            axes.plot(range(len(weights)), means, "o-", markersize=4, color=COLORS[number], label=label)
        axes.set_xticks(range(len(weights)), labels=[f"{weight:g}" for weight in weights])
        axes.set_ylim(-0.03, 1.03)
        axes.legend(fontsize=7, frameon=False)
        return svg_of(figure)


DECODERS = Domain(
    records={
        "identify": IdentifyResult,
        "distill": DistillResult,
        "label": VoteResult,
        "correct": CorrectResult,
        "novelty": NoveltyResult,
    },
    prepare=prepare,
    grow=grow,
    cluster=cluster,
    draw=draw_pictures,
    judge=judge,
    tune=tune,
    show=show,
    measure=novelty,
)
