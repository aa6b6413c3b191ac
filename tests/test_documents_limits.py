"""How long the documents are: words and pictures of a page, and the share of long sentences."""

from __future__ import annotations

import pytest

from benchmarks.documents.measure import LONG, Page, blocks, length, pages, sentences
from tests.serving.documents import ROOT

COUNTED = [page for page in pages(ROOT) if not page.name.startswith("docs/reference/python/")]
MOST_WORDS = 25_000
LONG_SHARE = 0.10
TEXT = """# A heading

One is [short](a.md). Two, e.g. this one, is `x. Y` too! Version 1.5 counts.

- **Lead.** It is an item
  of two lines.

| a | table |

```
code
```
"""
FEW = 20  # sentences; a page with fewer may have two long ones all the same


def of(folder: str) -> list[Page]:
    """The pages of a folder of docs/."""
    return [page for page in COUNTED if page.name.startswith(f"docs/{folder}/")]


def test_the_documents_are_short_enough_to_read() -> None:
    assert sum(page.words for page in COUNTED) <= MOST_WORDS


def test_the_readme_is_read_in_five_minutes_and_shows_pictures() -> None:
    (readme,) = (page for page in COUNTED if page.name == "README.md")
    assert 600 <= readme.words <= 900
    assert readme.pictures >= 1


@pytest.mark.parametrize("page", of("how-to"), ids=lambda page: page.name)
def test_a_how_to_has_300_to_800_words_with_its_code_and_a_picture(page: Page) -> None:
    assert page.read >= 300 and page.words <= 800
    assert page.pictures >= 1


@pytest.mark.parametrize("page", of("concepts"), ids=lambda page: page.name)
def test_a_concept_has_a_figure_and_at_most_2000_words(page: Page) -> None:
    assert page.words <= 2_000
    assert page.pictures >= 1


@pytest.mark.parametrize("page", COUNTED, ids=lambda page: page.name)
def test_few_sentences_of_a_page_are_long(page: Page) -> None:
    assert page.long <= max(LONG_SHARE * page.sentences, LONG_SHARE * FEW)


def test_few_sentences_of_all_are_long() -> None:
    assert sum(page.long for page in COUNTED) < LONG_SHARE * sum(page.sentences for page in COUNTED)


def test_sentences_end_where_readers_end_them() -> None:
    assert list(sentences(TEXT)) == [
        "One is short",
        "Two, e.g. this one, is `x_ Y` too",
        "Version 1.5 counts.",
        "It is an item of two lines.",
    ]
    assert len(list(blocks(TEXT))) == 2


def test_a_long_sentence_is_noticed() -> None:
    assert length(" ".join(["word"] * LONG + ["–", "more."])) == LONG + 1
