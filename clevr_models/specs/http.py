"""'http://...' or 'https://...': a web service that receives pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex.clevr_models.adapters.http_address import URL
from trex.clevr_models.specs.adapter import Adapter

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel


def _load(spec: str, threads: int) -> ClevrModel:
    from trex.clevr_models.adapters.http_model import load_http

    return load_http(spec)


def _sends(spec: str) -> str:
    return f"sends pictures to {spec!r}"


ADAPTER = Adapter(
    "http", lambda spec: bool(URL.match(spec)), _load, "'http://...' or 'https://...'", 50, _sends
)
