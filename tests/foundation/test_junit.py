"""JUnit XML: read back by a parser, checked element by element against Jenkins' schema, hostile text included."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.running.junit_files import check_valid
from trex.foundation import junit
from trex.foundation.errors import InputError
from trex.foundation.junit import Case, CaseStatus, check_junit, junit_xml, write_junit

HOSTILE = "a<b>&\"'\x00\x1b[31m\ud800]]>\n\ufffe é 😀"


def check_schema(data: bytes) -> ElementTree.Element:
    """What junit-10.xsd demands of the elements that we write; gives the one test suite."""
    root = ElementTree.fromstring(data)
    assert root.tag == "testsuites" and not root.attrib
    (suite,) = root
    assert suite.tag == "testsuite" and set(suite.attrib) == {
        "name",
        "tests",
        "failures",
        "errors",
        "skipped",
    }
    for case in suite:
        assert case.tag == "testcase" and set(case.attrib) == {"name", "classname"}
        assert len(case) <= 1
        for reason in case:
            assert set(reason.attrib) == ({"message"} if reason.tag == "skipped" else {"message", "type"})
    kinds = [reason.tag for case in suite for reason in case]
    assert int(suite.attrib["tests"]) == len(suite)
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.attrib[key]) == kinds.count(tag)
    return suite


def test_each_status_has_its_element() -> None:
    suite = check_schema(junit_xml("s", [Case(status.name, "g", status, "why") for status in CaseStatus]))
    assert [[reason.tag for reason in case] for case in suite] == [[], ["failure"], ["error"], ["skipped"]]
    assert suite[1][0].attrib == {"message": "why", "type": "failed"} and suite[1][0].text == "why"


def test_a_validator_accepts_every_status_and_hostile_text() -> None:
    cases = [Case(text, text, status, text) for status in CaseStatus for text in ("why", HOSTILE)]
    check_valid(junit_xml(HOSTILE, cases))
    check_valid(junit_xml("no case", []))


PLANTED = {
    "an outcome of another name": ("<failure", "<broken"),
    "an attribute of another name": ('classname="', 'class="'),
    "a case without a name": ('<testcase name="c"', "<testcase"),
    "a suite without its count of failures": (' failures="1"', ""),
    "a count that is none": ('tests="4"', 'tests="four"'),
    "another root": ("testsuites>", "results>"),
    "a case outside a suite": ("testsuites>", "testcase>"),
    "two outcomes": ("<failure", '<error message="m" /><failure'),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_validator_refuses_a_planted_fault(planted: str) -> None:
    pytest.importorskip("xmlschema", reason="xmlschema is not installed (extra `dev`)")
    right, wrong = PLANTED[planted]
    text = junit_xml("s", [Case("c", "g", status, "why") for status in CaseStatus]).decode()
    assert right in text
    broken = text.replace(right, wrong).replace(
        "</failure>", "</broken>" if wrong == "<broken" else "</failure>"
    )
    with pytest.raises(AssertionError):
        check_valid(broken.encode())


def test_text_that_xml_cannot_hold_is_escaped() -> None:
    suite = check_schema(junit_xml(HOSTILE, [Case(HOSTILE, HOSTILE, CaseStatus.FAILED, HOSTILE)]))
    for text in (suite.attrib["name"], suite[0].attrib["name"], suite[0][0].text or ""):
        assert "a<b>&\"'\\x00\\x1b[31m\\ud800]]>" in text and "\\ufffe é 😀" in text


@given(text=st.text(), kind=st.sampled_from(CaseStatus))
def test_any_text_gives_a_document_that_parses(text: str, kind: CaseStatus) -> None:
    check_schema(junit_xml(text, [Case(text, text, kind, text)]))


def test_a_writer_that_escapes_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "ILLEGAL", junit.re.compile("(?!)"))
    with pytest.raises((ElementTree.ParseError, UnicodeEncodeError)):
        check_schema(junit_xml(HOSTILE, []))


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j.xml"
    write_junit(path, "old", [])
    before = path.read_bytes()

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_junit(path, "new", [])
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", [".", "no/such/j.xml"])
def test_a_path_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="--junit"):
        check_junit(tmp_path / name)
