"""The way back from an engine's arguments to parameters: what Steward renders is read back, and so is what people write."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import pytest

from controller.dialects.dialect import Launch
from controller.dialects.flag_groups import Understood, Word
from controller.dialects.flag_reading import READERS
from controller.dialects.registry import dialect
from controller.model.document import Plain
from controller.model.parameters import Checked, Value, check_value
from controller.model.problem import Place
from controller.model.profile import DialectName
from controller.model.resolved import Resolved
from tests.unit.argv_text import argv_text
from tests.unit.templates import TEMPLATES, alone

TREE = "--speculative-algorithm EAGLE --speculative-num-steps 5 --speculative-eagle-topk 8 --speculative-num-draft-tokens 64"
PLACE = Place("compose.yml", 1, 1)
ENGINES = [name for name in TEMPLATES if name.split("/")[-2] in ("vllm", "llamacpp", "sglang")]


def below(path: str) -> str | None:
    """Where templates have the models."""
    return path.removeprefix("/models/") if path.startswith("/models/") else None


def read(engine: DialectName, text: str) -> Understood:
    """A command line, read."""
    return READERS[engine]([Word(word, PLACE) for word in shlex.split(text)], below)


def values(found: Mapping[str, Plain]) -> dict[str, Value]:
    """The parameters as an argv takes them."""
    checked = {name: check_value(name, value) for name, value in found.items()}
    assert all(isinstance(one, Checked) for one in checked.values()), checked
    return {name: one.value for name, one in checked.items() if isinstance(one, Checked)}


@pytest.mark.parametrize("name", ENGINES)
def test_what_steward_renders_is_read_back(name: str) -> None:
    """Given the arguments of a template, when they are read and rendered again, then they are the same flags."""
    found = alone(name)
    assert isinstance(found, Resolved), found
    instance = found.instances[0]
    words = [Word(str(word), PLACE) for word in instance.spec.argv]
    understood = READERS[instance.dialect](words, below)
    rest = tuple(word.text for group in understood.rest for word in group.words)
    port = instance.spec.container_port
    launch = Launch(values(understood.parameters), understood.served_names, port, instance.spec.image, rest)
    again = dialect(instance.dialect).argv(launch)
    assert sorted(argv_text(again).splitlines()) == sorted(argv_text(instance.spec.argv).splitlines())
    assert understood.port == port


@pytest.mark.parametrize(
    ("text", "parameters", "rest"),
    [
        ("/models/a -tp 2 --max_model_len=32k", {"model_path": "a", "tensor_parallel_size": 2, "max_model_len": 32000}, ""),
        ("--trust-remote-code /models/a", {"model_path": "a", "trust_remote_code": True}, ""),
        ("Qwen/Qwen3-8B --max-model-len 32K", {"max_model_len": 32768}, "--model Qwen/Qwen3-8B"),
        ("--model /elsewhere/x", {}, "--model /elsewhere/x"),
        (
            "--kv-cache-dtype bfloat16 --gpu-memory-utilization .9",
            {"kv_cache_dtype": "bf16", "gpu_memory_utilization": 0.9},
            "",
        ),
        ("--no-enable-prefix-caching --enforce-eager", {"enable_prefix_caching": False, "enforce_eager": True}, ""),
        ("--max-num-seqs many --foo -1 --bar=2 x", {}, "--max-num-seqs many --foo -1 --bar=2 x"),
        ("--max-num-seqs 2 --max-num-seqs 3", {"max_num_seqs": 3}, ""),
        ("--host 0.0.0.0 --port 9000 --enable-auto-tool-choice --api-key secret", {}, ""),
        (
            '--speculative-config \'{"method": "eagle3", "model": "/models/d", "num_speculative_tokens": 3}\'',
            {"spec_method": "eagle3", "spec_model": "d", "spec_tokens": 3},
            "",
        ),
        ('--speculative-config \'{"method": "x", "other": 1}\'', {}, '--speculative-config \'{"method": "x", "other": 1}\''),
        ("--speculative-config nonsense", {}, "--speculative-config nonsense"),
        (
            "--chat-template /etc/x.jinja --tool-call-parser hermes",
            {"chat_template": "/etc/x.jinja", "tool_call_parser": "hermes"},
            "",
        ),
    ],
)
def test_vllm(text: str, parameters: dict[str, Plain], rest: str) -> None:
    """Given arguments of vLLM as people write them, when they are read, then parameters and other flags come apart."""
    found = read(DialectName.VLLM, text)
    assert found.parameters == parameters
    assert shlex.join(word.text for group in found.rest for word in group.words) == rest


@pytest.mark.parametrize(
    ("text", "parameters", "rest"),
    [
        (
            "-m /models/q/x.gguf -c 65536 -np 4 -ngl 99 -fa",
            {
                "model_path": "q", "model_file": "x.gguf", "max_model_len": 16384, "max_num_seqs": 4, "gpu_layers": 99,
                "flash_attention": "on",
            },
            "",
        ),
        ("--model /models/x.gguf --mmproj /models/p/mm.gguf", {"model_file": "x.gguf"}, "--mmproj /models/p/mm.gguf"),
        ("-m /models/q/x.gguf -mm /models/q/m.gguf", {"model_path": "q", "model_file": "x.gguf", "mmproj_file": "m.gguf"}, ""),
        ("-hf org/repo -c 0", {}, "-hf org/repo -c 0"),
        ("-ctk q8_0 -ctv q4_0", {"kv_cache_dtype": "k8v4"}, ""),
        ("-ctk f16 -ctv f16 -fa 1", {"kv_cache_dtype": "fp16", "flash_attention": "on"}, ""),
        ("-ctk q8_0", {}, "-ctk q8_0"),
        ("-ctk q4_0 -ctv q8_0", {}, "-ctk q4_0 -ctv q8_0"),
        ("-ts 3,1 --no-mmap -ngl -1", {"tensor_split": [3, 1], "gpu_layers": -1}, "--no-mmap"),
        ("-ngl all", {}, "-ngl all"),
        (
            "--spec-type draft-mtp --spec-draft-n-max 2 -md /models/d.gguf",
            {"spec_method": "mtp", "spec_tokens": 2, "spec_model": "d.gguf"},
            "",
        ),
        ("--jinja --reasoning-format none --fit on --metrics", {"tool_call_parser": "jinja", "reasoning_parser": "none"}, ""),
    ],
)  # fmt: skip
def test_llamacpp(text: str, parameters: dict[str, Plain], rest: str) -> None:
    """Given arguments of llama-server as people write them, when they are read, then parameters and other flags come apart."""
    found = read(DialectName.LLAMACPP, text)
    assert found.parameters == parameters
    assert shlex.join(word.text for group in found.rest for word in group.words) == rest


@pytest.mark.parametrize(
    ("text", "parameters", "rest"),
    [
        ("--model-path /models/a --tp 2 --dtype half", {"model_path": "a", "tensor_parallel_size": 2, "dtype": "half"}, ""),
        ("--model Qwen/Qwen3-8B", {}, "--model Qwen/Qwen3-8B"),
        (
            "--chunked-prefill-size -1 --disable-radix-cache",
            {"enable_chunked_prefill": False, "enable_prefix_caching": False},
            "",
        ),
        ("--chunked-prefill-size 4096 --disable-cuda-graph", {"max_num_batched_tokens": 4096, "enforce_eager": True}, ""),
        (
            "--speculative-algorithm EAGLE3 --speculative-draft-model-path /models/d --speculative-num-steps 3"
            " --speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
            {"spec_method": "eagle3", "spec_tokens": 3, "spec_model": "d"},
            "",
        ),
        ("--speculative-algorithm NGRAM --speculative-num-draft-tokens 8", {"spec_method": "ngram", "spec_tokens": 8}, ""),
        (
            TREE,
            {},
            TREE,
        ),
    ],
)
def test_sglang(text: str, parameters: dict[str, Plain], rest: str) -> None:
    """Given arguments of SGLang as people write them, when they are read, then parameters and other flags come apart."""
    found = read(DialectName.SGLANG, text)
    assert found.parameters == parameters
    assert shlex.join(word.text for group in found.rest for word in group.words) == rest


def test_what_is_no_parameter_is_told_apart() -> None:
    """Given names, address and key, when arguments are read, then they are kept by themselves, the key by its place alone."""
    found = read(DialectName.VLLM, "/models/a --served-model-name big small --host 10.0.0.1 --port 9000 --api-key secret")
    assert (found.served_names, found.host, found.port, found.model) == (("big", "small"), "10.0.0.1", 9000, "/models/a")
    assert found.api_key == PLACE
    assert "secret" not in repr(found.parameters) + repr(found.rest)
