"""Workflows, issue forms, hooks and the devcontainer: they parse, and name only what exists here."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from tests.serving.documents import complaint
from trex.doctor.preflight import LIBRARIES, OF_BPY, dotted

ROOT = Path(__file__).resolve().parents[2]
YAML = [
    ".pre-commit-config.yaml",
    *(str(p.relative_to(ROOT)) for p in sorted((ROOT / ".github").rglob("*.yml"))),
]
WORKFLOWS = [name for name in YAML if "/workflows/" in name]
TARGETS = set(re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
CONTAINER = re.compile(r"docker run (?:--rm |-v \S+ )*trex ")


def loaded(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def steps(name: str) -> Iterator[dict[str, Any]]:
    for job in loaded(name)["jobs"].values():
        yield from job["steps"]


def lines(name: str) -> list[list[str]]:
    """The words of each command of a workflow, with a value of its matrix; `docker run trex` is `trex`."""
    scripts = [step["run"] for step in steps(name) if "run" in step]
    text = "\n".join(scripts).replace("${{ matrix.python }}", "3.13")
    return [shlex.split(CONTAINER.sub("trex ", line)) for line in text.splitlines() if line.strip()]


def unknown(words: list[str]) -> str:
    """Why a command of ours does not exist; "" if it does, or is not ours."""
    program, *rest = words
    if program == "make":
        goals = [word for word in rest if "=" not in word]
        return "" if goals and set(goals) <= TARGETS else f"no target {goals}"
    return complaint(rest) if program == "trex" else ""


@pytest.mark.parametrize("name", YAML)
def test_each_yaml_file_can_be_read(name: str) -> None:
    assert isinstance(loaded(name), dict)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_names_only_targets_and_commands_that_exist(name: str) -> None:
    assert [words for words in lines(name) if unknown(words)] == []
    assert set(loaded(name)) == {"name", True, "permissions", "jobs"} | (set(loaded(name)) & {"concurrency"})


@pytest.mark.parametrize(
    "line", ["make tst", "make TORCH=cpu", "trex fnd demo", "trex find demo --steps 3", "trex queue ad x"]
)
def test_a_command_that_does_not_exist_is_noticed(line: str) -> None:
    assert unknown(shlex.split(line))


def test_the_workflows_use_commands_of_ours() -> None:
    words = [line[:2] for name in WORKFLOWS for line in lines(name)]
    for command in (
        ["make", "test"],
        ["make", "docs"],
        ["trex", "doctor"],
        ["trex", "find"],
        ["docker", "build"],
    ):
        assert command in words


def test_the_workflows_test_every_python_that_brings_blender_with_its_libraries() -> None:
    for name in WORKFLOWS:
        text = (ROOT / name).read_text(encoding="utf-8")
        for job in loaded(name)["jobs"].values():
            if "strategy" in job:
                assert set(job["strategy"]["matrix"]["python"]) == {dotted(version) for version in OF_BPY}
        if "System libraries" in text:
            assert set(re.findall(r"\blib[a-z0-9]+\d\b", text)) == set(LIBRARIES.values())


def test_the_workflows_may_only_read() -> None:
    assert all(loaded(name)["permissions"] == {"contents": "read"} for name in WORKFLOWS)


def test_issue_forms_have_what_forms_need() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = loaded(str(path.relative_to(ROOT)))
        if path.name != "config.yml":
            assert {"name", "description", "body"} <= set(form)
            assert all({"type", "id", "attributes"} <= set(field) for field in form["body"])
            assert all(field["attributes"]["label"] for field in form["body"])


def test_the_hooks_are_checks_of_make_in_its_environment() -> None:
    (local,) = loaded(".pre-commit-config.yaml")["repos"]
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    dev = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]["dev"]
    assert local["repo"] == "local" and len(local["hooks"]) == 4
    for hook in local["hooks"]:
        program, *words = hook["entry"].split()
        command = " ".join([program.removeprefix(".venv/bin/"), *(w for w in words if not w.startswith("-"))])
        assert f"$(BIN)/{command}" in made, hook["entry"]
    assert {"ruff", "mypy", "import-linter"} <= {Requirement(line).name for line in dev}


def test_the_devcontainer_is_a_stage_of_the_dockerfile_and_makes_a_target() -> None:
    found = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    docker = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(rf"^FROM \w+ AS {found['build']['target']}$", docker, re.MULTILINE)
    assert re.search(rf"useradd .*\b{found['remoteUser']}$", docker, re.MULTILINE)
    assert unknown(shlex.split(found["postCreateCommand"])) == ""


def test_dependabot_looks_where_something_is_named() -> None:
    ecosystems = {
        update["package-ecosystem"]: update["directory"]
        for update in loaded(".github/dependabot.yml")["updates"]
    }
    assert ecosystems == {"pip": "/", "github-actions": "/", "docker": "/"}
