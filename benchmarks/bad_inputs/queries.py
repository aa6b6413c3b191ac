"""Bad queries: values, texts and files, met by `trex check`."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bad_inputs.cases import Case, not_files, writing

QUERY = """\
question = "How many red things are there?"
answer = "2"
[scene]
revoke = ["cube"]
[model]
name = "fake"
[render]
preset = "fake"
[search]
prior_scenes = 12
chains = 3
steps = 12
"""
REALS = ("true", '"0.05"', "1e-320", "-1", "nan", "inf", "1e400", "[]", "10000000000000000000000000000000")
COUNTS = ("true", '"3"', "1.5", "-1", "1" + "0" * 30, "nan", "[]", "{}", "9" * 5000)
NAMES = ("3", "true", "[]", '"\\u0000"', '"' + "x" * 5000 + '"', '"../../../etc/passwd"', '"a\\nb"', '""')
VALUES = {
    **{f"target.{key}": REALS for key in ("width", "threshold")},
    "target.share": (*REALS[:2], *REALS[3:]),  # which may be very small
    **{f"search.{key}": REALS for key in ("scale",)},
    **{
        f"search.{key}": COUNTS
        for key in ("seed", "prior_scenes", "chains", "steps", "warmup", "max_depth", "stop_when_found")
    },
    "render.processes": COUNTS,
    "search.control": ("1", '"yes"', "[]"),
    "search.kernel": ('"gibbs"', "1"),
    "scene.objects": ("0", "-1", "11", "[1]", "[1, 2, 3]", "[5, 3]", "true", "1.5", "1" + "0" * 30, '"5"'),
    "scene.revoke": ("1", '["cubicle"]', '["\\u0000"]', "[[[]]]", str(["cube"] * 10_000), '["' + "x" * 99_999 + '"]'),
    "scene.introduce": (*NAMES[:2], *NAMES[3:-1], '["/dev/zero"]', '["/"]', str(["cone"] * 300), '["gone.toml"]'),
    "model.name": (*NAMES, '"onnx:/dev/zero"', '"http://"', '"no.such:thing"', '"iep:"', '"/dev/zero.safetensors"'),
    "render.preset": NAMES,
    "generator.name": NAMES,
    "target.kind": ('"sure"', "1"),
    "answer": ("1.5", "[[1]]", '"\\u0000"', "nan", '"' + "9" * 5000 + '"', str(["2"] * 5000)),
    "question": ("1", '""', '"\\u0000"', '"' + "How many " * 9999 + '?"', '"Why?"',
                 '"How many red things\\nare there?"'),
    "program": ("1", "[1]", "[{}]", '[{function = "scene", inputs = [-1]}]', '[{function = "count", inputs = [9]}]',
                "[" + '{function = "scene"},' * 5000 + "]"),
}  # fmt: skip
DEEP = 100_000
TEXTS: dict[str, str | bytes] = {
    "cut": QUERY[:-4] + '= "',
    "nested lists": "x = " + "[" * DEEP + "]" * DEEP,
    "nested tables": "x = " + "{a=" * DEEP + "1" + "}" * DEEP,
    "a long dotted key": ".".join(["a"] * DEEP) + " = 1",
    "a long header": "[" + ".".join(["a"] * DEEP) + "]",
    "5000 digits": "x = " + "9" * 5000,
    "NUL": QUERY + "\0",
    "UTF-16 without a mark": QUERY.encode("utf-16-le"),
    "Latin-1": (QUERY + "# é").encode("latin-1"),
    "too large": QUERY + "#" * (3 << 20),
    "a key twice": QUERY + "steps = 1\n",
    "an unknown key": QUERY + "stpes = 1\n",
    "10,000 unknown keys": "\n".join(f"k{n} = 1" for n in range(10_000)),
    "a table for a value": QUERY + "[answer.x]\n",
    "a value for a table": "target = 3",
    "a date": "question = 1979-05-27",
    "JSON": '{"question": "How many cubes are there?"}',
}
PROBABILITIES = (
    '{ "2" = nan }',
    '{ "2" = "1" }',
    '{ "2" = true }',
    '{ "2" = 2.0 }',
    '{ "x" = 1.0 }',
    "[1]",
    '{ "2" = 1e-320 }',
)


def cases() -> Iterator[Case]:
    """Values by `--set`, texts as files, and what is no file."""
    for key, values in VALUES.items():
        for n, value in enumerate(values):
            words = ("check", "query.toml", "--set", f"{key}={value}")
            yield Case(f"query {key} = {value[:40]} ({n})", words, writing({"query.toml": QUERY}))
    for value in PROBABILITIES:
        text = (
            QUERY.replace('answer = "2"', "") + f'[target]\nkind = "probabilities"\nprobabilities = {value}\n'
        )
        yield Case(f"query probabilities = {value}", ("check", "query.toml"), writing({"query.toml": text}))
    for name, written in TEXTS.items():
        yield Case(f"query text: {name}", ("check", "query.toml"), writing({"query.toml": written}))
    for name, make in not_files("query.toml"):
        for command in ("check", "find", "baseline", "queue add"):
            yield Case(f"{command}: {name} for a query", (*command.split(), "query.toml"), make)
