"""The files of overlays in the state folder: written once, whole, and never changed."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controller.errors import EnvironmentFault, SpecFault
from controller.model.payload import Payload, part_of, payload_of
from controller.model.reading import Known, Unknown
from controller.store.payloads import FilePayloads

PAYLOAD = payload_of([part_of("a/fix.py", b"x = 1\n"), part_of("b.sh", b"true\n")])


def test_what_is_put_is_there_and_cannot_be_written(tmp_path: Path) -> None:
    """Given a payload, when it is put, then its files are there, readable by every user and writable by none."""
    store = FilePayloads(tmp_path / "state" / "overlays")
    assert store.has(PAYLOAD.key) == Known(False)
    store.put(PAYLOAD)
    assert store.has(PAYLOAD.key) == Known(True)
    top = Path(store.folder) / PAYLOAD.key
    assert (top / "a" / "fix.py").read_bytes() == b"x = 1\n"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (top, *top.rglob("*"))}
    assert modes == {0o555, 0o444}
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert [path.name for path in Path(store.folder).iterdir()] == [PAYLOAD.key]


def test_a_payload_is_never_written_again(tmp_path: Path) -> None:
    """Given a payload that is there, when it is put again, then the files are the same ones."""
    store = FilePayloads(tmp_path)
    store.put(PAYLOAD)
    before = (tmp_path / PAYLOAD.key / "b.sh").stat()
    store.put(PAYLOAD)
    after = (tmp_path / PAYLOAD.key / "b.sh").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_many_writers_at_once_leave_one_payload(tmp_path: Path) -> None:
    """Given one payload, when many threads put it, then it is there once and nothing else is left."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: FilePayloads(tmp_path).put(PAYLOAD), range(24)))
    assert [path.name for path in tmp_path.iterdir()] == [PAYLOAD.key]
    assert FilePayloads(tmp_path).faults(PAYLOAD.key, PAYLOAD.parts) == ()


def test_a_changed_file_is_found(tmp_path: Path) -> None:
    """Given a file that a hand has changed and one that is gone, when it is proven, then both are named."""
    store = FilePayloads(tmp_path)
    store.put(PAYLOAD)
    (tmp_path / PAYLOAD.key).chmod(0o755)
    (tmp_path / PAYLOAD.key / "b.sh").chmod(0o644)
    (tmp_path / PAYLOAD.key / "b.sh").write_text("false\n")
    (tmp_path / PAYLOAD.key / "a").chmod(0o755)
    (tmp_path / PAYLOAD.key / "a" / "fix.py").unlink()
    gone, changed = store.faults(PAYLOAD.key, PAYLOAD.parts)
    assert "a/fix.py cannot be read" in gone
    assert "b.sh was changed after it was written" in changed


def test_what_is_not_at_hand_is_not_written(tmp_path: Path) -> None:
    """Given a payload that has to be fetched, when it is put, then that is refused."""
    with pytest.raises(SpecFault, match="not at hand"):
        FilePayloads(tmp_path).put(Payload("a" * 64))


def test_a_key_is_no_path(tmp_path: Path) -> None:
    """Given a key that leads elsewhere, when files are written under it, then that is refused."""
    with pytest.raises(SpecFault, match="no key"):
        FilePayloads(tmp_path).write("../up", {})


def test_a_folder_that_cannot_be_used_is_the_surroundings_fault(tmp_path: Path) -> None:
    """Given a file where the folder should be, when it is used, then a look is Unknown and a write is an environment fault."""
    (tmp_path / "overlays").write_text("")
    store = FilePayloads(tmp_path / "overlays")
    assert isinstance(store.has(PAYLOAD.key), Unknown)
    with pytest.raises(EnvironmentFault, match="cannot be written"):
        store.put(PAYLOAD)
