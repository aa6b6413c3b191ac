"""Bad run folders and queues."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from benchmarks.bad_inputs.cases import Case, not_files, writing
from benchmarks.bad_inputs.queries import QUERY

ENTRY = "query-0123456789abcdef"
QUEUED: dict[str, object] = {
    "format": 1,
    "id": "0123456789abcdef",
    "source": "/tmp/query.toml",
    "text": QUERY,
    "overrides": [],
    "question": "How many red things are there?",
    "priority": 0,
    "added": 1.7e9,
    "place": 0,
}
TEXTS: dict[str, str | bytes] = {
    "empty": "",
    "cut": '{"format": 1, ',
    "a list": "[]",
    "a number": "3",
    "null": "null",
    "nested": "[" * 100_000,
    "nested objects": '{"a":' * 100_000,
    "5000 digits": "9" * 5000,
    "NaN": "NaN",
    "Latin-1": b'{"a": "\xe9"}',
    "noise": bytes(range(256)) * 8,
    "NUL": "\0" * 4096,
}
CHANGES: dict[str, tuple[object, ...]] = {
    "format": (2, "1", None, 1.5),
    "id": ("x", 3, "../../../../etc"),
    "source": (3, "\0"),
    "text": (3, "no toml =", "x = " + "[" * 5000),
    "overrides": ("a", [1], ["no"], ["search.steps=" + "9" * 5000]),
    "question": (3, None),
    "priority": (1e300, 10**30, "high", True, float("nan")),
    "added": (float("nan"), 1e300, -1e300, "now", True),
    "place": (-1, 10**30, 1.5),
}
MANIFEST: dict[str, tuple[object, ...]] = {
    "format": (99, "1", None),
    "query": (3, {}, {"answer": "purple"}),
    "facts": (3, {}, None),
    "made": (3, None),
}


@cache
def good_run() -> Path:
    """A finished run on the fake world, made once."""
    from trex.finding.find import find_query
    from trex.finding.source import query_file
    from trex.search.progress import Silent

    place = Path(tempfile.mkdtemp(prefix="trex-bad-inputs-"))
    query = place / "query.toml"
    query.write_text(QUERY, encoding="utf-8")
    return find_query(query_file(query, ()), place / "run", Silent(), lambda _: None).folder


def spoilt(name: str, data: str | bytes) -> Callable[[Path], None]:
    """A copy of the good run as `run`, with one file written anew."""

    def make(folder: Path) -> None:
        shutil.copytree(good_run(), folder / "run")
        writing({f"run/{name}": data})(folder)

    return make


def cases() -> Iterator[Case]:
    """Reports of spoilt runs, queues rebuilt and worked."""
    yield from _runs()
    yield from _queues()


def _runs() -> Iterator[Case]:
    manifest = json.loads((good_run() / "run.json").read_text(encoding="utf-8"))
    for key, values in MANIFEST.items():
        for n, value in enumerate(values):
            text = json.dumps({**manifest, key: value})
            yield Case(f"run.json: {key}, {n}", ("report", "run"), spoilt("run.json", text))
    for file in ("run.json", "draws.jsonl"):
        for name, data in TEXTS.items():
            is_accepted = file == "draws.jsonl" and name in ("empty", "cut", "a list", "a number", "null")
            yield Case(f"{file}: {name}", ("report", "run"), spoilt(file, data), is_accepted)
    picture = next((good_run() / "pictures").glob("*.png")).stem.removesuffix(".mask")
    files = (f"explanations/{picture}.json", "confirmations/reference.json")
    for file in (*files, "sessions.jsonl"):
        for name, data in TEXTS.items():
            if file != "sessions.jsonl" or data:
                case = f"{file.partition('/')[0]}: {name}"
                yield Case(case, ("report", "run"), spoilt(file, data), file == "sessions.jsonl")
    for name, data in TEXTS.items():
        words = ("report", "run", "--baseline", "b.json")
        yield Case(f"baseline.json: {name}", words, _both(spoilt("x", b""), writing({"b.json": data})))
    for command in ("report", "resume", "explain", "export"):
        for name, make in not_files("run"):
            yield Case(f"{command}: {name} for a run", (command, "run"), make)


def _queues() -> Iterator[Case]:
    rebuild = ("queue", "rebuild", "--runs", "runs")
    place = f"runs/{ENTRY}/queued.json"
    for key, values in CHANGES.items():
        for n, value in enumerate(values):
            text = json.dumps({**QUEUED, key: value})
            words = ("queue", "run", "--runs", "runs") if key in ("text", "overrides") and n else rebuild
            files: dict[str, str | bytes] = {place: text}
            if words == rebuild:
                yield Case(f"queued.json: {key}, {n}", words, writing(files), is_accepted=True)
    for name, data in TEXTS.items():
        yield Case(f"queued.json: {name}", rebuild, writing({place: data}), is_accepted=True)
        for command in (("queue", "list"), ("queue", "watch", "--once")):
            words = (*command, "--runs", "runs")
            if data:
                yield Case(f"queue.sqlite: {name}, {command[0]}", words, writing({"runs/queue.sqlite": data}))
    for name, make in not_files("runs/queue.sqlite"):
        if name not in ("nothing", "an empty file", "a link to nothing", "a huge sparse file"):
            yield Case(f"queue.sqlite: {name}", ("queue", "list", "--runs", "runs"), make)
    yield Case(
        "runs that are a file",
        ("queue", "add", "query.toml", "--runs", "runs"),
        writing({"query.toml": QUERY, "runs": b""}),
    )


def _both(*makes: Callable[[Path], None]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for item in makes:
            item(folder)

    return make
