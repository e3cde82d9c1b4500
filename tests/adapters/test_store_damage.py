"""A damaged state database is set aside and never guessed at, a full disk is waited for, a reader beside it does no harm."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.errors import EnvironmentFault, NotFound, OutOfSpace, StoreDamaged
from controller.model.events import Event
from controller.model.plan import Action
from controller.model.snapshot import SourceFile, snapshot_of
from controller.model.track import Failure
from controller.settings import Bounds
from controller.store.faults import translated
from controller.store.schema import LATEST
from controller.store.sqlite import SqliteStore
from tests.unit.test_store_records import NOW, create_step, step

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database lies."""
    return tmp_path / "steward.db"


def filled(path: Path, rows: int = 400) -> None:
    """A closed database with a journal, an accepted revision and records."""
    store = SqliteStore(path)
    for number in range(rows):
        store.append(Event(NOW, "Tick", f"line {number} " + "x" * 200))
    store.accept(snapshot_of([SourceFile("estate/estate.yml", "estate.yml", b"estate: []\n")]), NOW)
    store.record_fields("chat", "aaaa", {"port": "8010"})
    store.record_failure(Failure("chat", "aaaa", "c1", "Stalled", "no progress", log=("a",)))
    store.close()


def overwrite(path: Path, offset: int, data: bytes) -> None:
    """Change bytes in the middle of a file."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def sql(statement: str) -> Callable[[Path], None]:
    """A change by hand with another program."""

    def change(path: Path) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()

    return change


DAMAGES = {
    "another kind of file": lambda path: path.write_bytes(b"%PDF-1.7 not a database\n" * 500),
    "a torn header": lambda path: overwrite(path, 0, b"\0" * 512),
    "a torn middle": lambda path: overwrite(path, 4096 * 4, os.urandom(4096 * 8)),
    "a cut end": lambda path: os.truncate(path, path.stat().st_size // 2),
    "records that cannot be read back": sql("UPDATE specs SET fields = '{\"port\": 8010}'"),
    "a fault class that does not exist": sql("UPDATE failures SET fault = 'cosmic'"),
    "a list that is no list": sql("UPDATE failures SET log = 'null'"),
    "other bytes than were accepted": sql("UPDATE blobs SET data = x'00'"),
    "another program's database": sql("DROP TABLE schema_version"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_file_is_set_aside(path: Path, damage: str) -> None:
    """Whatever is wrong with the file: it is kept under another name, and a new one says that history is lost."""
    filled(path)
    DAMAGES[damage](path)
    bytes_before = path.read_bytes()

    store = SqliteStore(path)

    aside = path.with_name("steward.db.damaged-1")
    assert store.is_new()
    assert store.set_aside == aside
    assert aside.read_bytes() == bytes_before
    assert store.accepted() is None
    assert store.events(-1, 10) == ()
    store.append(Event(NOW, "Started", "again"))
    store.close()
    again = SqliteStore(path)
    assert not again.is_new()
    assert again.set_aside is None
    again.close()


def test_second_damage_keeps_the_first(path: Path) -> None:
    """Files set aside earlier are never overwritten."""
    for number in (1, 2):
        path.write_bytes(f"damage {number}".encode() * 100)
        store = SqliteStore(path)
        assert store.set_aside == path.with_name(f"steward.db.damaged-{number}")
        store.close()
    assert path.with_name("steward.db.damaged-1").read_bytes().startswith(b"damage 1")


def test_log_of_the_damaged_database_goes_with_it(path: Path) -> None:
    """A write-ahead log left behind would be played into the new database."""
    filled(path)
    path.write_bytes(b"damage" * 1000)
    path.with_name("steward.db-wal").write_bytes(b"old log")
    store = SqliteStore(path)
    assert path.with_name("steward.db.damaged-1-wal").read_bytes() == b"old log"
    assert store.events(-1, 10) == ()
    store.close()


def test_empty_file_is_a_new_database(path: Path) -> None:
    """A crash between making the file and filling it leaves no damage, only no history."""
    path.touch()
    store = SqliteStore(path)
    assert store.is_new()
    assert store.set_aside is None
    store.close()


def test_newer_schema_is_left_alone(path: Path) -> None:
    """An older Steward does not set a newer one's database aside: it says what to do."""
    filled(path)
    sql(f"INSERT INTO schema_version VALUES ({LATEST + 1}, 'later')")(path)
    before = path.read_bytes()
    with pytest.raises(EnvironmentFault, match="newer Steward"):
        SqliteStore(path)
    with pytest.raises(EnvironmentFault, match="newer Steward"):
        SqliteStore.open_readonly(path)
    assert path.read_bytes() == before


