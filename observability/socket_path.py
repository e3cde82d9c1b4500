"""Unix sockets at paths of any length: the kernel takes 107 bytes, a state folder may lie deeper."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

LONGEST: Final = 107


@contextmanager
def addressable(path: Path) -> Iterator[str]:
    """An address for bind or connect that leads to `path`: itself, or through an open handle of its folder."""
    text = str(path)
    if len(os.fsencode(text)) <= LONGEST:
        yield text
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
