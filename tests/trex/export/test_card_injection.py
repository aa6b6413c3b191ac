"""The card of a data set shows the words of a model, a label and a query as text, whatever they contain."""

from __future__ import annotations

import html
import shutil
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.running.command_line import trex_done
from tests.running.runs import QUERY, change_manifest, run
from trex.foundation.words import code_block, code_span, markdown_text

EVIL = {
    "a tag": "m<script src=x>alert(1)",
    "a picture": "![x](http://evil.example/p.png)",
    "a link": "[sign in](http://evil.example)",
    "an address": "<http://evil.example> http://evil.example www.evil.example",
    "a picture in HTML": '<img src=x onerror="alert(1)">',
    "a comment": "<!-- everything after it is hidden",
    "an entity": "&lt;b&gt;",
    "code": "`` ` `` ```",
    "a table": "a | b",
    "emphasis": "**sure** _of_ ~~it~~ \\*",
}
FENCED = "```\n<script>alert(1)</script>\n[x](http://evil.example)\n````"


def rendered(card: str) -> str:
    """The card's HTML, below its YAML, as GitHub and the Hub make it: tables, struck text, HTML let through."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(card.split("---\n", 2)[-1])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("made"), ["search.steps=4"]).folder


@pytest.mark.parametrize("kind", EVIL)
def test_a_model_and_a_query_of_somebody_else(kind: str, made: Path, tmp_path: Path) -> None:
    place = shutil.copytree(made, tmp_path / "run")

    def change(manifest: dict[str, Any]) -> None:
        manifest["facts"]["model"] = EVIL[kind]
        manifest["overrides"] = [f"model.name={EVIL[kind]}"]

    change_manifest(place, change)
    quoted = "\n".join(f"# {line}" for line in f"{EVIL[kind]}\n{FENCED}".split("\n"))
    (place / "query.toml").write_text(f'{quoted}\n{QUERY}x = """\n{FENCED}\n"""\n')
    trex_done("export", place, "--format", "hf", "--out", tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    page = rendered(card)
    for tag in ("<script", "<img", "<a ", "<!--", "<strong", "<em>", "<s>"):
        assert tag not in page, page
    title = page.split("<h1>")[1].split("</h1>")[0]
    assert html.unescape(title).startswith(EVIL[kind])
    assert page.count("<table>") == 1 and "columns" in page  # what comes after the query is no part of it
    assert "&lt;script&gt;alert(1)" in page  # the query is shown, as text


@pytest.mark.parametrize("kind", EVIL)
def test_texts_spans_and_blocks_show_what_they_are_given(kind: str) -> None:
    text = EVIL[kind]
    assert html.unescape(rendered(markdown_text(text))) == f"<p>{text}</p>\n"
    assert html.unescape(rendered(code_span(text))) == f"<p><code>{text}</code></p>\n"
    block = "\n".join(code_block(FENCED, "toml"))
    assert html.unescape(rendered(block)) == f'<pre><code class="language-toml">{FENCED}\n</code></pre>\n'
