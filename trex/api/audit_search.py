"""Runs the searches of an audit."""

from __future__ import annotations

from pathlib import Path

from trex.api.find import find
from trex.auditing.reporting.searches import Searched, SearchFor
from trex.pages.display import Display
from trex.search.progress import SearchProgress


def audit_search(display: Display) -> SearchFor:
    """Runs or resumes a search, and shows its progress there."""

    def search(query: Path, out: Path) -> Searched:
        done = find(query, (), out, SearchProgress(display, f"search {out.name}"), lambda folder: None)
        results = done.results
        return Searched(results.ending, len(results.found), results.how_often.rate.figure)

    return search
