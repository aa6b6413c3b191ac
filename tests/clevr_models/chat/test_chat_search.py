"""`trex find` with a model behind a chat server, from the first request to the report, on the fake look."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import QUERY, draws, write_query
from tests.serving.chat_server import ChatServer, Replies, chat_server
from trex.clevr_models.chat.endpoint import BASE_URL, KEY
from trex.clevr_models.chat.prompted_model import DEFAULT
from trex.clevr_models.fake import ColorArea
from trex.runs.folder import open_run
from trex.runs.trust import named_code

SECRET = "sk-planted-in-the-environment"
SERVED = QUERY.replace('name = "fake"', 'name = "openai:planted"')
ROUNDING = 1e-9


def red_things(picture: NDArray[np.uint8]) -> Replies:
    """The fake model's answers, phrased by a chat model: with spaces, as words, with a full stop."""
    (row,) = np.exp(ColorArea().log_probs(picture[None].astype(np.float32) / np.float32(255)))
    output = [
        (f" {n}",) if n % 2 else (("zero", "two", "four")[n // 2],) if n < 5 else (str(n), ".")
        for n in range(11)
    ]
    found = {tokens: float(share) for tokens, share in zip(output, row[:11], strict=True)}
    return found | {("Well", ","): max(1e-12, 1.0 - sum(found.values()))}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ChatServer]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", BASE_URL):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(KEY, SECRET)
    with chat_server(red_things) as running:
        yield running


def secrets_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_a_search_finds_what_the_planted_model_says_and_a_second_one_asks_nothing(
    server: ChatServer, tmp_path: Path
) -> None:
    query, out = write_query(tmp_path, SERVED), tmp_path / "run"
    done = trex_done("find", query, "--endpoint", server.url, "--out", out)
    fake = trex_done("find", write_query(tmp_path), "--out", tmp_path / "fake")
    number = len(server.requests)
    assert number > 20 and server.keys == {f"Bearer {SECRET}"}
    cost = f"chat server: {number} requests sent, {9 * number:,} input and {number} output tokens"
    assert cost in done.stderr and "chat server" not in fake.stderr

    pairs = zip(draws(out).splitlines(), draws(tmp_path / "fake").splitlines(), strict=True)
    for served, local in pairs:  # the same chains: the served model's probabilities are the fake one's
        (theirs, ours) = (json.loads(line)["log_probs"] for line in (served, local))
        if theirs is not None:
            np.testing.assert_allclose(np.exp(theirs[:11]), np.exp(ours[:11]), atol=1e-6)

    write_query(tmp_path, SERVED)
    again = trex_done("find", query, "--endpoint", server.url, "--out", tmp_path / "again")
    assert len(server.requests) == number and draws(tmp_path / "again") == draws(out)
    assert "chat server: 0 requests sent, " in again.stderr and "replies from the cache" in again.stderr
    assert not secrets_in(tmp_path) and SECRET not in done.output + again.output + fake.output

    manifest = open_run(out, for_writing=False).manifest
    assert (manifest.query.model.endpoint, manifest.query.model.prompt) == (server.url, DEFAULT)
    assert server.url in manifest.made.model and "log probabilities" in manifest.made.model
    assert "20 likeliest tokens" in (out / "report.html").read_text() and "20 likeliest tokens" in done.output
    assert named_code(manifest.query) == (
        f"sends pictures, and OPENAI_API_KEY if it is set, for model 'openai:planted' to {server.url!r}",
    )


@pytest.mark.slow
def test_a_search_that_runs_out_of_requests_resumes_to_the_same_draws(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = write_query(tmp_path, SERVED)
    words = ("find", query, "--endpoint", server.url)
    trex_done(*words, "--out", tmp_path / "whole")
    whole = len(server.requests)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "another cache"))
    out, most = tmp_path / "parts", whole // 2
    stopped = trex(*words, "--out", out, "--max-requests", str(most))
    assert stopped.exit_code == 2, stopped.output
    assert f"max_requests = {most} requests were sent" in stopped.stderr, stopped.output
    assert f"chat server: {most} requests sent" in stopped.stderr, stopped.output
    assert len(server.requests) == whole + most
    assert draws(out) and draws(tmp_path / "whole").startswith(draws(out))
    monkeypatch.setenv(BASE_URL, "http://127.0.0.1:9/v1")  # the run names its server
    resumed = trex("resume", out)
    while resumed.exit_code == 2 and "max_requests" in resumed.stderr:
        resumed = trex("resume", out)
    assert resumed.exit_code == 0, resumed.output
    assert draws(out) == draws(tmp_path / "whole")
    assert len(server.requests) == 2 * whole  # nothing was asked for twice
    assert not secrets_in(tmp_path)


@pytest.mark.slow
def test_a_sampled_search_says_so_with_its_interval(server: ChatServer, tmp_path: Path) -> None:
    server.has_log_probs = False
    query, out = write_query(tmp_path, SERVED), tmp_path / "run"
    small = ("--set", "search.steps=2", "--set", "search.prior_scenes=6")
    exact = trex("find", query, "--endpoint", server.url, "--out", out, *small)
    assert exact.exit_code == 2, (exact.exit_code, exact.output)
    assert "set [model] samples" in exact.stderr and not out.exists()
    done = trex_done(
        "find", query, "--endpoint", server.url, "--out", out, *small, "--set", "model.samples=20"
    )
    page = (out / "report.html").read_text()
    for text in (done.output, page):
        assert "sampled, 20 samples per picture, not exact" in " ".join(text.split())
        assert "0.83 to 1.00 if all 20 samples agree" in " ".join(text.split())
    assert "openai:planted (sampled, 20 per picture)" in page
    assert "sampled, 20" in open_run(out, for_writing=False).manifest.made.model


def test_check_asks_about_probe_pictures_only_and_names_what_is_wrong(
    server: ChatServer, tmp_path: Path
) -> None:
    query = write_query(tmp_path, SERVED)
    trex_done("check", query, "--endpoint", server.url)
    assert len(server.requests) == 2
    refused(trex("check", query), "OPENAI_BASE_URL", "--endpoint")
    refused(
        trex("check", query, "--endpoint", server.url, "--set", "model.prompt='Look'"), "{question} 0 times"
    )
    refused(trex("check", query, "--endpoint", server.url, "--set", "model.samples=-1"), "samples")
    refused(
        trex("check", query, "--model", "fake", "--endpoint", server.url),
        "endpoint belongs to models 'openai:MODEL'",
    )
    refused(trex("check", query, "--endpoint", "u", "--set", "model.endpoint='v'"), "--endpoint u")
    assert len(server.requests) == 2


def test_a_run_from_elsewhere_does_not_get_the_key(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, out = write_query(tmp_path, SERVED), tmp_path / "run"
    small = ("--set", "search.steps=2", "--set", "search.prior_scenes=6")
    trex_done("find", query, "--endpoint", server.url, "--out", out, *small)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "another cache"))
    number = len(server.requests)
    (out / "finished").unlink(missing_ok=True)
    refused(
        trex("resume", out),
        "comes from elsewhere",
        "sends pictures, and OPENAI_API_KEY",
        server.url,
        "--trust",
    )
    assert len(server.requests) == number
