"""Secrets as files of the state folder, and the keyed digest by which a change of one is seen without showing it."""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

from controller.errors import EnvironmentFault, NotFound, SpecFault, StoreDamaged
from controller.store.durable import sync_folder

MAX_BYTES: Final = 64 * 1024
"""A secret is a key or a token; a larger file is a mistake."""
KEY_BYTES: Final = 32
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class FileSecrets:
    """Implements the port Secrets: one file a secret, readable by its owner alone."""

    def __init__(self, folder: Path, key_file: Path) -> None:
        """`key_file` is made when the first digest is asked for."""
        self._folder = folder
        self._key_file = key_file
        self._key: bytes | None = None

    def reveal(self, name: str) -> str:
        """The value without its trailing newline; raises NotFound, or SpecFault for a file that cannot be one."""
        path = self._path(name)
        try:
            data = _read_private(path, MAX_BYTES)
        except FileNotFoundError:
            raise NotFound(f"there is no secret {name}: write it to {path}, mode 0600") from None
        try:
            value = data.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise SpecFault(f"the secret {path} is not UTF-8 text") from None
        if not value or "\0" in value:
            raise SpecFault(f"the secret {path} {'holds a NUL character' if value else 'is empty'}")
        return value

    def digest(self, name: str) -> str | None:
        """HMAC-SHA256 of the value in hex, or None when there is no such secret."""
        try:
            value = self.reveal(name)
        except NotFound:
            return None
        return hmac.new(self._loaded_key(), value.encode(), hashlib.sha256).hexdigest()

    def key_id(self) -> str:
        """The fingerprint of the digest's key: 16 hex digits that tell nothing of it."""
        return hashlib.sha256(b"steward secret key\0" + self._loaded_key()).hexdigest()[:16]

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name) or name in (".", ".."):
            raise SpecFault(f"{name!r} is no name of a secret: 1 to 64 of the characters A-Z a-z 0-9 _ . - are")
        return self._folder / name

    def _loaded_key(self) -> bytes:
        if self._key is None:
            self._key = _key(self._key_file)
        return self._key


def _key(path: Path) -> bytes:
    try:
        found = _read_private(path, MAX_BYTES)
    except FileNotFoundError:
        _make_key(path)
        found = _read_private(path, MAX_BYTES)
    if len(found) != KEY_BYTES:
        raise StoreDamaged(f"{path} is damaged: it holds {len(found)} bytes and not {KEY_BYTES}; restore it, or remove it")
    return found


def _make_key(path: Path) -> None:
    """Make the key complete under a name of its own first, so that a crash cannot leave half a key."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_private(draft, secrets.token_bytes(KEY_BYTES))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first, and its key holds
        finally:
            draft.unlink()
        sync_folder(path.parent)
    except OSError as error:
        raise EnvironmentFault(f"the key of the secrets' digests cannot be made at {path}: {error.strerror}") from error


def _write_private(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _read_private(path: Path, limit: int) -> bytes:
    """The content of a file that only its owner may read; FileNotFoundError passes, all else gets a sentence."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise FileNotFoundError(path) from None
        raise EnvironmentFault(f"{path} cannot be read: {error.strerror}") from error
    try:
        _require_private(path, os.fstat(descriptor))
        data = _read(descriptor, limit)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise SpecFault(f"{path} is larger than {limit} bytes")
    return data


def _require_private(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise SpecFault(f"{path} is not a plain file")
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise SpecFault(f"{path} is open to other users (mode {mode:04o}): chmod 600 {path}")


def _read(descriptor: int, limit: int) -> bytes:
    """All bytes, or one more than `limit`."""
    data = b""
    while len(data) <= limit and (part := os.read(descriptor, limit + 1 - len(data))):
        data += part
    return data
