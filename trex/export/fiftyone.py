"""A data set for FiftyOne: `fo.Dataset.from_dir(DIR, dataset_type=fo.types.LegacyFiftyOneDataset)`.

Legacy is FiftyOne's name of its own layout without a database's identifiers: samples.json, metadata.json, pictures in
data/, and below fields/ the files of a label's pixels (fiftyone.utils.data.importers).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.export.coco import ATTRIBUTES, box
from trex.export.export_format import ExportFormat
from trex.export.items import Exported, ExportItem, answer_json
from trex.foundation.files import write_atomic
from trex.foundation.json_fields import Json

MASKS = "fields/object_mask"  # below fields/ the field's name


def write_fiftyone(out: Path, exported: Exported) -> None:
    """Write data/*.png, fields/object_mask/*.png, samples.json and metadata.json."""
    (out / "data").mkdir()
    (out / MASKS).mkdir(parents=True)
    samples = []
    for item in exported.items:
        image, mask = exported.picture(item)
        write_atomic(out / "data" / item.name, image, is_precious=False)
        write_atomic(out / MASKS / item.name, mask, is_precious=False)
        samples.append(_sample(exported, item))
    manifest = exported.manifest
    info = {"made_by": "trex export", "query": exported.folder.query_text, "set": list(manifest.overrides)}
    metadata: Json = {"media_type": "image", "info": info}
    for name, data in (("metadata.json", metadata), ("samples.json", {"samples": samples})):
        write_atomic(out / name, (json.dumps(data, allow_nan=False) + "\n").encode())


def _sample(exported: Exported, item: ExportItem) -> Json:
    """A sample's fields; `ground_truth` is null where the question has no answer."""
    output = answer_json(exported.manifest, item)
    truth = None if item.truth is None else {"_cls": "Classification", "label": item.truth}
    return {
        "filepath": f"data/{item.name}",
        "tags": [item.split],
        "ground_truth": truth,
        "prediction": {
            "_cls": "Classification",
            "label": item.answer,
            "confidence": math.exp(max(item.log_probs)),
        },
        "target_confidence": item.confidence,
        "objects": {"_cls": "Detections", "detections": list(_detections(item, exported.mask(item)))},
        "object_mask": {"_cls": "Segmentation", "mask_path": f"{MASKS}/{item.name}"},
        **{name: output[name] for name in ("model", "question", "edited_from", "edit")},
    }


def _detections(item: ExportItem, mask: NDArray[np.uint8]) -> Iterator[Json]:
    """The visible objects, with boxes as shares of width and height."""
    height, width = mask.shape
    for index, thing in enumerate(item.scene.objects):
        seen = mask == index + 1
        if seen.any():
            x, y, w, h = box(seen)
            yield {
                "_cls": "Detection",
                "label": thing.shape,
                "bounding_box": [x / width, y / height, w / width, h / height],
                "index": index + 1,
                **{name: getattr(thing, name) for name in ATTRIBUTES},
            }


FORMAT = ExportFormat("fiftyone", write_fiftyone)
