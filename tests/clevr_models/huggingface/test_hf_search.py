"""`trex find` with models of transformers on the fake look: to the report, killed and resumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.running.kills import in_child, kill_midway
from tests.running.runs import QUERY, draws, go_on, run, write_query
from trex.runs.folder import open_run
from trex.runs.trust import named_code

pytest.importorskip("transformers", reason="transformers is not installed (extra `hf`)")

Folders = Callable[[str], Path]
SMALL = ["search.steps=3", "search.prior_scenes=6", "search.chains=2"]


def hf_query(folder: Path, model: Path, more: str = "") -> Path:
    text = QUERY.replace('name = "fake"', f'name = "hf:{model}"\n{more}')
    return write_query(folder, text)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["vilt", "llava"])
def test_a_search_is_reported_with_what_its_probabilities_are(
    kind: str, saved: Folders, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    settings = [word for text in SMALL for word in ("--set", text)]
    done = trex_done("find", hf_query(tmp_path, saved(kind)), "--out", out, *settings)
    page = " ".join((out / "report.html").read_text().split())
    assert "it is not shared out among them" in page and "not shared out" in " ".join(done.output.split())
    manifest = open_run(out, for_writing=False).manifest
    assert ("replies" if kind == "llava" else "labels") in manifest.made.model
    rows = [json.loads(line)["log_probs"] for line in draws(out).splitlines()]
    sums = [np.exp(row).sum() for row in rows if row]
    assert len(sums) > 6 and np.allclose(sums, 1)
    assert named_code(manifest.query) == (f"loads the files of model 'hf:{saved(kind)}'",)
    again = tmp_path / "again"
    trex_done("find", hf_query(tmp_path, saved(kind)), "--out", again, *settings)
    assert draws(again) == draws(out)  # bit for bit, although ViLT draws random numbers


@pytest.mark.process
@pytest.mark.usefixtures("no_reports")
def test_a_search_that_is_killed_resumes_to_the_same_draws(saved: Folders, tmp_path: Path) -> None:
    model = saved("vilt")
    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    settings = [f"model.name='hf:{model}'", "search.prior_scenes=10", "search.steps=5"]
    run(tmp_path / "whole", settings)
    whole = draws(tmp_path / "whole" / "run")

    def start() -> int:
        return in_child(lambda: run(tmp_path / "killed", settings))

    kill_midway(start, tmp_path / "killed" / "run", len(whole) // 2, len(whole))
    go_on(tmp_path / "killed" / "run")
    assert draws(tmp_path / "killed" / "run") == whole


def test_options_reach_the_model_and_belong_to_it_alone(saved: Folders, tmp_path: Path) -> None:
    query = hf_query(tmp_path, saved("vilt"), 'prompt = "{question} one word ."')
    trex_done("check", query)
    refused(trex("check", query, "--set", "model.prompt='Look'"), "{question} 0 times")
    refused(trex("check", query, "--set", "model.samples=3"), "samples belongs to models 'openai:MODEL'")
    refused(
        trex("check", query, "--endpoint", "http://localhost/v1"), "endpoint belongs to models 'openai:MODEL'"
    )
    refused(
        trex("check", query, "--model", "shipped", "--trust-remote-code", "--set", "model.prompt=''"),
        "trust_remote_code belongs to models 'hf:NAME'",
    )
    refused(
        trex("check", query, "--trust-remote-code", "--set", "model.trust_remote_code=false"),
        "--trust-remote-code does not apply",
    )


def test_code_is_trusted_by_the_option_of_the_command(saved: Folders, tmp_path: Path) -> None:
    import shutil

    own = Path(shutil.copytree(saved("vilt"), tmp_path / "own"))
    config = json.loads((own / "config.json").read_text())
    (own / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoTokenizer": "code.Own"}}))
    query = hf_query(tmp_path, own)
    refused(trex("check", query), "brings code of its own (config.json)", "--trust-remote-code")
    refused(trex("check", query, "--trust-remote-code"), "gives none of AutoModelForImageTextToText")


def test_a_run_from_elsewhere_loads_no_model_without_trust(
    saved: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    settings = [word for text in SMALL for word in ("--set", text)]
    trex_done("find", hf_query(tmp_path, saved("vilt")), "--out", out, *settings)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    (out / "finished").unlink(missing_ok=True)
    refused(trex("resume", out), "comes from elsewhere", "loads the files of model 'hf:", "--trust")
