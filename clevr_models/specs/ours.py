"""The forms of spec that trex itself knows, and how each is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trex.clevr_models.adapters.http_address import URL
from trex.clevr_models.chat.endpoint import is_served
from trex.clevr_models.interface.options import HF, IEP, ONNX
from trex.clevr_models.specs.adapter import LAST, Adapter, runs_nothing
from trex.foundation.errors import InputError
from trex.foundation.extensions import LIVE, is_code
from trex.foundation.files import from_home

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel
    from trex.clevr_models.interface.options import ModelOptions

ASK = "ask:"
WEIGHTS = ".safetensors"
RELATION, DEFAULT_RELATION = "relation-network", "relation-network:ir"
RELATIONS = (RELATION, "relation-network:original", DEFAULT_RELATION)


def is_hf(spec: str) -> bool:
    return spec.startswith(HF)


def asks_freely(spec: str) -> bool:
    """Whether a model answers hundreds of questions at no cost to speak of: none behind an address."""
    return not (is_served(spec) or is_hf(spec) or URL.match(spec) is not None)


def _shipped(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.percept.model import load_shipped

    return load_shipped()


def _relation_network(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.fetch import NAMES, verify_model
    from trex.clevr_models.relation_network.model import load_relation_model

    name = DEFAULT_RELATION if spec == RELATION else spec
    return load_relation_model(verify_model(name), NAMES[name])


def _iep(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.iep.model import load_iep

    return load_iep(spec)


def _onnx(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.adapters.onnx_model import load_onnx

    return load_onnx(from_home(Path(spec.removeprefix(ONNX))), threads)


def _hf(spec: str, threads: int, options: ModelOptions | None = None) -> ClevrModel:
    from trex.clevr_models.huggingface.load import load_hf

    return load_hf(spec, options)


def _http(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.adapters.http_model import load_http

    return load_http(spec)


def _live(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.adapters.torch_module import live_model

    return live_model(spec)


def _openai(spec: str, threads: int, options: ModelOptions | None = None) -> ClevrModel:
    from trex.clevr_models.chat.chat_model import load_chat

    return load_chat(spec, options)


def _percept(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.percept.model import load_percept

    return load_percept(from_home(Path(spec)), spec)


def _ask(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.adapters.callable_model import TAKES, AdaptedModel
    from trex.clevr_models.adapters.named_object import import_factory

    name = spec.removeprefix(ASK)
    if not is_code(name):
        raise InputError(f"model {spec!r} is not known; it may be 'ask:package.module:answerer'")
    found = import_factory(name)
    if isinstance(found, type):
        raise InputError(f"{name} is a class; name an instance, or a function")
    return AdaptedModel(spec, found, spec, takes=TAKES)


def _factory(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.adapters.named_object import import_factory
    from trex.clevr_models.adapters.torch_module import UserModel

    return UserModel(spec, import_factory(spec))


ADAPTER = (
    Adapter("shipped", lambda spec: spec == "shipped", _shipped, "'shipped'", 10, runs_nothing),
    Adapter(
        "relation-network",
        lambda spec: spec in RELATIONS,
        _relation_network,
        ", ".join(map(repr, RELATIONS)),
        20,
        runs_nothing,
    ),
    Adapter(
        "iep",
        lambda spec: spec.startswith(IEP),
        _iep,
        "'iep:18k' and other released CLEVR models ('iep:GENERATOR.pt,ENGINE.pt' for files)",
        30,
        runs_nothing,
    ),
    Adapter(
        "onnx",
        lambda spec: spec.startswith(ONNX),
        _onnx,
        "'onnx:FILE.onnx'",
        40,
        lambda spec: f"loads the file of model {spec!r}",
    ),
    Adapter(
        "hf",
        is_hf,
        _hf,
        "'hf:NAME' or 'hf:FOLDER' of transformers",
        50,
        lambda spec: f"loads the files of model {spec!r}",
        ("prompt", "trust_remote_code"),
        _hf,
    ),
    Adapter(
        "http",
        lambda spec: bool(URL.match(spec)),
        _http,
        "'http://...' or 'https://...'",
        50,
        lambda spec: f"sends pictures to {spec!r}",
    ),
    Adapter(
        "live",
        lambda spec: spec.startswith(LIVE),
        _live,
        "a live object from Python (trex.find)",
        50,
        runs_nothing,
    ),
    Adapter(
        "openai",
        is_served,
        _openai,
        "'openai:MODEL' on a chat server",
        50,
        lambda spec: f"sends pictures, and OPENAI_API_KEY if it is set, for model {spec!r}",
        ("endpoint", "prompt", "samples", "max_requests", "concurrency", "extra"),
        _openai,
    ),
    Adapter(
        "safetensors",
        lambda spec: spec.endswith(WEIGHTS),
        _percept,
        "a path that ends in .safetensors",
        60,
        runs_nothing,
    ),
    Adapter("ask", lambda spec: spec.startswith(ASK), _ask, "'ask:package.module:answerer'", 70),
    Adapter("factory", is_code, _factory, "'package.module:factory'", LAST),
)
