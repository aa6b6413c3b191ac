"""The draws of CLEVR's world are those recorded: no change of the code may change them unnoticed."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.running.runs import SEARCHES, draws, run
from trex.runs.folder import open_run

# sha256 of draws.jsonl, each float at 9 digits: the last bits of exp are the machine's. Recorded when the noise seed
# joined the scene, which changed every draw; "control" when it got two rungs of known mass. Where draws change on
# purpose, say why here and record them anew.
RECORDED = {
    "chains": "0ae407700c830242b06f5414f2c130ee179a8e482d908faa7f7e0e47c4ec189b",
    "random walk": "fe225a87c44c77c3aac6c757eb6a06f2828b02e237c44d5e9ddd5626e9505603",
    "stops when found": "3bcc2d5067acb89535999c02b927638a7d646ad5c8708d734af79a37b185eb5c",
    "common": "49ba9db6cf20c3af8a84fa9484441f35170237d1d94eda0be205152c9e35c3ce",
    "control": "c2c2fadb9083bf843eebe687731208d23dc3163dc0ffc467fcc7e76732e7d7cb",
    "bank": "ebafe46a01ca20fca21634827e4eeee7e62ad7853ae5c2880e20ccf554e5202e",
    "second sample": "df11e3baf0f372d9d2f706f32e42c541ab91e75787594e360ceade68c6bf03f2",
    "surrogate": "6c51d23e1b4dfd202454337eefb2ccfd560b189694ee0b9f3d080f27526a37e8",
    "fragile": "4fc0ca07f158cb0925c7df384ac4ca8b74435273cccace554ad2aac117010a9f",
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
