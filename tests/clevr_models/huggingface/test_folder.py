"""What `hf:` loads and what it refuses: names, caches, pickles, code, files that leave the folder."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.references import tiny_transformers as tiny
from tests.references.tiny_transformers import huggingface_hub, transformers
from trex.clevr_models.catalog import load_model
from trex.clevr_models.huggingface.folder import open_folder
from trex.clevr_models.interface.options import ModelOptions
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.scenes.questions.programs import Step
from trex.worlds.fingerprint import model_fingerprint, weights_fingerprint

REDS = Question("How many red things are there?", (Step("scene"), Step("count", (0,))))
Folders = Callable[[str], Path]
Pictures = NDArray[np.float32]
TRUSTED = ModelOptions(trust_remote_code=True)


@pytest.fixture
def own(saved: Folders, tmp_path: Path) -> Path:
    """A ViLT of this test alone."""
    return Path(shutil.copytree(saved("vilt"), tmp_path / "own"))


def edit(path: Path, **changes: object) -> None:
    """JSON with other values."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a model of transformers must not reach for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of Hugging Face."""
    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder))
    return folder


def put(cache: Path, name: str, model: Path) -> None:
    """A model in a cache, where a download would have put it: https://huggingface.co/docs/huggingface_hub."""
    folder = cache / f"models--{name.replace('/', '--')}"
    commit = "0123456789abcdef0123456789abcdef01234567"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(commit)
    (folder / "blobs").mkdir()
    (folder / "snapshots" / commit).mkdir(parents=True)
    for file in model.iterdir():
        shutil.copy(file, folder / "blobs" / file.name)
        (folder / "snapshots" / commit / file.name).symlink_to(folder / "blobs" / file.name)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("kind", ["vilt", "qwen"])
def test_a_model_in_the_cache_is_loaded_by_its_name_and_without_the_network(
    kind: str, saved: Folders, cache: Path, pictures: Pictures
) -> None:
    put(cache, "owner/tiny-model", saved(kind))
    named, placed = load_model("hf:owner/tiny-model"), load_model(f"hf:{saved(kind)}")
    np.testing.assert_array_equal(named.bind(REDS).log_probs(pictures), placed.bind(REDS).log_probs(pictures))
    assert named.name == "hf:owner/tiny-model"
    assert weights_fingerprint("m", named.bind(REDS)) == weights_fingerprint("m", placed.bind(REDS))


@pytest.mark.usefixtures("no_network")
def test_a_model_that_is_not_in_the_cache_is_not_downloaded(cache: Path) -> None:
    with pytest.raises(InputError, match=r"not in the cache .*hub.* run hf download owner/tiny-model"):
        load_model("hf:owner/tiny-model")
    assert not list(cache.iterdir())


@pytest.mark.usefixtures("no_network")
def test_a_download_that_stopped_is_named(saved: Folders, cache: Path, own: Path) -> None:
    (own / "model.safetensors").unlink()
    put(cache, "owner/half", own)
    with pytest.raises(InputError, match=r"has no weights .*run hf download owner/half"):
        load_model("hf:owner/half")


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hf:", "names no model; write hf:NAME"),
        ("hf:two\nlines", "names no model"),
        ("hf:" + "x" * 2000, "names no model"),
        ("hf:../elsewhere", "no such folder, and it is not a model name"),
        ("hf:owner/../../etc", "no such folder, and it is not a model name"),
        ("hf:/no/such/folder", "no such folder, and it is not a model name"),
        ("hf:owner/model/more", "no such folder, and it is not a model name"),
        ("hf:https://host/model", "no such folder, and it is not a model name"),
        ("hf:owner--model", "no such folder, and it is not a model name"),
        ("hf:.", "has no config.json"),
    ],
)
def test_what_names_no_model_is_refused(
    spec: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        load_model(spec)


def test_weights_that_are_pickles_are_refused_and_not_read(own: Path) -> None:
    (own / "model.safetensors").unlink()
    (own / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch pickled'\ntR.")
    with pytest.raises(InputError, match=r"are pickles \(pytorch_model.bin\), which may run code"):
        load_model(f"hf:{own}")
    assert not Path("pickled").exists()


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("../outside.safetensors", "a part is a .safetensors file beside it"),
        ("/etc/passwd", "a part is a .safetensors file beside it"),
        ("model-1.bin", "a part is a .safetensors file beside it"),
        ("model-1.safetensors", "has no model-1.safetensors"),
    ],
)
def test_parts_of_weights_that_leave_the_folder_are_refused(own: Path, part: str, message: str) -> None:
    shutil.copy(own / "model.safetensors", own.parent / "outside.safetensors")
    (own / "model.safetensors").unlink()
    (own / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"classifier.0.weight": part}})
    )
    with pytest.raises(InputError, match=message):
        load_model(f"hf:{own}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "named",
    ["adapter_model.bin", "other.safetensors", "my.safetensors.index.json", "../outside.safetensors", 3, ""],
)
def test_no_file_but_the_checked_one_gives_the_weights(own: Path, named: object) -> None:
    """Planted bug: transformers reads the file that config.json names, which was neither checked nor hashed."""
    (own / "adapter_model.bin").write_bytes(b"cos\nsystem\n(S'touch pickled'\ntR.")
    shutil.copy(own / "model.safetensors", own / "other.safetensors")
    edit(own / "config.json", transformers_weights=named)
    with pytest.raises(InputError, match=r"as transformers_weights; it must be model\.safetensors or"):
        load_model(f"hf:{own}")


