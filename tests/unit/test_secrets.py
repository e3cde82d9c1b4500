"""Secrets are read from private files only, and their digest tells of a change without telling the value."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controller.errors import NotFound, SpecFault, StewardError, StoreDamaged
from controller.store.secrets import MAX_BYTES, FileSecrets


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder with a folder for secrets."""
    (tmp_path / "secrets").mkdir(mode=0o700)
    return tmp_path


def secrets_of(state: Path) -> FileSecrets:
    """As the composition root makes it."""
    return FileSecrets(state / "secrets", state / "secret.key")


def put(state: Path, name: str, data: bytes, mode: int = 0o600) -> None:
    """Write a secret as a person would."""
    path = state / "secrets" / name
    path.write_bytes(data)
    path.chmod(mode)


@pytest.mark.parametrize(
    ("data", "value"),
    [(b"sk-1", "sk-1"), (b"sk-1\n", "sk-1"), (b"sk-1\r\n", "sk-1"), (b"a\nb\n\n", "a\nb\n"), (" ü ".encode(), " ü ")],
)
def test_trailing_newline_is_dropped(state: Path, data: bytes, value: str) -> None:
    """One line end that an editor added is no part of the secret; anything else is."""
    put(state, "KEY", data, 0o400)
    assert secrets_of(state).reveal("KEY") == value


def test_missing_secret_names_the_file_to_write(state: Path) -> None:
    """The message can be followed as it stands; a digest of nothing is None."""
    with pytest.raises(NotFound, match=rf"no secret KEY: write it to {state}/secrets/KEY, mode 0600"):
        secrets_of(state).reveal("KEY")
    assert secrets_of(state).digest("KEY") is None
    assert FileSecrets(state / "nowhere", state / "secret.key").digest("KEY") is None
    assert not (state / "secret.key").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o610])
def test_file_open_to_others_is_refused(state: Path, mode: int) -> None:
    """A secret that others could read is not used, and the message says how to close it."""
    put(state, "KEY", b"sk-1", mode)
    with pytest.raises(SpecFault, match=rf"open to other users \(mode {mode:04o}\): chmod 600 {state}/secrets/KEY"):
        secrets_of(state).reveal("KEY")
    with pytest.raises(SpecFault):
        secrets_of(state).digest("KEY")


@pytest.mark.parametrize("name", ["", ".", "..", "../secret.key", "a/b", "/etc/shadow", "a\0b", "a b", "x" * 65, "ü", "a\n"])
def test_name_cannot_leave_the_folder(state: Path, name: str) -> None:
    """A name is a plain file name or an error."""
    with pytest.raises(SpecFault, match="is no name of a secret"):
        secrets_of(state).reveal(name)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"a\0b", "NUL"),
        (b"\xff\xfe", "not UTF-8"),
        (b"x" * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_file_that_is_no_secret_is_refused(state: Path, data: bytes, words: str) -> None:
    """What could not reach a container as it stands is an error that does not repeat the value."""
    put(state, "KEY", data)
    with pytest.raises(SpecFault, match=words):
        secrets_of(state).reveal("KEY")


def test_pipe_and_folder_do_not_hang(state: Path) -> None:
    """Reading is bounded: a pipe without a writer is refused at once."""
    os.mkfifo(state / "secrets" / "PIPE", 0o600)
    (state / "secrets" / "FOLDER").mkdir(mode=0o700)
    for name in ("PIPE", "FOLDER"):
        with pytest.raises(SpecFault, match="not a plain file"):
            secrets_of(state).reveal(name)


def test_digest_changes_with_the_value_alone(state: Path) -> None:
    """Equal values have equal digests, also in the next process; the value is not in it."""
    put(state, "A", b"sk-1\n")
    put(state, "B", b"sk-1")
    put(state, "C", b"sk-2")
    first, second = secrets_of(state), secrets_of(state)
    assert first.digest("A") == second.digest("B") != first.digest("C")
    digest = first.digest("A")
    assert digest is not None
    assert len(digest) == 64
    assert "sk-1" not in digest


def test_digest_depends_on_the_key(state: Path) -> None:
    """Without the key nobody can try values against a digest; another key has another fingerprint."""
    put(state, "A", b"sk-1")
    here, there = secrets_of(state), FileSecrets(state / "secrets", state / "other.key")
    assert here.digest("A") != there.digest("A")
    assert here.key_id() != there.key_id()
    assert here.key_id() == secrets_of(state).key_id()


def test_key_is_made_once_and_private(state: Path) -> None:
    """32 random bytes, 0600, the same ever after, and no draft is left behind."""
    names = secrets_of(state)
    fingerprint = names.key_id()
    path = state / "secret.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_bytes()) == 32
    assert path.read_bytes().hex() not in fingerprint
    assert secrets_of(state).key_id() == fingerprint
    assert sorted(file.name for file in state.iterdir()) == ["secret.key", "secrets"]


def test_racing_processes_agree_on_one_key(state: Path) -> None:
    """Whoever is first makes the key; nobody uses another one."""
    with ThreadPoolExecutor(8) as pool:
        fingerprints = set(pool.map(lambda _: secrets_of(state).key_id(), range(16)))
    assert len(fingerprints) == 1


@pytest.mark.parametrize(("data", "mode"), [(b"short", 0o600), (b"x" * 33, 0o600), (b"", 0o600)])
def test_damaged_key_is_never_replaced(state: Path, data: bytes, mode: int) -> None:
    """A key of another length is reported and left, for a new one would make all secrets look changed."""
    (state / "secret.key").write_bytes(data)
    (state / "secret.key").chmod(mode)
    with pytest.raises(StoreDamaged, match="is damaged"):
        secrets_of(state).key_id()
    assert (state / "secret.key").read_bytes() == data


def test_key_open_to_others_is_refused(state: Path) -> None:
    """The key guards every digest, so it is held to the same rule."""
    secrets_of(state).key_id()
    (state / "secret.key").chmod(0o644)
    with pytest.raises(SpecFault, match="chmod 600"):
        secrets_of(state).key_id()


def test_key_that_cannot_be_made_is_an_environment_fault(tmp_path: Path) -> None:
    """A state folder that is a file is named."""
    (tmp_path / "state").write_text("")
    with pytest.raises(StewardError, match=r"state/secret\.key"):
        FileSecrets(tmp_path / "state" / "secrets", tmp_path / "state" / "secret.key").key_id()
