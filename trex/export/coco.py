"""A data set as COCO instances (https://cocodataset.org/#format-data): one annotation for each visible object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.export.export_format import ExportFormat
from trex.export.items import Exported, ExportItem, answer_json
from trex.foundation.files import write_atomic
from trex.foundation.json_fields import Json

ATTRIBUTES = ("size", "color", "material", "x", "y", "rotation")  # the shape is the category


def write_coco(out: Path, exported: Exported) -> None:
    """Write images/*.png and annotations.json; categories are the shapes, `attributes` all other properties."""
    (out / "images").mkdir(parents=True)
    shapes = [card.name for card in exported.manifest.facts.cards]
    images: list[Json] = []
    annotations: list[Json] = []
    for number, item in enumerate(exported.items, start=1):
        write_atomic(out / "images" / item.name, exported.picture(item)[0], is_precious=False)
        mask = exported.mask(item)
        size: Json = {"height": mask.shape[0], "width": mask.shape[1]}
        images.append({"id": number, "file_name": item.name, **size, **answer_json(exported.manifest, item)})
        annotations += [
            {"id": len(annotations) + k, **annotation}
            for k, annotation in enumerate(_annotations(item, number, mask, shapes), start=1)
        ]
    data = {
        "info": {
            "description": exported.manifest.question.text,
            "version": "1.0",
            "contributor": "trex export",
        },
        "licenses": [],
        "images": images,
        "annotations": annotations,
        "categories": [
            {"id": k, "name": shape, "supercategory": "object"} for k, shape in enumerate(shapes, start=1)
        ],
    }
    write_atomic(out / "annotations.json", (json.dumps(data, allow_nan=False) + "\n").encode())


def _annotations(item: ExportItem, number: int, mask: NDArray[np.uint8], shapes: list[str]) -> Iterator[Json]:
    for index, thing in enumerate(item.scene.objects):
        seen = mask == index + 1
        if seen.any():  # COCO has no annotation for hidden objects
            yield {
                "image_id": number,
                "category_id": shapes.index(thing.shape) + 1,
                "bbox": box(seen),
                "area": int(seen.sum()),
                "iscrowd": 0,
                "segmentation": {"size": list(seen.shape), "counts": rle_counts(seen)},
                "attributes": {"object": index, **{name: getattr(thing, name) for name in ATTRIBUTES}},
            }


def box(seen: NDArray[np.bool_]) -> list[int]:
    """The bounding box [x, y, width, height] in pixels."""
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    y, x = int(rows[0]), int(columns[0])
    return [x, y, int(columns[-1]) - x + 1, int(rows[-1]) - y + 1]


def rle_counts(seen: NDArray[np.bool_]) -> list[int]:
    """COCO's uncompressed run lengths of a mask (H, W): down the columns, zeros first (maskApi.h)."""
    flat = seen.ravel(order="F")
    turns = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    edges = np.concatenate([[0], turns, [flat.size]])
    counts: list[int] = np.diff(edges).tolist()
    return [0, *counts] if flat[0] else counts


FORMAT = ExportFormat("coco", write_coco)
