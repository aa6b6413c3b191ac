"""An option that a command would ignore is refused by name, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.running.command_line import trex
from tests.running.runs import write_query

DATASET = ["--dataset", "DATA", "--image", "A", "--question", "How many cubes are there?"]
EXPLAIN_RUN = [
    ("--image", "A"),
    ("--question", "B"),
    ("--model", "shipped"),
    ("--preset", "fast"),
    ("--out", "C"),
]
EXPLAIN_PICTURE = [
    ("--top", "5"), ("--no-edits",), ("--edits",), ("--flip-depth", "1"), ("--flip-renders", "3"),
    ("--nuisances", "0"), ("--every-object",), ("--no-saliency",), ("--processes", "1"),
]  # fmt: skip
RENDER = [("--prior", "3"), ("--seed", "1"), ("--objects", "5")]
LOOK = [("--device", "cpu"), ("--processes", "1")]
CASES = [
    *((["explain", "RUN"], extra, extra[0]) for extra in EXPLAIN_RUN),
    *((["explain", *DATASET], extra, extra[0]) for extra in EXPLAIN_PICTURE),
    (["explain", *DATASET], ("SOME_RUN",), "RUN"),
    (["explain", "RUN", "--flip-depth", "1"], ("--flip-renders", "9"), "--flip-renders"),
    (["explain", "RUN", "--nuisances", "0"], ("--every-object",), "--every-object"),
    *(
        (["baseline", "q.toml", "--dataset", "D"], x, x[0])
        for x in [("--world", "query"), ("--seed", "0"), ("--cache", "c")]
    ),
    (["baseline", "q.toml", "--rendered", "3"], ("--split", "val"), "--split"),
    (["report", "RUN", "--format", "netcdf"], ("--baseline", "b"), "--baseline"),
    *((["suite", "run", "S", "--model", "M"], x, x[0]) for x in [*LOOK, ("--fresh", "2"), ("--seed", "0")]),
    (["suite", "run", "S", "--model", "M", "--render", "fast"], ("--seed", "0"), "--seed"),
    *((["check", "Why?"], x, x[0]) for x in [("--model", "fake"), ("--endpoint", "a"), ("--set", "search.seed=2")]),
    (["check", "Why?"], ("--max-requests", "3"), "--max-requests"),
    *(([command, "demo"], ("--junit", "j.xml"), "--junit") for command in ("find", "resume")),
    *((["render", "scenes", "scenes.json"], x, x[0]) for x in RENDER),
    (["render", "scenes", "--prior", "1"], ("--introduce", "cone"), "--introduce"),
    *((["render", "scenes"], x, x[0]) for x in RENDER[1:]),
    *(
        (["models", "verify", "shipped"], x, x[0])
        for x in [("--split", "val"), ("--limit", "3"), ("--phrased",), ("--published", ".9")]
    ),
    (["queue", "cancel", "--all"], ("3f",), "ID"),
    (["queue", "priority", "--to", "3", "--all"], ("3f",), "ID"),
    *(
        (["cache", "prune-banks", "3f"], x, x[0])
        for x in [("--all",), ("--older-than", "3d"), ("--max-size", "2G")]
    ),
    *((["cache", "prune-banks", "--all"], x, x[0]) for x in [("--older-than", "3d"), ("--max-size", "2G")]),
    *(
        (["render", "bank", "demo", "--scenes", "2", "--set"], (x,), x)
        for x in ["search.seed=2", "render.preset=fast"]
    ),
    (["queue", "retry", "--failed"], ("3f",), "ID"),
    *((["queue", "run"], x, x[0]) for x in [("--address", "auto"), ("--gpus-per-worker", "0"), ("--ray-temp", "t")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "extra", "named"), CASES, ids=lambda x: x if isinstance(x, str) else "-".join(x)
)
def test_an_option_that_does_not_apply_is_refused_by_name(
    command: list[str], extra: tuple[str, ...], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = trex(*command, *extra)
    assert result.exit_code == 2
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert named in line.split()
    assert "not apply" in line or "belongs to" in line
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    query = str(write_query(tmp_path))
    for given, named in (
        (["--model", "shipped", "--set", "model.name=fake"], "--model shipped"),
        (["--set", "search.seed=1", "--set", "search.seed = 2"], "--set search.seed=1"),
    ):
        result = trex("check", query, *given)
        assert result.exit_code == 2
        assert f"error: {named} does not apply" in result.stderr


@pytest.mark.parametrize(
    ("words", "option"),
    [
        *((["check", "QUERY"], option) for option in ("--model", "--endpoint")),
        (["queue", "add", "QUERY"], "--model"),
        (["baseline", "QUERY", "--rendered", "1"], "--model"),
        (["audit", "shipped"], "--endpoint"),
    ],
)
def test_an_empty_value_is_refused(
    words: list[str], option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: `--model "$MODEL"` without such a variable silently asked the query's own model."""
    query = write_query(tmp_path)
    monkeypatch.chdir(tmp_path)
    for value in ("", " "):
        result = trex(*(query.name if word == "QUERY" else word for word in words), option, value)
        assert result.exit_code == 2, result.output
        assert f"error: {option} {value!r}" in result.stderr and "is empty; give a value" in result.stderr
    assert list(tmp_path.iterdir()) == [query]


def test_options_that_apply_are_taken_even_at_their_defaults(tmp_path: Path) -> None:
    nowhere = trex("explain", tmp_path, "--top", "5", "--edits", "--nuisances", "5")
    assert "not apply" not in nowhere.stderr
    assert "is not a run folder" in nowhere.stderr


@pytest.mark.parametrize(
    "words", [["audit", "shipped"], ["models", "verify", "shipped", "--dataset", "DATA"]]
)
@pytest.mark.parametrize(
    ("option", "key"),
    [
        (["--endpoint", "http://localhost/v1"], "endpoint"),
        (["--max-requests", "3"], "max_requests"),
        (["--trust-remote-code"], "trust"),
    ],
)
def test_an_option_of_other_models_is_refused(
    words: list[str], option: list[str], key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = trex(*words, *option)
    assert result.exit_code == 2, result.output
    assert key in result.stderr and "not to 'shipped'; leave it out" in result.stderr
    assert not list(tmp_path.iterdir())
