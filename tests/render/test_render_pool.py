"""What the pool does when a process dies, hangs or talks nonsense; the process is a scripted stand-in."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.worlds.render_worlds import crowd
from trex.foundation.errors import InputError, RenderError
from trex.pages.display import Display
from trex.render.blender import process
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.blender.pool import Task, is_only_slow
from trex.render.blender.process import SETTLED_AFTER, Worker
from trex.render.blender.settings import TEMPORARY
from trex.render.cache import CachedRenderer
from trex.render.picture import Picture
from trex.scenes.scene import Scene, scene_id

Plan = Callable[[str], None]
SCENES = [crowd(count) for count in range(1, 7)]  # the stand-in draws the number of objects as a gray level


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    path = tmp_path / "plan"
    path.write_text("")
    monkeypatch.setattr(process, "CHILD", "tests.render.scripted_child")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    monkeypatch.setenv("TREX_TEST_PLAN", str(path))

    def write(words: str) -> None:
        path.write_text(words)

    return write


def renderer(processes: int = 1, timeout_s: float = 60.0) -> BlenderRenderer:
    return BlenderRenderer("draft", "cpu", processes=processes, timeout_s=timeout_s)


def check(scenes: list[Scene], pictures: list[Picture]) -> None:
    assert [p.scene for p in pictures] == [scene_id(s) for s in scenes]
    assert [int(p.pixels[0, 0, 0]) for p in pictures] == [len(s.objects) for s in scenes]


@pytest.mark.process
@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.parametrize(
    "word", ["well", "killed", "segfault", "garbage", "half", "failed", "stale", "small"]
)
def test_whatever_goes_wrong_once_every_picture_is_right(plan: Plan, word: str, processes: int) -> None:
    plan(f"well {word} well {word} well")
    with renderer(processes) as blender:
        results = blender.render_timed(SCENES)
    check(SCENES, [picture for picture, _ in results])
    attempts = sum(stats.attempts for _, stats in results)
    assert attempts == len(SCENES) + (0 if word == "well" else 2)


@pytest.mark.process
def test_a_hang_is_ended_and_the_scene_repeated(plan: Plan) -> None:
    plan("well hang")
    with renderer(timeout_s=1.0) as blender:
        results = blender.render_timed(SCENES)
    check(SCENES, [picture for picture, _ in results])
    assert [stats.attempts for _, stats in results] == [1, 2, 1, 1, 1, 1]


def test_a_render_that_is_only_slow_is_waited_for_one_that_spins_is_not() -> None:
    task = Task(0, SCENES[0], [], patience_s=60.0)
    clock = iter([10.0, 40.0, 40.5, 70.0])
    worker = cast(Worker, SimpleNamespace(cpu_s=lambda: next(clock)))
    assert is_only_slow(worker, task) and is_only_slow(worker, task)
    assert not is_only_slow(worker, task)  # half a second in a minute
    assert not is_only_slow(worker, task)  # 70 s of CPU time and no picture


@pytest.mark.process
def test_a_scene_that_never_works_is_named_with_what_was_tried(plan: Plan) -> None:
    plan("well segfault garbage killed")
    with renderer() as blender, pytest.raises(RenderError) as caught:
        blender.render(SCENES)
    message = str(caught.value)
    assert scene_id(SCENES[1]) in message and "3 attempts" in message
    assert "SIGSEGV" in message and "segfault in libfoo" in message and "SIGKILL" in message
    assert "Fra:1" not in message and "no frame begins" in message


@pytest.mark.process
def test_a_full_graphics_card_is_said_to_need_fewer_processes(plan: Plan) -> None:
    """Planted bug: 48 processes filled a card, and the advice was to raise timeout_s."""
    plan("full full full")
    with renderer() as blender, pytest.raises(RenderError, match=r"use fewer Blender processes") as caught:
        blender.render(SCENES[:1])
    assert "timeout_s" not in str(caught.value)


@pytest.mark.process
def test_after_an_error_the_next_render_works(plan: Plan) -> None:
    plan("killed killed killed")
    with renderer(3) as blender:
        with pytest.raises(RenderError):
            blender.render(SCENES[:1])
        check(SCENES, blender.render(SCENES))


@pytest.mark.process
def test_an_interrupt_leaves_no_answer_behind(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    plan("")
    with renderer(2) as blender:
        check(SCENES, blender.render(SCENES))
        with monkeypatch.context() as patch:
            patch.setattr(Worker, "take", interrupt)
            with pytest.raises(KeyboardInterrupt):
                blender.render(SCENES)
        check(SCENES[::-1], blender.render(SCENES[::-1]))


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.process
def test_a_process_that_grows_is_replaced_and_nothing_is_repeated(plan: Plan) -> None:
    plan("well fat")
    with renderer() as blender:
        first = blender.render(SCENES[:1])
        (pid,) = blender.process_ids()
        results = blender.render_timed(SCENES[1:])
        assert blender.process_ids() != [pid]
    check(SCENES, first + [picture for picture, _ in results])
    assert {stats.attempts for _, stats in results} == {1}


@pytest.mark.process
def test_a_process_that_has_grown_by_half_is_replaced_between_renders_and_no_picture_changes(
    plan: Plan,
) -> None:
    scenes = [SCENES[place % len(SCENES)] for place in range(SETTLED_AFTER)]
    with renderer() as blender:
        unbroken = blender.render([*scenes, *SCENES])
    plan("well " * SETTLED_AFTER + "plump grown")
    with renderer() as blender:
        first = blender.render([*scenes, *SCENES[:1]])
        (pid,) = blender.process_ids()  # two fifths more are not too much
        results = blender.render_timed(SCENES[1:])
        assert blender.process_ids() not in ([pid], [])
    pictures = first + [picture for picture, _ in results]
    assert [p.pixels.tobytes() for p in pictures] == [p.pixels.tobytes() for p in unbroken]
    assert {stats.attempts for _, stats in results} == {1}  # nothing was rendered twice


@pytest.mark.process
def test_a_process_may_grow_while_it_settles(plan: Plan) -> None:
    plan("well grown well grown")
    with renderer() as blender:
        blender.render(SCENES[:1])
        before = blender.process_ids()
        check(SCENES, blender.render(SCENES))
        assert blender.process_ids() == before


PROGRAM = """
import sys
from trex.render.blender import process
from trex.render.blender.blender_renderer import BlenderRenderer
from tests.worlds.render_worlds import crowd
process.CHILD = "tests.render.scripted_child"
blender = BlenderRenderer("draft", "cpu")
blender.render([crowd(1)])
print(*blender.process_ids(), flush=True)
sys.stdin.read()
"""


@pytest.mark.process
def test_what_a_double_kill_leaves_goes_at_the_next_start_and_what_is_in_use_stays(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (killed, its_blender), (living, _) = started(tmp_path), started(tmp_path)
    folders = set(tmp_path.glob(f"{TEMPORARY}*"))
    watch = os.pidfd_open(its_blender)  # readable once the process has ended
    os.kill(its_blender, signal.SIGSTOP)  # neither cleans up
    killed.kill()
    killed.communicate()
    os.kill(its_blender, signal.SIGKILL)
    assert select.select([watch], [], [], 60.0)[0]
    os.close(watch)
    assert set(tmp_path.glob(f"{TEMPORARY}*")) == folders and len(folders) == 2
    with renderer() as blender:
        check(SCENES, blender.render(SCENES))
        assert len(folders & set(tmp_path.glob(f"{TEMPORARY}*"))) == 1
    assert living.communicate("")[0] == "" and living.returncode == 0
    assert not list(tmp_path.glob(f"{TEMPORARY}*"))


def started(tmp_path: Path) -> tuple[subprocess.Popen[str], int]:
    """A program that has rendered, and the id of its stand-in for Blender; both end when its input does."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=Path(__file__).resolve().parents[2],
        env=os.environ | {"TMPDIR": str(tmp_path)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdout is not None
    return program, int(program.stdout.readline())


@pytest.mark.process
def test_a_start_that_fails_is_tried_three_times_and_told(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREX_TEST_START", "die")
    with (
        renderer() as blender,
        pytest.raises(RenderError, match=r"cannot start Blender.*exit code 3.*no libegl here"),
    ):
        blender.render(SCENES)


@pytest.mark.process
def test_refused_settings_are_the_user_s_error(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREX_TEST_START", "refuse")
    with renderer() as blender, pytest.raises(InputError, match="does not exist on this machine"):
        blender.render(SCENES)


@pytest.mark.process
def test_no_more_processes_than_scenes_and_none_after_close(plan: Plan) -> None:
    blender = renderer(3)
    assert blender.process_ids() == []  # nothing is started before it is needed
    blender.render(SCENES[:2])
    pids = blender.process_ids()
    assert len(pids) == 2
    blender.close()
    assert blender.process_ids() == []
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.process
def test_descriptors_and_folders_are_given_back(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for words in ("", "killed", "garbage half"):
        plan(words)
        with renderer(2) as blender:
            blender.render(SCENES)
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.process
def test_auto_is_decided_once(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a process that replaced one on the GPU took the CPU, and its pictures were kept as the GPU's."""
    devices = tmp_path / "devices"
    devices.write_text("optix cpu cpu cpu")
    monkeypatch.setenv("TREX_TEST_DEVICES", str(devices))
    plan("well killed")
    with BlenderRenderer("draft", "auto", timeout_s=60.0) as blender:
        key = blender.key
        assert "device=optix" in key
        cache = CachedRenderer(blender, tmp_path / "cache")
        with pytest.raises(InputError, match="'optix' does not exist"):
            cache.render(SCENES[:2])
    devices.write_text("optix cpu")
    with BlenderRenderer("draft", "auto", processes=2, timeout_s=60.0) as blender:
        assert blender.device == "optix"
        with pytest.raises(InputError, match="'optix' does not exist"):
            blender.render(SCENES)


@pytest.mark.process
def test_pictures_denoised_on_a_card_have_a_key_of_their_own(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a card and a CPU denoise to other bytes, which were kept under one key."""
    plan("")
    keys = {}
    for denoiser in ("cuda", "cpu"):
        for name, word in (("DEVICES", "cuda"), ("DENOISERS", denoiser)):
            words = tmp_path / name
            words.write_text(word)
            monkeypatch.setenv(f"TREX_TEST_{name}", str(words))
        with BlenderRenderer("draft", "cuda", timeout_s=60.0) as blender:
            keys[denoiser] = blender.key
    assert keys["cuda"] == keys["cpu"] + " denoiser=cuda" and keys["cpu"].endswith("device=cuda")
    monkeypatch.delenv("TREX_TEST_DEVICES")
    with BlenderRenderer("draft", "cpu", timeout_s=60.0) as blender:
        assert blender.key.endswith("device=cpu")


@pytest.mark.process
def test_a_process_that_denoises_elsewhere_is_refused(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a process that replaced another one denoised on the CPU, as Cycles does in silence."""
    denoisers = tmp_path / "denoisers"
    denoisers.write_text("cuda cpu cpu cpu cpu")
    monkeypatch.setenv("TREX_TEST_DENOISERS", str(denoisers))
    plan("well killed")
    with (
        BlenderRenderer("draft", "cpu", timeout_s=60.0) as blender,
        pytest.raises(RenderError, match="denoises on cpu, another one on cuda"),
    ):
        blender.render(SCENES[:2])


@pytest.mark.process
def test_a_start_that_the_system_refuses_leaves_nothing_behind(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: processes were known to the pool only once all of a batch had begun."""
    launch, begun = Worker._launch, []

    def second_fails(worker: Worker, request_read: int, answer_write: int) -> subprocess.Popen[bytes]:
        if begun:
            raise OSError(errno.EMFILE, "Too many open files")
        begun.append(launch(worker, request_read, answer_write))
        return begun[0]

    monkeypatch.setattr(Worker, "_launch", second_fails)
    before = len(os.listdir("/proc/self/fd"))
    blender = renderer(3)
    with pytest.raises(RenderError, match="cannot start Blender: Too many open files"):
        blender.render(SCENES)
    assert begun[0].poll() is not None and blender.process_ids() == []
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.process
def test_a_user_is_told_of_every_process_that_renders(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    """Device "auto" starts one process to learn the device, and a second one starts once there is work for two."""
    with Display(), BlenderRenderer("draft", "auto", processes=2, timeout_s=60.0) as blender:
        assert blender.device
        check(SCENES, blender.render(SCENES))
        assert len(blender.process_ids()) == 2
    texts = [line for line in capsys.readouterr().err.splitlines() if line.startswith("starting")]
    assert texts == ["starting Blender (1 process)", "starting Blender (2 processes)"]
