"""llama.cpp's server on this machine: `python llama_server.py TEXT.gguf MMPROJ.gguf`; prints its address, then waits.

Runs in a Python of its own, which has xllamacpp and need not have this project. It ends with its standard input.
"""

from __future__ import annotations

import sys

import xllamacpp  # type: ignore[import-not-found]


def main(text: str, vision: str) -> None:
    settings = xllamacpp.CommonParams()
    settings.model.path, settings.mmproj.path = text, vision
    settings.port, settings.hostnames = 0, ["127.0.0.1"]
    settings.n_ctx, settings.n_parallel = 2048, 2
    settings.warmup, settings.mmproj_use_gpu, settings.use_jinja = False, False, True
    settings.cpuparams.n_threads = 1
    # Keys and values as exact as transformers has them; by default they have 16 bits.
    settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