def test_reader_never_sets_aside(path: Path) -> None:
    """Who only reads reports damage and leaves the file where it is."""
    path.write_bytes(b"damage" * 1000)
    with pytest.raises(StoreDamaged):
        SqliteStore.open_readonly(path)
    assert [file.name for file in path.parent.iterdir()] == ["steward.db"]


def test_full_disk_is_out_of_space(path: Path) -> None:
    """SQLite's own word for a full disk becomes OutOfSpace, and what was written before stays readable."""
    filled(path, rows=10)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA max_page_count = 1")
    insert = "INSERT INTO blobs VALUES ('d', zeroblob(100000))"
    with pytest.raises(OutOfSpace, match="no space left"), translated(path):
        connection.execute(insert)
    connection.close()
    store = SqliteStore(path)
    assert len(store.events(-1, 100)) == 10
    store.close()


def test_failed_write_leaves_nothing_half_done(path: Path) -> None:
    """A method that fails in the middle is rolled back, and the next one works."""
    store = SqliteStore(path)
    twice = SourceFile("estate/a.yml", "a.yml", b"x")
    broken = snapshot_of([twice])
    sql("CREATE TRIGGER refuse BEFORE INSERT ON revision_files BEGIN SELECT raise(ABORT, 'refused'); END")(path)
    with pytest.raises(EnvironmentFault, match="refused"):
        store.accept(broken, NOW)
    assert store.accepted() is None
    sql("DROP TRIGGER refuse")(path)
    store.accept(broken, NOW)
    assert store.accepted() == broken
    store.close()


def test_retention_keeps_the_newest(path: Path) -> None:
    """Journal, intents, revisions and specs are bounded; what is in force or open is kept whatever its age."""
    bounds = Bounds(journal_rows=5, revisions_kept=2)
    store = SqliteStore(path, bounds)
    opened = store.begin(create_step(), NOW, "p")
    for number in range(20):
        store.append(Event(NOW, "Tick", str(number)))
        store.finish(store.begin(step(Action.STOP), NOW, "p"), NOW, "done", "")
        store.accept(snapshot_of([SourceFile("estate/e.yml", "e.yml", str(number).encode())]), NOW)
        store.pin_image("chat", f"hash-{number}", "sha256:1")
    assert [event.message for event in store.events(0, 100)] == ["15", "16", "17", "18", "19"]
    accepted = store.accepted()
    assert accepted is not None
    assert accepted.files[0].data == b"19"
    assert set(store.memory().image_pins) == {("chat", "hash-18"), ("chat", "hash-19")}
    assert store.close_open_intents(NOW) == 1
    store.close()
    with sqlite3.connect(path) as raw:
        counts = {name: raw.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("intents", "revisions", "blobs")}
        assert raw.execute("SELECT count(*) FROM intents WHERE id = ?", (opened,)).fetchone() == (1,)
    raw.close()
    assert counts == {"intents": 6, "revisions": 2, "blobs": 2}


def test_specs_that_were_ready_outlive_the_others(path: Path) -> None:
    """A container may run for longer than the specs that never came to be: how to ask it is kept."""
    store = SqliteStore(path, Bounds(revisions_kept=2))
    store.pin_image("chat", "running", "sha256:1")
    store.mark_ready("c1", "chat", "running", 1.0, 1.0)
    for number in range(5):
        store.pin_image("chat", f"hash-{number}", "sha256:2")
    assert ("chat", "running") in store.memory().image_pins
    store.close()


def test_failures_outlive_their_logs(path: Path) -> None:
    """A failed spec is never tried again by itself, so only the log lines of old failures go."""
    store = SqliteStore(path, Bounds(revisions_kept=2))
    for number in range(5):
        store.record_failure(Failure("chat", f"hash-{number}", "c", "Stalled", "no progress", log=("line",)))
    logs = {spec_hash: failure.log for (_, spec_hash), failure in store.memory().failures.items()}
    assert logs == {"hash-0": (), "hash-1": (), "hash-2": (), "hash-3": ("line",), "hash-4": ("line",)}
    store.close()


