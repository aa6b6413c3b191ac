"""The documents as a site: it builds without a warning, and no page is wider than a phone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.documents.site import CODE, FORMULA, markdown_of, with_breaks
from tests.serving.browser import chromium, open_page
from tests.serving.documents import ROOT

PHONE = 390
WIDER = """
const most = document.documentElement.clientWidth + 1;
const scrolls = 'pre, .highlight, .output, math, p:has(> img)';
return [...document.querySelectorAll('article *')]
  .filter(each => each.getBoundingClientRect().right > most && !each.closest(scrolls))
  .map(each => each.tagName + ' ' + each.textContent.slice(0, 60))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    pytest.importorskip("material", reason="needs the extra docs")
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(out)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return out


@pytest.mark.nightly
@pytest.mark.process
def test_no_page_is_wider_than_a_phone(site: Path) -> None:
    size = {"width": PHONE, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    pages = sorted(site.rglob("index.html"))
    with chromium() as browser:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wide = {}
        for path in pages:
            open_page(browser, path.as_uri())
            if found := browser.execute_script(WIDER):
                wide[path.relative_to(site).as_posix()] = found
    assert len(pages) > 20
    assert wide == {}


@pytest.mark.nightly
@pytest.mark.process
def test_the_site_has_the_notebook_formulas_and_a_way_on(site: Path) -> None:
    tutorial = (site / "start" / "tutorial" / "index.html").read_text(encoding="utf-8")
    assert "data:image/jpeg;base64," in tutorial
    assert "Test a model of your own" in tutorial
    statistics = (site / "concepts" / "statistics" / "index.html").read_text(encoding="utf-8")
    assert statistics.count("<math") > 20
    assert "formula-" not in statistics
    assert "md-footer__link--next" in statistics


def test_a_notebook_becomes_markdown_with_what_its_cells_show() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A title"]},
        {
            "cell_type": "code",
            "source": ["print(1)"],
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "stream", "name": "stderr", "text": ["progress"]},
                {
                    "output_type": "execute_result",
                    "data": {"text/html": ["<b>\n\nbold</b>"], "text/plain": ["x"]},
                },
                {"output_type": "execute_result", "data": {"text/plain": ["<Run>"]}},
                {"output_type": "execute_result", "data": {"image/jpeg": "QUJD\n", "text/plain": "x"}},
            ],
        },
    ]
    assert markdown_of({"cells": json.loads(json.dumps(cells))}) == (
        "# A title\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n"
        '<div class="output"><b> bold</b></div>\n\n<pre class="output">&lt;Run&gt;</pre>\n\n'
        '<p class="output"><img alt="The picture that the cell shows" src="data:image/jpeg;base64,QUJD"></p>'
    )


def test_formulas_are_found_outside_of_code_and_prices_are_none() -> None:
    text = "a $x_1$ and $$y$$, `$HOME` and $5 or $6\n```\n$z$\n```\n"
    prose = "".join(part for place, part in enumerate(CODE.split(text)) if not place % 2)
    assert [match[1] or match[2] for match in FORMULA.finditer(prose)] == ["x_1", "y"]


def test_headings_of_dotted_names_break_after_a_dot_and_other_text_is_left() -> None:
    heading = '<span class="doc doc-object-name doc-class-name">{}</span> a.b'
    assert with_breaks(heading.format("trex.find")) == heading.format("trex.<wbr>find")
