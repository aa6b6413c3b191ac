"""What follows a search: hits traced and explained, pictures of nearest misses, and found scenes once more, large."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.running.command_line import trex
from tests.running.looks import add_looks
from tests.running.runs import QUERY, draws, run, write_query
from trex.finding import examine
from trex.finding.conclude import conclude_run
from trex.finding.examine import MAX_LARGE, render_large
from trex.foundation.errors import RunError
from trex.pages.display import Display
from trex.runs.draw_log import read_draws
from trex.runs.folder import RunFolder, open_run
from trex.runs.manifest import Manifest
from trex.trials.confirmation import read_confirmation
from trex.trials.hits import MISSES, has_misses, read_misses


def call(*words: object) -> str:
    done = trex(*words)
    assert done.exit_code == 0, done.output
    return done.output


def rewritten(path: Path) -> str:
    with open_run(path, for_writing=True) as folder:
        return conclude_run(folder, read_draws(folder.draws)).report.read_text(encoding="utf-8")


def test_a_run_that_found_nothing_shows_the_pictures_of_its_nearest_misses(tmp_path: Path) -> None:
    place = tmp_path / "run"
    call("find", write_query(tmp_path), "--set", "answer=5", "--out", place)
    html = (place / "report.html").read_text(encoding="utf-8")
    below = html[html.index("Nearest misses") :]
    assert below.count(">miss</span>") == below.count('class="scene miss"') == 6
    assert below.count('<img src="data:') == 6  # of prior draws too, whose pictures the search does not keep
    assert "picture not kept" not in below
    with open_run(place, for_writing=False) as folder:
        nearest = conclude_run(folder, read_draws(folder.draws)).results.nearest
    confidences = [hit.confidence for hit in nearest]
    assert confidences == sorted(confidences, reverse=True)
    assert confidences[0] == max(
        folder.manifest.target.confidence(np.array(record.log_probs))
        for record in read_draws(folder.draws)
        if record.is_rendered
    )


def test_the_pictures_of_misses_change_no_draw_and_need_no_renderer_again(tmp_path: Path) -> None:
    done = run(tmp_path, ["answer=5"])
    before = draws(done.folder)
    call("resume", done.folder)
    assert draws(done.folder) == before
    html = rewritten(done.folder)  # as trex report: from the folder alone
    assert html[html.index("Nearest misses") :].count('<img src="data:') == 6
    with open_run(done.folder, for_writing=False) as folder:
        assert has_misses(folder, done.results.nearest)


def test_a_damaged_list_of_misses_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, ["answer=5"])
    call("resume", done.folder)
    path = done.folder / MISSES
    data = json.loads(path.read_text())
    data["pictures"][0]["picture"] = "../../secret"
    path.write_text(json.dumps(data))
    with (
        open_run(done.folder, for_writing=False) as folder,
        pytest.raises(RunError, match=r"misses\.json is d"),
    ):
        read_misses(folder)


def test_a_run_without_misses_says_nothing_of_them(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.results.found and done.results.nearest == ()
    call("resume", done.folder)
    assert not (done.folder / MISSES).exists()
    assert "Nearest misses" not in done.report.read_text(encoding="utf-8")


def test_a_larger_look_is_on_the_page_once_with_what_the_model_says_there(tmp_path: Path) -> None:
    done = run(tmp_path, ["search.steps=40"])
    look = add_looks(done.folder, 2)
    html = rewritten(done.folder)
    for scene in look.scenes:
        assert html.count(f'<img id="look-{scene.after.picture}"') == 1
        assert f'data-large-id="look-{scene.after.picture}"' in html
    assert html.count("The same scene at preset reference, 480×320.") == 2
    assert html.count("As the model saw it, 120×80 pixels, scaled up.") == len(done.results.found) - 2


def test_no_renderer_starts_for_large_pictures_that_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: to resume a finished run started Blender once for the search and once for its pictures."""
    done = run(tmp_path, ["search.steps=40"])
    count = min(MAX_LARGE, len(done.results.found))
    started: list[RunFolder] = []
    monkeypatch.setattr(examine, "may_be_larger", lambda _: True)
    monkeypatch.setattr(examine, "confirm_open", lambda folders, *_: started.extend(folders))
    add_looks(done.folder, count - 1)
    with open_run(done.folder, for_writing=False) as folder:
        assert render_large(folder, MAX_LARGE, Display().show) and started
        started.clear()
        add_looks(done.folder, count)
        assert not render_large(folder, MAX_LARGE, Display().show) and not started


def test_a_search_with_its_pictures_opens_its_folder_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the search, its large pictures, the page and what was printed opened it five times."""
    opened: list[Path] = []
    init = RunFolder.__init__

    def counted(self: RunFolder, path: Path, manifest: Manifest, lock: int | None) -> None:
        opened.append(path)
        init(self, path, manifest, lock)

    monkeypatch.setattr(RunFolder, "__init__", counted)
    monkeypatch.setattr(examine, "may_be_larger", lambda _: True)
    monkeypatch.setattr(examine, "confirm_open", lambda *_: None)
    call("find", write_query(tmp_path), "--set", "search.steps=40", "--out", tmp_path / "run")
    assert opened == [tmp_path / "run"]


def test_a_search_says_how_many_of_its_scenes_stay_at_the_large_look(tmp_path: Path) -> None:
    done = run(tmp_path, ["search.steps=40"])
    look = add_looks(done.folder, 3)
    stays = sum(scene.after.is_hit for scene in look.scenes)
    text = call("resume", done.folder)
    assert f"Stays in {stays} of 3 pictures at reference quality.\n" in text


def test_a_search_says_how_far_its_finding_holds_unless_it_is_told_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examine, "_is_rendered", lambda _: True)
    monkeypatch.setattr(examine, "render_large", lambda *_: False)
    query = write_query(tmp_path)
    words = ("find", query, "--set", "search.steps=40", "--out", tmp_path / "run")
    text = call(*words, "--no-explain")
    assert "Stays in" not in text and not (tmp_path / "run" / "holds.json").exists()
    text = call(*words)  # the same search, resumed
    assert "with new render noise" in text and "from other viewpoints" in text
    assert "with new render noise" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.blender
def test_a_found_scene_is_rendered_once_more_large_when_the_search_is_over(tmp_path: Path) -> None:
    words = QUERY.replace('preset = "fake"', 'preset = "draft"\nprocesses = 1').replace(
        'answer = "2"', 'answer = "0"'
    )
    query = write_query(tmp_path, words)
    place = tmp_path / "run"
    settings = ("stop_when_found=1", "prior_scenes=1", "chains=1", "steps=0", "bank=0")
    texts = [word for setting in settings for word in ("--set", f"search.{setting}")]
    call("find", query, *texts, "--out", place, "--no-large")
    assert not (place / "confirmations").exists()
    before = draws(place)
    text = call("resume", place)
    assert draws(place) == before
    with open_run(place, for_writing=False) as folder:
        found = conclude_run(folder, read_draws(folder.draws)).results.found
        look = read_confirmation(folder, "reference")
        assert look is not None and look.size == (480, 320)
        assert [scene.before.picture for scene in look.scenes] == [hit.record.picture for hit in found[:8]]
        with Image.open(folder.picture_path(look.scenes[0].after.picture)) as image:
            assert image.size == (480, 320)
    assert "--no-large skips this" in text
    assert "--no-large" not in call("resume", place)  # they are there: nothing is rendered again