def test_an_index_that_is_named_is_checked_although_whole_weights_lie_beside_it(own: Path) -> None:
    """Planted bug: with model.safetensors in the folder the index was not looked at."""
    edit(own / "config.json", transformers_weights="model.safetensors")
    assert load_model(f"hf:{own}").name == f"hf:{own}"
    shutil.copy(own / "model.safetensors", own.parent / "outside.safetensors")
    (own / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"classifier.0.weight": "../outside.safetensors"}})
    )
    edit(own / "config.json", transformers_weights="model.safetensors.index.json")
    with pytest.raises(InputError, match=r"a part is a \.safetensors file beside it"):
        load_model(f"hf:{own}")


def test_weights_in_parts_are_the_same_model(saved: Folders, tmp_path: Path, pictures: Pictures) -> None:
    whole = saved("vilt")
    parts = tmp_path / "parts"
    model = transformers.ViltForQuestionAnswering.from_pretrained(whole)
    model.save_pretrained(parts, max_shard_size="10KB")
    transformers.ViltProcessor.from_pretrained(whole).save_pretrained(parts)
    assert len(list(parts.glob("*.safetensors"))) > 1 and not (parts / "model.safetensors").exists()
    rows = [load_model(f"hf:{folder}").bind(REDS).log_probs(pictures) for folder in (whole, parts)]
    np.testing.assert_allclose(*rows, rtol=1e-5)  # other places in memory, other rounding


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "bert"}, "model_type 'bert', which is not supported"),
        ({"model_type": 3}, "model_type ''"),
        (
            {"model_type": "blip", "architectures": ["BlipForQuestionAnswering"]},
            "is not supported; a model must be",
        ),
        ({"hidden_size": "many"}, "cannot be loaded by transformers"),
    ],
)
def test_models_that_cannot_answer_are_refused(
    own: Path, changes: Mapping[str, object], message: str
) -> None:
    edit(own / "config.json", **changes)
    with pytest.raises(InputError, match=message):
        load_model(f"hf:{own}")


def test_weights_that_lack_a_part_are_refused(own: Path) -> None:
    """The library would fill in random numbers, and warn."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(own / "model.safetensors")
    kept = {key: value for key, value in tensors.items() if not key.startswith("classifier")}
    save_file(kept, own / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"lack \d+ of the model's tensors, such as classifier"):
        load_model(f"hf:{own}")


def test_a_model_whose_labels_are_no_answers_is_refused(tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "pets", *tiny.vilt(("cat", "dog")))
    with pytest.raises(InputError, match="none of the model's 2 labels"):
        load_model(f"hf:{folder}")


def test_an_adapter_is_not_taken_for_its_model(own: Path) -> None:
    (own / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "owner/other"}))
    with pytest.raises(InputError, match="merge it"):
        load_model(f"hf:{own}")


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"auto_map": {"AutoModel": "own.Model"}}),
        ("config.json", {"vision_config": {"auto_map": {"AutoModel": "elsewhere/code--own.Model"}}}),
        ("config.json", {"_attn_implementation": "owner/compiled-kernel"}),
        # planted bug: only a kernel for the whole model was seen, not one for each part of it
        ("config.json", {"attn_implementation": {"": "eager", "text_config": "owner/compiled-kernel"}}),
        ("config.json", {"vision_config": {"_attn_implementation": {"a": ["owner/compiled-kernel"]}}}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["own.Tokenizer", None]}}),
        ("processor_config.json", {"auto_map": {"AutoProcessor": "own.Processor"}}),
    ],
)
def test_a_model_that_names_code_is_refused(own: Path, file: str, changes: Mapping[str, object]) -> None:
    edit(own / file, **changes)
    with pytest.raises(InputError, match=rf"code of its own \({file}\).*--trust-remote-code"):
        load_model(f"hf:{own}")
    assert open_folder(str(own), trusts_code=True).code == (file,)


CODE = """
import os
from pathlib import Path

