"""The test model: the same bytes on every run, and accepted by llama.cpp."""

from __future__ import annotations

from pathlib import Path

import gguf

from tests.engine.tiny_gguf import Shape, write_gguf, write_tiny_gguf


def test_the_tiny_model_is_the_same_on_every_run(tmp_path: Path) -> None:
    """Given two runs, when both files are read, then they are equal to the byte and about half a megabyte."""
    write_tiny_gguf(tmp_path / "one.gguf")
    write_tiny_gguf(tmp_path / "two.gguf")
    one = (tmp_path / "one.gguf").read_bytes()
    assert one == (tmp_path / "two.gguf").read_bytes()
    assert 300_000 < len(one) < 700_000


def test_the_shape_of_a_larger_model_is_written(tmp_path: Path) -> None:
    """Given a shape of its own, when the file is read back, then layers and tensor sizes are those of the shape."""
    write_gguf(tmp_path / "larger.gguf", Shape(hidden=128, feed_forward=256, layers=3, heads=4, kv_heads=2))
    model = gguf.GGUFReader(tmp_path / "larger.gguf")
    shapes = {tensor.name: tuple(int(size) for size in tensor.shape) for tensor in model.tensors}
    assert shapes["blk.2.attn_k.weight"] == (128, 64)
    assert "blk.3.attn_k.weight" not in shapes
