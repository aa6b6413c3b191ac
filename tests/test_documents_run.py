"""Every command and Python block of README.md and docs/ runs by night, or says why it does not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.serving.document_blocks import PAGES, PageRun, agrees, blocks, run_page, steps

CODE = {page: [block for block in blocks(page) if block.is_code] for page in PAGES}
LEAST_RUN = 0.6  # of all blocks
TEXT = """
<!-- not run: needs a server -->
```bash
trex find demo --model openai:MODEL
```

```python
# own.py
X = 2
```

```python
import own
print(own.X)
```

```text
2
```

```
$ echo one
one
$ echo two and more
two ...
```

```
a diagram
```
"""


def test_what_is_not_run_says_what_it_needs_or_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    left_out = [block for found in CODE.values() for block in found if block.reason]
    every = sum(map(len, CODE.values()))
    with capsys.disabled():
        print(
            f"\n{every} blocks, {len(left_out)} not run:", dict(Counter(block.reason for block in left_out))
        )
    assert [str(block) for block in left_out if not block.reason.startswith(("needs ", "takes "))] == []
    assert len(left_out) <= (1 - LEAST_RUN) * every


def test_no_block_that_runs_changes_the_machine() -> None:
    every = [block for found in CODE.values() for block in found if not block.reason]
    assert [str(block) for block in every if block.changes_machine] == []
    (block,) = blocks("page.md", "```bash\napt-get install -y make\n```\n")
    assert block.changes_machine


@pytest.mark.parametrize(
    "page", [page for page, found in CODE.items() if any(not block.reason for block in found)]
)
@pytest.mark.nightly
@pytest.mark.blender
@pytest.mark.process
@pytest.mark.timeout(7200)
def test_every_block_of_a_page_runs_and_prints_what_the_page_shows(
    page: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    done = run_page(page, tmp_path / "page", tmp_path_factory.getbasetemp() / "documents-cache")
    assert not done.problems, "\n\n".join(done.problems)
    assert done.ran == sum(not block.reason for block in CODE[page])


def test_blocks_are_read_with_their_files_reasons_and_outputs() -> None:
    server, file, python, shell, diagram = blocks("page.md", TEXT)
    assert server.reason == "needs a server"
    assert (file.file, python.output) == ("own.py", "2\n")
    assert list(steps(shell)) == [("echo one", "one\n"), ("echo two and more", "two ...\n")]
    assert [block.is_code for block in (server, file, python, shell, diagram)] == [
        True,
        True,
        True,
        True,
        False,
    ]


@pytest.mark.process
def test_a_block_that_fails_or_prints_something_else_is_noticed(tmp_path: Path) -> None:
    running = PageRun(tmp_path / "page", tmp_path / "cache")
    for block in blocks(
        "page.md", TEXT.replace("two ...", "three ...").replace("print(own.X)", "print(own.Y)")
    )[1:4]:
        running.run(block)
    running.close()
    failed, differs = running.problems
    assert "AttributeError" in failed
    assert "three ..." in differs


@pytest.mark.process
def test_the_blocks_of_a_page_share_files_and_names(tmp_path: Path) -> None:
    running = PageRun(tmp_path / "page", tmp_path / "cache")
    for block in blocks("page.md", TEXT)[1:4]:
        running.run(block)
    running.close()
    assert (running.problems, running.ran) == ([], 3)


def test_dots_stand_for_anything_and_nothing_else_does() -> None:
    assert agrees("a\n...\nz", "a  \nb\nc\nz\n")
    assert not agrees("a\n...\nz", "a\nb\ny")
    assert not agrees("1.5", "125")