from transformers import ViltConfig, ViltForQuestionAnswering

Path(os.environ["CODE_RAN"]).touch()


class OwnConfig(ViltConfig):
    model_type = "own-vilt"


class OwnModel(ViltForQuestionAnswering):
    config_class = OwnConfig
"""


@pytest.mark.slow
def test_code_in_a_folder_runs_only_if_it_is_trusted(
    own: Path, pictures: Pictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "the code ran"
    monkeypatch.setenv("CODE_RAN", str(ran))
    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    expected = load_model(f"hf:{own}").bind(REDS).log_probs(pictures)
    (own / "own_code.py").write_text(CODE)
    names = {"AutoConfig": "own_code.OwnConfig", "AutoModelForVisualQuestionAnswering": "own_code.OwnModel"}
    edit(own / "config.json", auto_map=names, model_type="own-vilt")
    with pytest.raises(InputError, match="brings code of its own"):
        load_model(f"hf:{own}")
    with pytest.raises(InputError, match="brings code of its own"):
        load_model(f"hf:{own}", options=ModelOptions(prompt="{question}"))
    assert not ran.exists()
    trusted = load_model(f"hf:{own}", options=TRUSTED).bind(REDS)
    assert ran.exists() and type(trusted.answerer.model).__name__ == "OwnModel"  # type: ignore[attr-defined]
    np.testing.assert_array_equal(trusted.log_probs(pictures), expected)


def test_the_fingerprint_changes_with_weights_settings_code_and_prompt_and_with_nothing_else(
    own: Path,
) -> None:
    def fingerprint(prompt: str = "") -> str:
        model = load_model(f"hf:{own}", options=ModelOptions(prompt=prompt))
        return model_fingerprint("m", model.bind(REDS))

    found = [fingerprint()]
    (own / "README.md").write_text("Trained by nobody.")
    assert [fingerprint()] == found
    assert f"transformers {transformers.__version__}" in found[0] and "float32" in found[0]
    found.append(fingerprint("{question} One word."))
    weights = (own / "model.safetensors").read_bytes()
    (own / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    found.append(fingerprint())
    edit(own / "config.json", layer_norm_eps=1e-6)
    found.append(fingerprint())
    (own / "chat_template.jinja").write_text("{{ messages }}")
    found.append(fingerprint())
    assert len(set(found)) == len(found)


def test_without_transformers_the_command_that_installs_it_is_told(
    saved: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved("vilt")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError, match=r"needs transformers.*pip install 'bayes-trex\[hf\]'"):
        load_model(f"hf:{folder}")


@pytest.mark.slow
@pytest.mark.process
def test_nothing_but_such_a_model_imports_transformers() -> None:
    code = (
        "import sys, trex, trex.commands.shell.app; "
        "from trex.query.schema import Query; from trex.runs.trust import named_code; "
        "query = Query.model_validate({'model': {'name': 'hf:owner/model', 'trust_remote_code': True}}); "
        "print(named_code(query)); from trex.clevr_models.catalog import load_model; load_model('shipped'); "
        "print({'transformers', 'huggingface_hub', 'tokenizers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text, imported = done.stdout.strip().splitlines()[-2:]
    assert imported == "set()" and "runs the code among them" in text


def test_a_question_without_english_is_refused(saved: Folders) -> None:
    for name in ("vilt", "llava"):
        model = load_model(f"hf:{saved(name)}")
        for _ in range(2):  # also after the model was probed
            with pytest.raises(InputError, match="reads English"):
                model.bind(Question("", REDS.program))
            model.bind(REDS)
