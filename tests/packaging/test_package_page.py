"""The metadata of the wheels: complete, valid, and a description whose links lead somewhere from a package page."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata

ROOT = Path(__file__).resolve().parents[2]
TARGET = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def description() -> Callable[[str, str, str], str]:
    """The function of setup.py."""
    found: Callable[[str, str, str], str] = runpy.run_path(str(ROOT / "setup.py"))["description"]
    return found


def targets(text: str) -> list[str]:
    """What the links and pictures outside code lead to."""
    return [one or other for one, other in TARGET.findall(FENCE.sub("", text))]


def metadata_of(wheel: Path) -> Metadata:
    """Raises if a field is not valid."""
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Metadata.from_email(archive.read(name), validate=True)


@pytest.mark.process
def test_both_wheels_have_valid_and_complete_metadata(wheel: Path, worlds: Path) -> None:
    for path in (wheel, worlds):
        found = metadata_of(path)
        assert found.summary and found.classifiers and found.project_urls and found.license_expression
        assert found.license_files == ["LICENSE"]
        assert found.description_content_type == "text/markdown"
        assert found.author == "The bayes-trex contributors"
        outside = [link for link in targets(found.description or "") if not re.match("https?://", link)]
        assert outside == []


def test_the_readme_has_links_that_a_package_page_could_not_follow() -> None:
    """The control of the test above."""
    assert any(
        not link.startswith("http") for link in targets((ROOT / "README.md").read_text(encoding="utf-8"))
    )


TEXT = """[a](docs/a.md) and [b](https://x.example/b) ![c](docs/c.png) [d `e`](#part)
[![f](docs/f.png)](docs/f.md) <img src="docs/g.png" width="3"> <a href="docs/h.md">h</a>
```
x[1](2)
```
"""
CODE = "```\nx[1](2)\n```\n"


def test_links_lead_to_the_tag_of_the_version_in_the_repository(
    description: Callable[[str, str, str], str],
) -> None:
    found = description(TEXT, "https://host.example/us/it", "1.2")
    page, file = "https://host.example/us/it/blob/v1.2", "https://host.example/us/it/raw/v1.2"
    assert targets(found) == [
        f"{page}/docs/a.md", "https://x.example/b", f"{file}/docs/c.png", f"{page}/README.md#part",
        f"{file}/docs/f.png", f"{page}/docs/f.md", f"{file}/docs/g.png", f"{page}/docs/h.md",
    ]  # fmt: skip
    assert found.endswith(CODE)


def test_without_a_known_repository_the_words_stay_and_links_and_pictures_go(
    description: Callable[[str, str, str], str],
) -> None:
    found = description(TEXT, "", "1.2")
    assert found == f"a and [b](https://x.example/b)  d `e`\n  h\n{CODE}"
