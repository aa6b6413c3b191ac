"""A run of an earlier version (commit 0d08ecc, the fake world) opens, reports and exports, and is not added to.

Its scenes have no noise seed, and its search decided by another rule (search.common_rate).
"""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.running.command_line import trex
from tests.running.runs import run
from trex.foundation.errors import InputError
from trex.query.schema import as_before
from trex.runs.folder import open_run

EARLIER = Path(__file__).with_name("run_of_0d08ecc.zip")
NEW = {"cheap_renders": 0, "fragile": []}  # what results say since there are banks and fresh noise draws
KEPT = 11  # draws that the run had when it was stopped, of 20
WHY = ("was made by an earlier version", "cannot add to its draws", "trex find ")


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    with zipfile.ZipFile(EARLIER) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "run"


def test_it_is_reported_with_the_findings_that_it_had(earlier: Path) -> None:
    before = json.loads((earlier / "findings.json").read_text())
    (earlier / "report.html").unlink()
    result = trex("report", earlier)
    assert result.exit_code == 0, result.stderr
    assert "How many red things are there?" in (earlier / "report.html").read_text()
    now = json.loads((earlier / "findings.json").read_text())
    assert len(now.pop("family_list")) == now["families"]
    sentences, before_sentences = now.pop("sentences"), before.pop("sentences")
    assert before_sentences[0].startswith("FOUND: 7 draws")
    assert sentences[0].startswith("FOUND: 2 distinct scenes")
    assert set(before_sentences[1:]) <= set(sentences), "there are more summaries now"
    assert now == before | NEW
    assert before["found"], "the run has found nothing"


def test_its_hits_are_exported_and_its_draws_are_arviz_s(earlier: Path) -> None:
    exported = trex("export", earlier)
    assert exported.exit_code == 0, exported.stderr
    assert trex("report", earlier, "--format", "netcdf").exit_code == 0


@pytest.mark.parametrize("is_stopped", [False, True])
@pytest.mark.parametrize("command", ["resume", "explain"])
def test_what_would_render_for_it_is_refused_with_the_reason_and_a_way_out(
    command: str, is_stopped: bool, earlier: Path
) -> None:
    if is_stopped:
        for name in ("draws.jsonl", "draws.check"):
            lines = (earlier / name).read_bytes().splitlines(keepends=True)
            (earlier / name).write_bytes(b"".join(lines[:KEPT]))
        (earlier / "finished").unlink()
    before = (earlier / "draws.jsonl").read_bytes()
    result = trex(command, earlier)
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
    for part in (*WHY, str(earlier)):
        assert part in result.stderr, result.stderr
    assert (earlier / "draws.jsonl").read_bytes() == before


def test_the_same_query_does_not_go_on_there_and_finds_hits_elsewhere(earlier: Path) -> None:
    draws = (earlier / "draws.jsonl").read_bytes()
    query = shutil.copy(earlier / "query.toml", earlier.parent / "q.toml")
    refused = trex("find", query, "--out", earlier, "--no-large")
    assert refused.exit_code == 2 and all(part in refused.stderr for part in WHY), refused.stderr
    assert (earlier / "draws.jsonl").read_bytes() == draws
    again = trex("find", earlier / "query.toml", "--out", earlier.parent / "new", "--no-large")
    assert again.exit_code == 0, again.stderr  # the way out that the sentence gives


def test_whether_a_run_is_an_earlier_one_is_read_off_its_query_and_never_stored(
    earlier: Path, tmp_path: Path
) -> None:
    done = run(tmp_path, ["search.steps=0"], "now")
    for folder, is_earlier in ((earlier, True), (done.folder, False)):
        with open_run(folder, for_writing=False) as opened:
            assert opened.manifest.is_earlier is is_earlier
            assert "is_earlier" not in opened.manifest.model_dump_json()


def test_a_run_from_before_the_leading_look_decided_inner_is_one_of_the_same_query(tmp_path: Path) -> None:
    """Planted bug: its `inner = 16` made it another query, so that a finished search or experiment was refused."""
    folder, before = run(tmp_path).folder, (tmp_path / "run" / "draws.jsonl").read_bytes()
    manifest = json.loads((folder / "run.json").read_text())
    assert manifest["query"]["search"]["inner"] is None
    manifest["query"]["search"]["inner"] = 16
    (folder / "run.json").write_text(json.dumps(manifest))
    assert run(tmp_path).folder == folder and (folder / "draws.jsonl").read_bytes() == before
    for other in (["search.inner=8"], ["search.steps=13"]):
        with pytest.raises(InputError, match="already holds a run of another query"):
            run(tmp_path, other)
    now = open_run(folder, for_writing=False).manifest.query
    asked = now.model_copy(update={"search": now.search.model_copy(update={"inner": None})})
    assert as_before(asked).model_dump_json() == now.model_dump_json()  # by which the queue knows it
