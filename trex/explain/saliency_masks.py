"""Saliency maps of explained scenes: computes, stores, and sums them over the objects' masks."""

from __future__ import annotations

import io
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trex.explain.explanation import (
    INTEGRATED,
    SMOOTHGRAD,
    Explanation,
    Method,
    Saliency,
    SaliencyMap,
    Settings,
)
from trex.explain.scene_scores import SceneScores
from trex.explain.stored import FOLDER
from trex.foundation.errors import RunError
from trex.foundation.files import MIB, read_bytes, write_atomic
from trex.render.picture import Bytes
from trex.runs.folder import RunFolder
from trex.runs.pictures import read_picture
from trex.worlds.world import Plan

if TYPE_CHECKING:  # importing torch takes seconds
    from trex.clevr_models.saliency import Attribution

Map = NDArray[np.float32]  # (H, W), nonnegative
BASELINE = "the scene without objects"
NO_GRADIENTS = "no gradients: model {!r} is no torch module"
NO_CAPTUM = "it needs captum; run pip install 'bayes-trex[saliency]' and explain the run again"


def lacks_saliency(explanation: Explanation) -> bool:
    """Whether the maps still have to be computed; those that had no captum wait until it is installed."""
    return explanation.saliency is None or (explanation.saliency.why_none == NO_CAPTUM and _has_captum())


def _has_captum() -> bool:
    return find_spec("captum") is not None


def make_saliency(scores: SceneScores, explanation: Explanation) -> Saliency:
    """Both maps of an explained scene, written beside the explanation, or the reason why there are none.

    Integrated gradients start at the same scene without any object: they attribute the presence of the objects, as
    leave-one-out does.
    """
    plan, folder = scores.world.plan, scores.folder
    answers = plan.query.answer or tuple(plan.query.target.probabilities) or plan.question.possible
    if getattr(plan.bound, "module", None) is None:
        return Saliency(answers, (), NO_GRADIENTS.format(plan.model_name))
    if not _has_captum():
        return Saliency(answers, (), NO_CAPTUM)
    from trex.clevr_models.saliency import NoGradientsError

    pixels, mask = read_picture(folder, explanation.control.score.picture)
    empty = scores.pixels(replace(explanation.scene, objects=()))
    try:
        maps = tuple(
            _keep(folder, explanation, method, found, settings, mask)
            for method, found, settings in _attributions(plan, pixels, empty, answers)
        )
    except NoGradientsError as error:
        return Saliency(answers, (), str(error))
    return Saliency(answers, maps)


def _attributions(
    plan: Plan, pixels: Bytes, empty: Bytes, answers: tuple[str, ...]
) -> list[tuple[Method, Attribution, Settings]]:
    from trex.clevr_models.interface.bound import BoundModule
    from trex.clevr_models.saliency import PathIntegral, SmoothGrad, integrated_gradients, smooth_grad

    assert isinstance(plan.bound, BoundModule)
    module = plan.bound.module
    image, baseline = (
        array.astype(np.float32) / np.float32(255.0) for array in (pixels, empty)
    )  # as inference.scoring does
    indices = tuple(plan.bound.labels.index(answer) for answer in answers)
    noisy, path = SmoothGrad(), PathIntegral()
    about_path: Settings = {**asdict(path), "baseline": BASELINE}
    found: list[tuple[Method, Attribution, Settings]] = [
        (SMOOTHGRAD, smooth_grad(module, image, indices, noisy), asdict(noisy)),
        (INTEGRATED, integrated_gradients(module, image, baseline, indices, path), about_path),
    ]
    return found


def _keep(
    folder: RunFolder, explanation: Explanation, method: Method, found: Attribution,
    settings: Settings, mask: Bytes,
) -> SaliencyMap:  # fmt: skip
    buffer = io.BytesIO()
    np.save(buffer, found.map, allow_pickle=False)
    write_atomic(map_path(folder, explanation.picture, method), buffer.getvalue(), is_precious=False)
    sums = summed(found.map, mask, len(explanation.scene.objects), method, settings)
    return replace(sums, change=found.change, completeness_gap=found.completeness_gap)


def summed(saliency: Map, mask: Bytes, n: int, method: Method, settings: Settings) -> SaliencyMap:
    """Sum a map (H, W) over the masks (H, W) of n objects; `peak` is the first largest pixel in reading order."""
    sums = np.bincount(mask.ravel(), weights=saliency.ravel().astype(np.float64), minlength=n + 1)[: n + 1]
    pixels = np.bincount(mask.ravel(), minlength=n + 1)[: n + 1]
    row, column = (int(k) for k in np.unravel_index(int(saliency.argmax()), saliency.shape))
    seen = int(mask[row, column])
    return SaliencyMap(
        method=method,
        settings=settings,
        sums=tuple(sums[1:].tolist()),
        pixels=tuple(pixels[1:].tolist()),
        background=float(sums[0]),
        background_pixels=int(pixels[0]),
        peak=(row, column),
        peak_object=seen - 1 if seen else None,
    )


def map_path(folder: RunFolder, picture: str, method: Method) -> Path:
    """The path of a map of the hit with this picture (.npy)."""
    return folder.path / FOLDER / f"{picture}.{method}.npy"


def read_map(folder: RunFolder, picture: str, method: Method) -> Map:
    """A stored map (H, W), float32; RunError if it is missing or damaged."""
    path = map_path(folder, picture, method)
    width, height = folder.manifest.facts.size
    try:
        data = io.BytesIO(read_bytes(path, limit=64 * MIB, error=RunError))
        found = np.lib.format.read_array(data, allow_pickle=False)
        if found.shape != (height, width) or found.dtype != np.float32 or not np.isfinite(found).all():
            raise ValueError(f"it holds {found.dtype} {found.shape}, not finite float32 {(height, width)}")
    except (RunError, OSError, ValueError, EOFError, SyntaxError, MemoryError, OverflowError) as error:
        raise RunError(
            f"saliency map {path} is missing or damaged ({error}); delete {path.parent / picture}.json and "
            "explain the run again"
        ) from error
    saliency: Map = found
    return saliency
