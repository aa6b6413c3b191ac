"""What each key of a query sets, and a value, for the documentation of Python's keywords."""

from __future__ import annotations

from collections.abc import Mapping

# By dotted key: what it sets, and an example, which a key that is true or false lacks. Keys of [model] that are
# options of verbs as well are described there; docs/reference/queries.md says more of all.
KEYS: Mapping[str, tuple[str, object]] = {
    "question": ("An English question.", "How many cubes are there?"),
    "program": (
        "The question as a CLEVR program, if no English phrasing fits.",
        [{"function": "scene"}, {"function": "count", "inputs": [0]}],
    ),
    "answer": ('One answer, or several for targets such as "ambiguous".', "1"),
    "wrong": ("Only scenes in which `answer` is wrong; the rate is a share of these scenes.", None),
    "target.kind": (
        "high_confidence, threshold, ambiguous, k_way, uniform, graded or probabilities; or a `trex.Target`.",
        "threshold",
    ),
    "target.width": ("Standard deviation of the allowed distance from the target, as a probability.", 0.02),
    "target.threshold": ("Least probability, of kind threshold.", 0.99),
    "target.share": ("Probability of the first answer, of kind graded.", 0.7),
    "target.probabilities": (
        "Wanted probability of each answer, of kind probabilities.",
        {"1": 0.5, "2": 0.5},
    ),
    "target.options": ("Keys that a target kind of your own declares.", {"margin": 0.1}),
    "generator.name": (
        "clevr, mnist-vae, mnist-gan, fashion-vae, fashion-gan, or package.module:callable.",
        "mnist-vae",
    ),
    "generator.without": ("Use the decoder that was trained without these classes.", ["7"]),
    "generator.classes": ("Use the decoder that was trained on these classes alone.", ["1", "7"]),
    "scene.objects": ("Objects in each scene, 1 to 10: a number, or a pair.", (3, 6)),
    "scene.revoke": ("What must not occur.", ["cube", "blue spheres"]),
    "scene.introduce": ("Further shapes, or paths of shape cards.", ["cone"]),
    "model.prompt": (
        "Text for a chat model, with {question} and optionally {answers}.",
        "{question} Answer in one word.",
    ),
    "model.samples": ("Samples per picture from a chat model; 0 reads log probabilities.", 20),
    "model.concurrency": ("Requests to a chat server at a time.", 8),
    "model.extra": ("Further fields of each chat request.", {"top_p": 1}),
    "render.preset": ("The preset that decides whether a scene is a hit.", "fast"),
    "render.noise": ("Noise draws; their mean probability decides.", 4),
    "render.views": ("Viewpoints; their mean probability decides.", 3),
    "render.fresh": ("Most new noise draws under which a hit must hold; by default 8 with Blender.", 0),
    "render.device": ("auto, cpu, cuda, optix, hip, oneapi or metal.", "cuda"),
    "render.processes": ("Blender processes; by default one per core, at most 4.", 2),
    "render.looks": (
        "Cheaper presets that may lead the search, cheapest first; by default those of the preset.",
        ["analytic"],
    ),
    "search.seed": ("Seed of the search.", 1),
    "search.bank": ("Random scenes of the bank; by default 1,000 with Blender; 0 for none.", 5000),
    "search.bank_seed": ("Seed of the bank's scenes.", 1),
    "search.prior_scenes": ("Random scenes rendered at the deciding preset; with a bank at least 12.", 50),
    "search.spread": (
        "Further members of the bank that tighten the upper bound of the rate; by default what costs little.",
        0,
    ),
    "search.chains": ("Markov chains.", 8),
    "search.steps": ("Proposals per chain.", 200),
    "search.warmup": (
        "First steps of each chain that summaries leave out; by default a fifth, half for nuts.",
        50,
    ),
    "search.kernel": (
        "Scenes: surrogate, block, random_walk or smc; other worlds: gaussian, nuts or smc.",
        "smc",
    ),
    "search.options": ("Keys that a kernel declares.", {"moves": 3}),
    "search.inner": ("Kernel surrogate: cheap steps before each render; by default 16, 8 or 4 by cost.", 8),
    "search.scale": ("Kernel gaussian: step size in standard deviations of the prior.", 0.1),
    "search.max_depth": ("Kernel nuts: a trajectory has at most 2^max_depth steps.", 6),
    "search.stop_when_found": ("Stop after this many distinct scenes; 0 spends the whole budget.", 20),
    "search.further": (
        "Random scenes that a common target may take instead of chains; by default chains × steps.",
        0,
    ),
    "search.control": ("If nothing is found, run the same search on easier targets.", None),
}
