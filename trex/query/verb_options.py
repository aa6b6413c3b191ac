"""Options that several verbs have, each with its name, bounds and help: annotations of the fields of their models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator

from trex.foundation.errors import InputError
from trex.foundation.options import Option, Options
from trex.query.toml_text import toml_value
from trex.render.blender_child.device import DEVICES
from trex.render.presets import PRESETS

if TYPE_CHECKING:
    from trex.clevr_models.interface.options import ModelOptions

LOOKS = f"{', '.join(list(PRESETS)[:-1])} or {list(PRESETS)[-1]}"  # for help texts
DEVICE_WORDS = f"{', '.join(DEVICES[:-1])} or {DEVICES[-1]}"
SPECS = "shipped, relation-network, iep:18k, package.module:factory, a file or an address; docs/how-to/own-model.md."


def settings(table: Mapping[str, object]) -> tuple[str, ...]:
    """KEY=VALUE for each item, the value in TOML."""
    return tuple(f"{key}={toml_value(str(key), value)}" for key, value in table.items())


def joined_settings(given: object, keyed: Mapping[str, object]) -> object:
    """What is given as `set`, and KEY=VALUE for each of these keys."""
    before = settings(given) if isinstance(given, Mapping) else given
    return (*(before if isinstance(before, list | tuple) else (before,)), *settings(keyed))


def as_settings(value: object) -> object:
    """KEY=VALUE for each item of a mapping."""
    if isinstance(value, Mapping):
        return settings(value)
    if not isinstance(value, str | list | tuple):
        raise ValueError('give a mapping of keys, such as {"search.seed": 3}')
    return value


Model = Annotated[str, Option(SPECS, metavar="MODEL", is_argument=True, example="shipped")]
QueryModel = Annotated[str | None, Option(SPECS, example="relation-network")]
Settings = Annotated[
    tuple[str, ...],
    BeforeValidator(as_settings),
    Option("Override a key, e.g. search.seed=3. Repeatable.", ("--set",), metavar="KEY=VALUE"),
]
Endpoint = Annotated[
    str | None,
    Option(
        "Server of a model openai:NAME, e.g. http://localhost:8000/v1; by default OPENAI_BASE_URL.",
        metavar="URL",
    ),
]
MaxRequests = Annotated[
    int | None,
    Option(
        "Send at most N requests to the server of openai:NAME, repeated tries included.",
        metavar="N",
        low=1,
        example=500,
    ),
]
TrustRemoteCode = Annotated[
    bool,
    Option("Run the code in the folder of a model hf:NAME; read it before you do.", ("--trust-remote-code",)),
]
World = Annotated[
    Path,
    Option(
        "A query, for the scenes of its world, or clevr for CLEVR's own.", complete="queries", example="demo"
    ),
]
Device = Annotated[str, Option(f"{DEVICE_WORDS}.", example="cuda")]
Processes = Annotated[
    int | None, Option("Blender processes; by default one per core, up to 4.", low=1, high=256, example=2)
]
Junit = Annotated[
    Path | None,
    Option("Write the verdicts as JUnit XML, one test case each.", metavar="FILE", example="verdicts.xml"),
]
Port = Annotated[int | None, Option("Port of --serve; by default 8322; 0 takes any free one.")]
Token = Annotated[
    str | None,
    Option("Token of --serve, a fresh one if not given; safer in TREX_TOKEN.", envvar="TREX_TOKEN"),
]
TrustRun = Annotated[
    bool,
    Option(
        "Trust a run folder from elsewhere: run the code, or use the address, that it names.", ("--trust",)
    ),
]
TrustQuery = Annotated[
    bool,
    Option(
        "Trust the query file: run the code, or use the address, that it names. Once is enough.", ("--trust",)
    ),
]


def about_model(options: Options) -> ModelOptions:
    """What [model] of a query has besides the name; the verb has the options Endpoint, MaxRequests, TrustRemoteCode."""
    from trex.clevr_models.interface.options import ModelOptions

    about = options.model_dump(include={"endpoint", "max_requests", "trust_remote_code"}, exclude_none=True)
    return ModelOptions(**about)


MODEL_KEYS = {
    "model": "model.name",
    "endpoint": "model.endpoint",
    "max_requests": "model.max_requests",
    "trust_remote_code": "model.trust_remote_code",
}


class QueryChanges(Options):
    """What replaces keys of a query file: an option of its own for the model, `set` for all others."""

    model: QueryModel = None
    set: Settings = ()
    trust: TrustQuery = False

    @property
    def changes(self) -> tuple[str, ...]:
        """The overrides, "model.name=" quoted for TOML; InputError if a key is given twice."""
        given: dict[str, str] = {}
        for name, key in MODEL_KEYS.items():
            if self.is_given(name):
                value = getattr(self, name)
                given[key] = self.written(name) if value is True else f"{self.written(name)} {value}"
        replaced = [
            f"{MODEL_KEYS[name]}={json.dumps(getattr(self, name))}"
            for name in MODEL_KEYS
            if self.is_given(name)
        ]
        for setting in self.set:
            key = setting.partition("=")[0].replace(" ", "")
            written = f"{self.written('set')} {setting}"
            if key in given:
                raise InputError(
                    f"{given[key]} does not apply: {written} sets {key} too; give only one of them"
                )
            given[key] = written
        return (*self.set, *replaced)


class ModelChanges(QueryChanges):
    """These, and the options of a model behind an address or from a hub."""

    endpoint: Endpoint = None
    max_requests: MaxRequests = None
    trust_remote_code: TrustRemoteCode = False
