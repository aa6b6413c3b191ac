"""`parity` and `assets`: our pictures of CLEVR's scenes and with CLEVR's assets, beside the published ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reproduce.commands.progress import display_until_stopped
from trex.commands.shell.result import AsJson, print_result

Out = Annotated[Path, typer.Option(help="The folder to write the page of pairs and the table to.")]


def parity(
    dataset: Annotated[Path, typer.Argument(help="A folder in CLEVR's layout: images, scenes, questions.")],
    out: Out = Path("pictures"),
    preset: Annotated[
        list[str] | None, typer.Option(help="By default clevr, reference and fast. Repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Render official scenes again and ask models about both pictures; if stopped, the same command resumes."""
    from reproduce.parity.parity import PRESETS, write_parity_page
    from trex.render.presets import preset_named

    presets = tuple(preset or PRESETS)
    for name in presets:
        preset_named(name)  # InputError for an unknown one, before anything is read
    with display_until_stopped("every picture that was rendered is kept") as display:
        page = write_parity_page(dataset, out, presets=presets, progress=display.show)
    print_result({"page": str(page)}, f"page: {page}", as_json)


def assets(
    published: Annotated[
        Path, typer.Argument(help="The folder of CLEVR's published assets, with base_scene.blend.")
    ],
    out: Out = Path("pictures"),
    as_json: AsJson = False,
) -> None:
    """Render 12 scenes with our assets and with the published ones."""
    from reproduce.parity.assets import N_SCENES, PRESET, compare
    from trex.pages.display import Display

    with Display() as display:
        display.say(f"rendering {N_SCENES} scenes with both sets of assets at preset {PRESET}")
        compare(published, out)
    page = out / "index.html"
    print_result({"page": str(page)}, f"page: {page}", as_json)
