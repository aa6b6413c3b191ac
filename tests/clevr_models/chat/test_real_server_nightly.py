"""llama.cpp's own server with a tiny planted LLaVA: the same probabilities as in transformers, and a whole search.

Needs a Python with the packages xllamacpp (llama.cpp's server as a wheel) and gguf: this one, or the one that the
environment variable TREX_LLAMA_PYTHON names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.running.command_line import trex_done
from tests.running.runs import QUERY, write_query
from tests.serving.chat_shapes import CUBES
from trex.clevr_models.catalog import load_model
from trex.clevr_models.chat.chat_model import load_chat
from trex.clevr_models.interface.answers import ANSWERS, UNPARSED
from trex.clevr_models.interface.options import ModelOptions
from trex.foundation.errors import ModelError
from trex.inference.statistics.proportion import clopper_pearson

pytest.importorskip("transformers", reason="transformers is not installed (extra `hf`)")
pytestmark = [pytest.mark.nightly, pytest.mark.process]

PYTHON = "TREX_LLAMA_PYTHON"
SCRIPT = Path(__file__).parents[2] / "serving" / "llama_server.py"
WHOLE = '{"min_p": 0, "top_k": 0}'  # llama.cpp otherwise samples from the likeliest tokens
EXACT = 2e-3  # three digits: llama.cpp looks GELU up in a table of 16 bits
ALPHA = 1e-5
N = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.references.planted_llava import planted_llava

    return planted_llava(tmp_path_factory.mktemp("planted") / "hf")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    from tests.references.planted_llava import gguf_files

    python = os.environ.get(PYTHON, sys.executable)
    found = subprocess.run(
        [python, "-c", "import xllamacpp, gguf"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.skip(f"{python} has no xllamacpp and gguf (pip install xllamacpp gguf, or set {PYTHON})")
    files = gguf_files(python, folder, folder.parent)
    words = [python, str(SCRIPT), *map(str, files)]
    with (folder.parent / "log").open("w") as log:
        server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        with server:
            assert server.stdout is not None and server.stdin is not None
            yield f"{next(line for line in server.stdout if line.startswith('http')).strip()}/v1"
            server.stdin.close()  # it ends with its input


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))


def pictures(n: int) -> NDArray[np.float32]:
    """(n, 32, 48, 3), 8 bits a channel: a tint, and a box of another color."""
    rng = np.random.default_rng(11)
    found = np.broadcast_to(rng.integers(0, 256, (n, 1, 1, 3)), (n, 32, 48, 3)).copy()
    found[:, 8:24, 8:24] = rng.integers(0, 256, (n, 1, 1, 3))
    return (found / 255).astype(np.float32)


def by_name(labels: tuple[str, ...], row: NDArray[np.float64]) -> dict[str, float]:
    return dict(zip(labels, row.tolist(), strict=True))


def test_the_probabilities_are_those_of_transformers_to_three_digits(folder: Path, url: str) -> None:
    local = load_model(f"hf:{folder}").bind(CUBES).answerer  # type: ignore[attr-defined]
    served = load_chat("openai:planted", ModelOptions(endpoint=url)).bind(CUBES).answerer
    rows = zip(local(pictures(6), CUBES), served(pictures(6), CUBES), strict=True)
    errors, tops = [], []
    for ours, theirs in rows:
        exact, found = by_name(local.labels, ours), by_name(served.labels, theirs)
        errors.append(max(abs(exact[answer] - found[answer]) for answer in (*ANSWERS, UNPARSED)))
        tops.append(max(exact.values()))
    print(
        f"likeliest answers {[round(top, 3) for top in tops]}, errors {[f'{error:.5f}' for error in errors]}"
    )
    assert max(errors) < EXACT and min(tops) < 0.9  # no certainty that would hide a fault


def test_the_planted_order_of_text_and_picture_would_be_caught(folder: Path, url: str) -> None:
    """The control: the same picture and question with another prompt give other probabilities."""
    other = ModelOptions(endpoint=url, prompt="{question} {answers}:")
    served = load_chat("openai:planted", other).bind(CUBES).answerer
    local = load_model(f"hf:{folder}").bind(CUBES).answerer  # type: ignore[attr-defined]
    differ = np.abs(served(pictures(1), CUBES)[:, :28] - local(pictures(1), CUBES)[:, :28]).max()
    assert differ > 0.01


def test_samples_lie_in_their_interval_and_a_cut_distribution_does_not(folder: Path, url: str) -> None:
    local = load_model(f"hf:{folder}").bind(CUBES).answerer  # type: ignore[attr-defined]
    exact = by_name(local.labels, local(pictures(6)[2:3], CUBES)[0])
    whole = ModelOptions(endpoint=url, samples=N, extra=WHOLE)
    model = load_chat("openai:planted", whole)
    replies = model.answerer.replies(pictures(6)[2:3], CUBES)[0]
    texts = [reply.text for reply in replies]
    print(
        {
            answer: (texts.count(answer), round(N * exact[answer], 1))
            for answer in ANSWERS
            if exact[answer] > 0.01
        }
    )
    for answer in ANSWERS:
        low, high = clopper_pearson(texts.count(answer), N, 1 - ALPHA)
        assert low <= exact[answer] <= high, answer
    greedy = load_chat(
        "openai:planted", ModelOptions(endpoint=url, samples=N, extra='{"min_p": 0, "top_k": 1}')
    )
    with pytest.raises(ModelError, match=r"the same reply to all 200 seeds.*top_k = 0"):
        greedy.bind(CUBES)


def test_find_and_a_small_audit_run_from_end_to_end(url: str, tmp_path: Path) -> None:
    query = write_query(tmp_path, QUERY.replace('name = "fake"', 'name = "openai:planted"'))
    small = ("--set", "search.steps=4", "--set", "search.prior_scenes=20", "--set", "target.kind=threshold")
    texts = ("--endpoint", url, "--set", "target.threshold=0.05", "--no-large", *small)
    found = trex_done("find", query, *texts, "--out", tmp_path / "run", "--json")
    draws = (tmp_path / "run" / "draws.jsonl").read_text().splitlines()
    rows = [json.loads(line)["log_probs"] for line in draws]
    sums = [np.exp(row).sum() for row in rows if row]
    print(found.stdout[:200], len(sums), "pictures")
    assert len(sums) > 20 and np.allclose(sums, 1, atol=1e-6)
    assert "20 likeliest tokens" in (tmp_path / "run" / "report.html").read_text()
    looks = (
        "--preset",
        "fake",
        "--confirm-preset",
        "fake",
        "--scenes",
        "12",
        "--held-out",
        "12",
        "--questions",
        "4",
    )
    few = ("--tested", "2", "--probed", "1")
    audit = trex_done("audit", "openai:planted", "--endpoint", url, "--out", tmp_path / "audit", *looks, *few)
    print(audit.stdout[-400:])
    assert json.loads((tmp_path / "audit" / "audit.json").read_text()) and "output tokens" in audit.stderr
