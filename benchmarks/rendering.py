"""What a picture costs to render and to score, and how much of its quality a cheap one keeps."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence

import numpy as np
import torch

from benchmarks.figure import note, show
from trex.clevr_models.catalog import load_model
from trex.clevr_models.iep.checkpoint import build
from trex.clevr_models.iep.model import Bound, answer_order
from trex.clevr_models.iep.resnet_features import ResNet
from trex.clevr_models.iep.sizes import EngineSizes
from trex.clevr_models.iep.vocabulary import IepVocabulary, calls_of
from trex.clevr_models.interface.question import Question
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.picture import Picture
from trex.render.presets import PRESETS, PUBLISHED, Preset
from trex.render.similarity import mean_ssim, shrink
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.english import parse
from trex.scenes.scene import Scene

QUESTIONS = (
    "How many cubes are there?",
    "How many spheres are there?",
    "How many cylinders are there?",
    "How many metal things are there?",
    "Are there any small blue things?",
)
# "Does the small sphere have the same color as the cube left of the gray cube?"
PROGRAM = (
    "equal_color query_color unique filter_shape[sphere] filter_size[small] scene query_color unique "
    "filter_shape[cube] relate[left] unique filter_shape[cube] filter_color[gray] scene"
)
BATCHES = {1: 8, 32: 1}  # pictures at a time, and how many times


def prior_scenes(n: int, seed: int = 2026) -> list[Scene]:
    """Scenes of 3 to 10 objects."""
    rng = np.random.default_rng(seed)
    return [ScenePrior().sample(rng) for _ in range(n)]


def cost(preset: Preset | str, scenes: Sequence[Scene]) -> tuple[float, list[Picture]]:
    """CPU seconds a picture in a process that runs already, over all its threads, and the pictures."""
    with BlenderRenderer(preset, "cpu") as renderer:
        renderer.render(scenes[:1])
        timed = renderer.render_timed(scenes)
    return float(np.mean([stats.cpu_s for _, stats in timed])), [picture for picture, _ in timed]


def published_cost(scenes: Sequence[Scene]) -> float:
    """CPU seconds a picture the published way: a process of its own for each, 512 samples at 480 x 320."""
    before = _children_cpu_s()
    for scene in scenes:
        with BlenderRenderer(PUBLISHED, "cpu") as renderer:
            renderer.render([scene])
    return (_children_cpu_s() - before) / len(scenes)


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def costs(n: int = 2) -> None:
    """CPU seconds of every preset and of the published way, on the same scenes; and what `fast` keeps of `clevr`."""
    scenes = prior_scenes(n)
    note(f"rendering {n} scenes at every preset and the published way; 512 samples take a minute each")
    spent, pictures = {}, {}
    for name in reversed(PRESETS):
        seconds, pictures[name] = cost(name, scenes)
        spent[name] = show(f"render.cpu_s.{name}", seconds, "s")
    pairs = zip(pictures["fast"], pictures["clevr"], strict=True)
    similar = [mean_ssim(a.pixels, shrink(b.pixels, a.pixels)) for a, b in pairs]
    show("render.ssim.fast.shrunk", float(np.mean(similar)), "ssim")
    published = show("render.cpu_s.published", published_cost(scenes), "s")
    show("render.ratio.fast", published / spent["fast"], "ratio")


def quality(n: int = 6) -> None:
    """The fast preset beside 512 samples at its size: similarity, and whether the shipped model answers alike.

    512 samples are noisy still: with another seed they are like themselves to .982 only. So the reference is denoised;
    `render.ssim.fast.raw` is against the noisy one.
    """
    scenes = prior_scenes(n, seed=2027)
    fast = PRESETS["fast"]
    note(f"rendering {n} scenes twice at {fast.width}x{fast.height} with 512 samples")
    pictures = cost(fast, scenes)[1]
    references = {
        "": cost(Preset("careful", fast.width, fast.height, 512, "high", max_bounces=12), scenes)[1],
        ".raw": cost(Preset("noisy", fast.width, fast.height, 512, None, max_bounces=12), scenes)[1],
    }
    for name, reference in references.items():
        similar = [mean_ssim(a.pixels, b.pixels) for a, b in zip(pictures, reference, strict=True)]
        show(f"render.ssim.fast{name}", float(np.mean(similar)), "ssim")
        same = [np.equal(answers(a), answers(b)) for a, b in zip(pictures, reference, strict=True)]
        show(f"model.agreement.fast{name}", float(np.mean(same)), "share")


def answers(picture: Picture) -> list[int]:
    """The shipped model's answers to all questions, as indices."""
    image = picture.pixels[None].astype(np.float32) / np.float32(255)
    model = load_model("shipped")
    questions = (Question(text, parse(text)) for text in QUESTIONS)
    return [int(model.bind(question).log_probs(image)[0].argmax()) for question in questions]


