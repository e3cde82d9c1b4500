"""Random llama models in GGUF, so that a real llama.cpp server can be driven without a model to download.

The weights are noise from a frozen generator: the file is byte-identical on every run, and the model babbles words of its
own small vocabulary. The rows that would emit control and byte tokens are zero, so at temperature 0 an answer is always
valid text and ends because of its length.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt

SEED = 20_240_229
CONTEXT_LENGTH = 131_072
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
STEMS = ("ber", "ch", "al", "e", "low", "con")
WORDS = [first + second for first in ("am", "bir", "cor", "dun", "el", "fal", "gar", "hol") for second in STEMS]
CONTROL = (("<unk>", gguf.TokenType.UNKNOWN), ("<s>", gguf.TokenType.CONTROL), ("</s>", gguf.TokenType.CONTROL))

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a random model is; heads of 32 values, so that a quantised KV cache (blocks of 32) fits them."""

    hidden: int = 64
    feed_forward: int = 128
    layers: int = 2
    heads: int = 2
    kv_heads: int = 1

    @property
    def head_size(self) -> int:
        """Values of one attention head."""
        return self.hidden // self.heads


@dataclass(frozen=True, slots=True)
class Token:
    """One entry of the vocabulary."""

    text: bytes
    kind: gguf.TokenType
    score: float


def write_tiny_gguf(path: Path) -> None:
    """Write the model of the tests, about half a megabyte, that boots in a blink."""
    write_gguf(path, Shape())


def write_gguf(path: Path, shape: Shape) -> None:
    """Write a random llama of that shape; a large one takes long enough to load to be seen loading."""
    tokens = _vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    _describe(writer, shape, len(tokens))
    _add_vocabulary(writer, tokens)
    for name, matrix in _tensors(shape, tokens):
        writer.add_tensor(name, matrix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _vocabulary() -> list[Token]:
    """Control tokens, one token for each byte so that any prompt can be read, and words."""
    control = [Token(text.encode(), kind, 0.0) for text, kind in CONTROL]
    single = [Token(f"<0x{value:02X}>".encode(), gguf.TokenType.BYTE, 0.0) for value in range(256)]
    words = [Token(f"\u2581{word}".encode(), gguf.TokenType.NORMAL, -float(rank + 1)) for rank, word in enumerate(WORDS)]
    return control + single + words


def _describe(writer: gguf.GGUFWriter, shape: Shape, vocabulary: int) -> None:
    """Add what llama.cpp reads before it reads a tensor."""
    writer.add_name("steward-tiny")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_context_length(CONTEXT_LENGTH)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_dimension_count(shape.head_size)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocabulary)


def _add_vocabulary(writer: gguf.GGUFWriter, tokens: list[Token]) -> None:
    """Add the tokenizer and the chat template."""
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token.text for token in tokens])
    writer.add_token_scores([token.score for token in tokens])
    writer.add_token_types([token.kind for token in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(CHAT_TEMPLATE)


def _tensors(shape: Shape, tokens: list[Token]) -> Iterator[tuple[str, Matrix]]:
    """Yield every tensor of the model by its GGUF name."""
    noise = np.random.RandomState(SEED)  # the one generator of numpy whose stream is frozen for ever
    hidden, kv_width, inner = shape.hidden, shape.kv_heads * shape.head_size, shape.feed_forward

    def matrix(rows: int, columns: int, scale: float) -> Matrix:
        return (noise.standard_normal((rows, columns)) * scale).astype(np.float32)

    yield "token_embd.weight", matrix(len(tokens), hidden, 1.0)
    for layer in range(shape.layers):
        yield f"blk.{layer}.attn_norm.weight", np.ones(hidden, np.float32)
        yield f"blk.{layer}.attn_q.weight", matrix(hidden, hidden, hidden**-0.5)
        yield f"blk.{layer}.attn_k.weight", matrix(kv_width, hidden, hidden**-0.5)
        yield f"blk.{layer}.attn_v.weight", matrix(kv_width, hidden, hidden**-0.5)
        yield f"blk.{layer}.attn_output.weight", matrix(hidden, hidden, hidden**-0.5)
        yield f"blk.{layer}.ffn_norm.weight", np.ones(hidden, np.float32)
        yield f"blk.{layer}.ffn_gate.weight", matrix(inner, hidden, hidden**-0.5)
        yield f"blk.{layer}.ffn_up.weight", matrix(inner, hidden, hidden**-0.5)
        yield f"blk.{layer}.ffn_down.weight", matrix(hidden, inner, inner**-0.5)
    yield "output_norm.weight", np.ones(hidden, np.float32)
    spoken = np.array([[token.kind == gguf.TokenType.NORMAL] for token in tokens], np.float32)
    yield "output.weight", matrix(len(tokens), hidden, 1.0) * spoken


def main() -> int:
    """Write a model at the given path, by default the tiny one."""
    parser = argparse.ArgumentParser(description="Write a random llama model in GGUF.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--hidden", type=int, default=Shape().hidden)
    parser.add_argument("--layers", type=int, default=Shape().layers)
    options = parser.parse_args()
    heads = max(options.hidden // Shape().head_size, 1)
    write_gguf(options.path, Shape(options.hidden, 2 * options.hidden, options.layers, heads, kv_heads=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
