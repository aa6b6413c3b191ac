"""A data set that `datasets.load_dataset` reads from its folder: a Parquet file for each split, and a card."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from trex.export.export_format import ExportFormat
from trex.export.items import EDITED, Exported
from trex.export.parquet import check_pyarrow, write_rows
from trex.foundation.files import write_atomic
from trex.foundation.words import code_block, code_span, counted, escaped, markdown_text
from trex.query.target import goal

# An absolute path begins with "/" or "~/" and is not the rest of a relative one or of an address ("http://host/v1").
_BEGIN = r"(?:(?<![\w.~/\]-])|(?<=file://))(?:~\w*)?/(?!/)"
_QUOTED = re.compile(r"""(["'])[^"'\n]*\1""")
_TO_COMMA = re.compile(rf"{_BEGIN}[^,\"'\n]*[^,\"'\s]")  # in quotes a path may contain spaces
_TO_SPACE = re.compile(rf"{_BEGIN}[^\s,;\"'`<>()\[\]{{}}]+")


def without_folders(text: str) -> str:
    """The text with every absolute path cut to its last name: "hf:/home/ada/models/vilt" becomes "hf:vilt"."""
    unquoted = _QUOTED.sub(lambda quoted: _TO_COMMA.sub(_name, quoted[0]), text)
    return _TO_SPACE.sub(_name, unquoted)


def _name(path: re.Match[str]) -> str:
    return path[0].rstrip("/").rpartition("/")[2]


CARD = "README.md"  # where the Hub and `datasets` look for it
COLUMNS = {
    "image, mask": "the picture, and for each of its pixels 0 for the background or i + 1 for object i",
    "question, program": "the question in English and as a CLEVR program (JSON)",
    "true_answer, model_answer, confidence": "what is true, what the model says, and how far that meets the target",
    "probabilities": "the model's probability of each answer",
    "scene": "the scene graph in CLEVR's format (JSON)",
    "edited_from, edit": "for edited scenes: the picture from which they come, and the change",
    "split, image_filename": "the split and the picture's name in CLEVR's layout",
}


def write_hf(out: Path, exported: Exported) -> None:
    """Write OUT/data/SPLIT.parquet and OUT/README.md."""
    (out / "data").mkdir()
    for split in exported.splits:
        write_rows(out / _file(split), exported, exported.of(split))
    write_atomic(out / CARD, ("\n".join(_card(exported)) + "\n").encode())


def _file(split: str) -> str:
    return f"data/{split}.parquet"


def _card(exported: Exported) -> Iterator[str]:
    """YAML, which names the files of each split, then the description. JSON strings are YAML strings."""
    manifest = exported.manifest
    question = repr(manifest.question.text)
    title = f"{without_folders(manifest.facts.model)} on {question}"
    wanted = goal(manifest.query.target, manifest.question, manifest.facts.labels)
    yield from ("---", f"pretty_name: {json.dumps(escaped(f'bayes-trex: {title}'), ensure_ascii=False)}")
    yield from (
        "task_categories: [visual-question-answering]",
        "tags: [clevr, synthetic, bayes-trex]",
        "configs:",
    )
    yield from ("- config_name: default", "  data_files:")
    for split in exported.splits:
        yield from (f"  - split: {split}", f"    path: {_file(split)}")
    yield from ("---", "", f"# {markdown_text(title)}", "")
    yield markdown_text(
        f"Rendered CLEVR scenes in which the model {without_folders(manifest.facts.model)}, asked {question}, "
        f"{wanted.sentence}. A search of bayes-trex found them under a stated prior."
    )
    yield ""
    for split in exported.splits:
        what = (
            "scenes that were found"
            if split != EDITED
            else "the same scenes with an object left out or changed"
        )
        yield f"- `{split}`: {counted(len(exported.of(split)), 'scene')}: {what}"
    yield from (
        "",
        "They are hits of a search, not a sample of all scenes: counts here say nothing of how often they occur.",
    )
    if (pictures := manifest.query.render.pictures) > 1:
        yield f"Answers are means over {pictures} pictures of each scene; the picture is the first of them."
    query = without_folders(exported.folder.query_text.strip())
    yield from ("", "The query:", "", *code_block(query, "toml"), "")
    if manifest.overrides:
        settings = (code_span(f"--set {without_folders(override)}") for override in manifest.overrides)
        yield from (f"with {' '.join(settings)}.", "")
    yield from ("| columns | what |", "|---|---|")
    yield from (
        f"| {', '.join(f'`{name}`' for name in names.split(', '))} | {what} |"
        for names, what in COLUMNS.items()
    )


FORMAT = ExportFormat("hf", write_hf, check_pyarrow)
