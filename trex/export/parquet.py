"""A data set as one Parquet file for Hugging Face's `datasets`, including pictures and masks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trex.export.export_format import ExportFormat
from trex.export.items import Exported, ExportItem, answer_json
from trex.foundation.extensions import import_extra
from trex.foundation.json_fields import Json
from trex.scenes.clevr_format.scene_json import to_clevr
from trex.scenes.questions.program_json import program_to_json

if TYPE_CHECKING:
    import pyarrow

FILE = "scenes.parquet"
ROWS = 100  # per row group, which bounds the memory in use
TEXTS = (
    "split",
    "image_filename",
    "question",
    "program",
    "true_answer",
    "model_answer",
    "scene",
    "edited_from",
    "edit",
)
PICTURES = ("image", "mask")


def check_pyarrow() -> None:
    """Raise InputError if pyarrow is not installed, or not usable."""
    import_extra("pyarrow.parquet", "export", "this format needs pyarrow")


def write_parquet(out: Path, exported: Exported) -> None:
    """Write OUT/scenes.parquet: a row for each scene."""
    write_rows(out / FILE, exported, exported.items)


def write_rows(path: Path, exported: Exported, items: Sequence[ExportItem]) -> None:
    """Write a Parquet file with a row for each of some items, in their order."""
    import pyarrow
    import pyarrow.parquet

    schema = _schema()
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, len(items), ROWS):
            rows = list(_rows(exported, items[start : start + ROWS]))
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))


def _rows(exported: Exported, items: Sequence[ExportItem]) -> Iterator[Json]:
    program = json.dumps(program_to_json(exported.manifest.question.program))
    labels = exported.manifest.facts.labels
    for item in items:
        image, mask = exported.picture(item)
        shares = zip(labels, map(math.exp, item.log_probs), strict=True)
        yield {
            **answer_json(exported.manifest, item),
            "image": {"bytes": image, "path": item.name},
            "mask": {"bytes": mask, "path": item.name},
            "program": program,
            "probabilities": [{"answer": answer, "probability": p} for answer, p in shares],
            "scene": json.dumps(to_clevr(item.scene, item.name, item.index, item.split)),
        }


def _schema() -> pyarrow.Schema:
    """The columns, and the metadata that `datasets` itself would write (its features)."""
    import pyarrow as pa

    png = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    share = pa.struct([("answer", pa.string()), ("probability", pa.float64())])
    fields = [
        *((name, png) for name in PICTURES),
        *((name, pa.string()) for name in TEXTS),
        ("confidence", pa.float64()),
        ("probabilities", pa.list_(share)),
    ]
    features = {
        **{name: {"_type": "Image"} for name in PICTURES},
        **{name: _value("string") for name in TEXTS},
        "confidence": _value("float64"),
        "probabilities": [{"answer": _value("string"), "probability": _value("float64")}],
    }
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    return pa.schema(fields, metadata=metadata)


def _value(kind: str) -> dict[str, str]:
    return {"dtype": kind, "_type": "Value"}


FORMAT = ExportFormat("parquet", write_parquet, check_pyarrow)