WRITER = """
    import sys
    from pathlib import Path
    from controller.model.events import Event
    from controller.model.moment import Instant
    from controller.store.sqlite import SqliteStore
    from tests.unit.test_store_records import create_step

    store = SqliteStore(Path(sys.argv[1]))
    number = 0
    while True:
        number += 1
        now = Instant(float(number), float(number))
        intent = store.begin(create_step(generation=number), now, "p")
        event = store.append(Event(now, "Tick", "x" * 300))
        print(number, event.sequence, flush=True)
        if number % 2:
            store.finish(intent, now, "done", "")
"""


def start_writer(path: Path) -> subprocess.Popen[str]:
    """A process that writes and tells of each write once it is on disk."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(path)], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )


def kill_after(writer: subprocess.Popen[str], lines: int) -> tuple[int, int]:
    """SIGKILL once so many writes were told of; the last generation and sequence number that were."""
    assert writer.stdout is not None
    told = [writer.stdout.readline() for _ in range(lines)]
    writer.send_signal(signal.SIGKILL)
    told += writer.stdout.readlines()
    writer.wait(10)
    writer.stdout.close()
    generation, sequence = [line for line in told if line.endswith("\n")][-1].split()
    return int(generation), int(sequence)


@pytest.mark.parametrize("lines", [1, 7, 60])
def test_git_29_nothing_told_is_lost_by_a_kill(path: Path, lines: int) -> None:
    """git-29: SIGKILL at any moment leaves a sound database with every write that had returned."""
    generation, sequence = kill_after(start_writer(path), lines)
    store = SqliteStore(path)
    assert store.set_aside is None
    assert not store.is_new()
    assert store.events(-1, 1)[0].sequence in (sequence, sequence + 1)
    assert store.memory().generations["chat"] in (generation, generation + 1)
    assert store.close_open_intents(NOW) >= generation // 2
    store.close()


def test_reader_sees_whole_states_while_the_writer_runs(path: Path) -> None:
    """Another process reads at any time and always finds numbers without a gap."""
    writer = start_writer(path)
    assert writer.stdout is not None
    writer.stdout.readline()
    reader = SqliteStore.open_readonly(path)
    seen = []
    for _ in range(200):
        tail = reader.events(-1, 50)
        sequences = [event.sequence for event in tail]
        assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
        seen.append(sequences[-1])
        assert reader.memory().generations["chat"] >= seen[-1]
    kill_after(writer, 1)
    assert seen == sorted(seen)
    assert reader.events(-1, 1)
    reader.close()


def test_reader_cannot_write(path: Path) -> None:
    """The reading half has no way to change anything, not even by SQL."""
    filled(path, rows=1)
    reader = SqliteStore.open_readonly(path)
    with pytest.raises(EnvironmentFault, match="readonly"), reader._transaction("BEGIN IMMEDIATE") as db:
        db.execute("DELETE FROM events")
    reader.close()


def test_reader_works_without_a_writer(path: Path) -> None:
    """`events` and `status` of a Steward that was killed are there to be read, and the next writer is not disturbed."""
    kill_after(start_writer(path), 3)
    reader = SqliteStore.open_readonly(path)
    assert len(reader.events(0, 100)) >= 3
    store = SqliteStore(path)
    store.append(Event(NOW, "Started", "again"))
    assert reader.events(-1, 1)[0].message == "again"
    store.close()
    reader.close()


def test_reader_of_an_empty_file_waits_for_its_maker(path: Path) -> None:
    """Between making the file and filling it there is nothing to read yet."""
    path.touch()
    with pytest.raises(NotFound, match="just being made"):
        SqliteStore.open_readonly(path)


def test_other_threads_may_read(path: Path) -> None:
    """The HTTP thread reads the journal through the writer's own store while the loop writes."""
    store = SqliteStore(path)
    errors: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(100):
                store.events(-1, 10)
                store.memory()
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(50):
        store.append(Event(NOW, "Tick", str(number)))
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert len(store.events(0, 100)) == 50
    store.close()