def scoring(repeats: int = 50) -> None:
    """Milliseconds that the shipped model takes for one picture."""
    image = np.random.default_rng(0).random((1, 160, 240, 3), dtype=np.float32)
    text = QUESTIONS[0]
    bound = load_model("shipped").bind(Question(text, parse(text)))
    bound.log_probs(image)
    began = time.perf_counter()
    for _ in range(repeats):
        bound.log_probs(image)
    show("score.ms", (time.perf_counter() - began) / repeats * 1e3, "ms")


def throughput(n: int = 40) -> None:
    """Renders per second at `fast` with one process and with two, one thread each."""
    scenes = prior_scenes(n)
    for processes in (1, 2):
        with BlenderRenderer("fast", "cpu", processes=processes, threads=1) as renderer:
            renderer.render(scenes[: 2 * processes])
            began = time.perf_counter()
            renderer.render(scenes)
            show(f"render.per_s.{processes}", n / (time.perf_counter() - began), "1/s")


def memory(last: int = 1000, preset: Preset | str = "fast") -> None:
    """Blender's resident memory after 100 renders, and after ten times as many up to `last`, in MiB and percent.

    One process throughout: none is replaced unless it grows (`replaced` counts that).
    """
    name = preset if isinstance(preset, str) else preset.name
    note(f"rendering {last} scenes at {name}, to see whether memory grows")
    scenes = prior_scenes(50)
    first, pids = 0, set()
    with BlenderRenderer(preset, "cpu", threads=1) as renderer:
        for done in range(len(scenes), last + 1, len(scenes)):
            resident = renderer.render_timed(scenes)[-1][1].rss_bytes
            pids.update(renderer.process_ids())
            if done in (100, 1_000, 10_000, last):
                first = first or resident
                show(f"memory.{name}.mib.{done}", resident / 2**20, "MiB")
                show(f"memory.{name}.growth_pct.{done}", 100 * (resident / first - 1), "%")
    show(f"memory.{name}.replaced", len(pids) - 1, "processes")


def memory_long() -> None:
    """The same over 10,000 renders, so small that a render is little else than the changes of the scene."""
    memory(10_000, Preset("tiny", 24, 16, 1, "fast"))


def released() -> None:
    """Features plus execution engine on 480x320 pictures, 1 and 32 at a time; other work may run beside.

    Weights are made up: what they are does not change the cost.
    """
    note("released models: ResNet-101 features and execution engine")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    vocabulary = IepVocabulary()
    engine = build(EngineSizes(), vocabulary)
    calls = calls_of(PROGRAM.split())
    bound = Bound(ResNet(), "engine", engine, calls, answer_order(vocabulary)[1]).eval()
    for batch, times in BATCHES.items():
        rate = _pictures_per_s(bound, batch, times)
        show(f"released_models_batch_{batch}", rate, "pictures per CPU second")
    stages = ((bound.features, torch.rand(1, 3, 320, 480)), (_Engine(engine), torch.rand(1, 1024, 14, 14)))
    for name, (module, given) in zip(("features", "engine_15_modules"), stages, strict=True):
        show(f"released_models_{name}", _cpu_s(module, given, 8) / 8, "CPU seconds a picture")


class _Engine(torch.nn.Module):
    """The engine alone, with its program."""

    def __init__(self, engine: torch.nn.Module) -> None:
        super().__init__()
        self.engine = engine

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.engine(features, calls_of(PROGRAM.split()))
        return logits


def _pictures_per_s(module: torch.nn.Module, batch: int, times: int) -> float:
    return batch * times / _cpu_s(module, torch.rand(batch, 3, 320, 480), times)


def _cpu_s(module: torch.nn.Module, given: torch.Tensor, times: int) -> float:
    with torch.inference_mode():
        module(given[:1])
        begin = time.process_time()
        for _ in range(times):
            module(given)
    return time.process_time() - begin
