"""The draws of CLEVR's world are the same as before there were other worlds."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.running.runs import SEARCHES, draws, run
from trex.runs.folder import open_run

# sha256 of draws.jsonl as 9db751b^ wrote it, each float at 9 digits: the last bits of exp are the machine's.
RECORDED = {
    "chains": "ad1c769a585d150e7070dbe647126b5fa3801df97e5dffa632fd510654d3733f",
    "random walk": "2edf843d5983423eb70ba05433358e92edb549be94dbaa76e1b4243a41f63399",
    "stops when found": "528470259aa5cff0a1b4e0d4d630f0cb92359ac5f3335b958dd7175d4563339c",
    "common": "b04735ee057272b16fec96c68485fe8c0a2482ef454177cc2d455ad7c033d238",
    "control": "ec6ea9e8e2e050c0f27a5e7b7a9cf35f15411586d06c3ab602b3fe0d9da631a6",
}
FLOAT = re.compile(rb"-?\d+\.\d+(?:e[-+]?\d+)?")


def rounded_hash(lines: bytes) -> str:
    return hashlib.sha256(FLOAT.sub(lambda found: b"%.9g" % float(found[0]), lines)).hexdigest()


@pytest.mark.parametrize("search", SEARCHES)
def test_draws_are_what_they_were(search: str, tmp_path: Path) -> None:
    lines = draws(run(tmp_path, SEARCHES[search]).folder)
    assert rounded_hash(lines) == RECORDED[search]
    assert rounded_hash(lines.replace(b'"scene":', b'"z":', 1)) != RECORDED[search]
    assert rounded_hash(lines.replace(b"5", b"6", 1)) != RECORDED[search]


def test_a_run_of_before_is_read(tmp_path: Path) -> None:
    """Its manifest names no generator, no scale, no classes."""
    done = run(tmp_path)
    path = done.folder / "run.json"
    old = json.loads(path.read_text())
    del old["query"]["generator"], old["query"]["search"]["scale"], old["facts"]["trained_on"]
    path.write_text(json.dumps(old))
    with open_run(done.folder, for_writing=False) as folder:
        assert folder.manifest == done.manifest
        assert folder.manifest.query.search.kernel == "block"
