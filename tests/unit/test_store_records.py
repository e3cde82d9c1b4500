"""The state database gives back what was written, in this process and in the next."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.errors import NotFound, StewardError
from controller.model.events import Event
from controller.model.fields import SecretRef
from controller.model.identity import Identity
from controller.model.moment import Instant
from controller.model.plan import Action, Cause, CreateRequest, Step
from controller.model.profile import DialectName
from controller.model.resolved import ContainerSpec, GpuBinding, Readiness, Serving
from controller.model.snapshot import Snapshot, SourceFile, snapshot_of
from controller.model.track import Failure, FaultClass, Override, Restarts
from controller.settings import Bounds
from controller.store.sqlite import SqliteStore

NOW = Instant(1_800_000_000.25, 41.5)
LATER = Instant(1_800_000_060.25, 101.5)
SPEC = ContainerSpec(image="engine:1", argv=(), port=8010, container_port=8000)


def create_step(instance: str = "chat", spec_hash: str = "aaaa", generation: int = 1) -> Step:
    """A create as the planner makes it."""
    identity = Identity("rig", instance, spec_hash, generation)
    request = CreateRequest(identity, identity.container_name(), SPEC)
    return Step(
        f"create:{instance}", Action.CREATE, instance, Cause("port", "8010", "8011"), spec_hash=spec_hash, create=request
    )


def step(action: Action, instance: str = "chat", target: str = "c1", spec_hash: str = "aaaa") -> Step:
    """Any other step."""
    return Step(f"{action}:{instance}", action, instance, Cause("port", "8010", "8011"), target=target, spec_hash=spec_hash)


Reopen = Callable[[], SqliteStore]


@pytest.fixture
def reopened(tmp_path: Path) -> Iterator[Reopen]:
    """Opens the same database anew, as the next process would; the one before is closed."""
    opened: list[SqliteStore] = []

    def reopen() -> SqliteStore:
        for store in opened:
            store.close()
        opened.append(SqliteStore(tmp_path / "state" / "steward.db"))
        return opened[-1]

    yield reopen
    opened[-1].close()


def test_files_are_private(reopened: Reopen, tmp_path: Path) -> None:
    """The folder is 0700, the database and its companions 0600, whatever the umask."""
    reopened().append(Event(NOW, "Started", "hello"))
    folder = tmp_path / "state"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
    assert modes["steward.db"] == 0o600
    assert set(modes.values()) == {0o600}


def test_too_open_file_is_closed_to_others(reopened: Reopen, tmp_path: Path) -> None:
    """A database that others could read is private again after the next start."""
    reopened().close()
    path = tmp_path / "state" / "steward.db"
    path.chmod(0o644)
    reopened()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_only_the_maker_is_new(reopened: Reopen) -> None:
    """`is_new` tells that history may be lost, so it holds for the process that made the file alone."""
    assert reopened().is_new()
    assert not reopened().is_new()


def test_durable_settings_hold(reopened: Reopen, tmp_path: Path) -> None:
    """Write-ahead log, so that readers never wait for the writer."""
    reopened()
    assert (tmp_path / "state" / "steward.db-wal").exists()


def test_records_survive_the_process(reopened: Reopen) -> None:
    """Every record of the planner's memory is there after a restart, equal to what was written."""
    store = reopened()
    failure = Failure("chat", "aaaa", "c1", "OutOfMemory", "no room", FaultClass.TRANSIENT, 12.5, ("line one", "zwei\tü"))
    restarts = Restarts("aaaa", 3, 10.5, 90.25, "exited with code 0")
    override = Override("embed", "stop", None, "maintenance", "root", 5.0)
    serving = Serving(
        DialectName.LLAMACPP, 8010, "0.0.0.0", ("chat", "gpt"), Readiness("http", "/up"), SecretRef(secret="CHAT_KEY")
    )
    store.record_failure(failure)
    store.record_restart("chat", restarts)
    store.set_override(override)
    store.record_serving("chat", "aaaa", serving)
    store.record_fields("chat", "aaaa", {"port": "8010", "image": "engine:1"})
    store.pin_image("chat", "aaaa", "sha256:1")
    store.mark_ready("c1", "chat", "aaaa", 77.5, 12.0)
    store.bind_gpus("chat", GpuBinding("[0, 1]", ("GPU-b", "GPU-a")))

    after = reopened()
    memory = after.memory()
    assert memory.failures == {("chat", "aaaa"): failure}
    assert memory.restarts == {"chat": restarts}
    assert memory.overrides == {"embed": override}
    assert memory.servings == after.servings() == {("chat", "aaaa"): serving}
    assert memory.fields == {("chat", "aaaa"): {"port": "8010", "image": "engine:1"}}
    assert memory.image_pins == {("chat", "aaaa"): "sha256:1"}
    assert memory.ready_marks == {"c1": 77.5}
    assert after.bindings() == {"chat": GpuBinding("[0, 1]", ("GPU-b", "GPU-a"))}


def test_a_person_clears_failures(reopened: Reopen) -> None:
    """`start NAME` forgets the failures and restarts of that instance and no other's."""
    store = reopened()
    for instance in ("chat", "embed"):
        store.record_failure(Failure(instance, "aaaa", "c", "Stalled", "no progress"))
        store.record_restart(instance, Restarts("aaaa", 1, 0.0, 1.0))
    store.clear_failures("chat")
    assert {key[0] for key in store.memory().failures} == {"embed"}
    assert set(store.memory().restarts) == {"embed"}
    store.clear_restarts("embed")
    assert store.memory().restarts == {}


def test_overrides_come_and_go(reopened: Reopen) -> None:
    """The newest word of a person counts, and its end is kept as well."""
    store = reopened()
    store.set_override(Override("chat", "stop", 5.0, "", "root", 1.0))
    store.set_override(Override("chat", "down", None, "", "root", 2.0))
    assert store.memory().overrides["chat"].verb == "down"
    store.clear_override("chat")
    assert reopened().memory().overrides == {}


def test_pin_and_first_readiness_stay(reopened: Reopen) -> None:
    """A tag that moved moves no pin, and a container is ready for the first time once."""
    store = reopened()
    store.pin_image("chat", "aaaa", "sha256:1")
    store.pin_image("chat", "aaaa", "sha256:2")
    store.mark_ready("c1", "chat", "aaaa", 1.0, 1.0)
    store.mark_ready("c1", "chat", "aaaa", 2.0, 1.0)
    assert store.memory().image_pins == {("chat", "aaaa"): "sha256:1"}
    assert store.memory().ready_marks == {"c1": 1.0}


def test_accepted_revision_keeps_its_bytes(reopened: Reopen) -> None:
    """The revision in force comes back byte by byte, also one that was in force before."""
    first = snapshot_of([SourceFile("estate/estate.yml", "desired/estate.yml", b"estate: []\r\n\x00\xff")])
    second = snapshot_of([*first.files, SourceFile("composes/own.yml", "composes/own.yml", b"")], commit="0123456789abcdef")
    store = reopened()
    assert store.accepted() is None
    store.accept(first, NOW)
    store.accept(second, NOW)
    assert reopened().accepted() == second
    reopened().accept(first, LATER)
    assert reopened().accepted() == first


def test_revision_with_one_file_twice(reopened: Reopen) -> None:
    """Two files of equal content share their bytes and both come back."""
    twice = Snapshot((SourceFile("estate/a.yml", "a.yml", b"x"), SourceFile("estate/b.yml", "b.yml", b"x")), "r1")
    store = reopened()
    store.accept(twice, NOW)
    assert store.accepted() == twice


def test_journal_is_numbered_and_paged(reopened: Reopen) -> None:
    """Sequence numbers only grow, `after` pages forward, -1 asks for the tail."""
    store = reopened()
    written = [store.append(Event(NOW, "Tick", f"number {n}", "chat", "port", "p1", "warning")) for n in range(5)]
    assert [event.sequence for event in written] == [1, 2, 3, 4, 5]
    store = reopened()
    assert store.events(-1, 2) == tuple(written[3:])
    assert store.events(0, 2) == tuple(written[:2])
    assert store.events(2, 100) == tuple(written[2:])
    assert store.events(5, 100) == ()
    assert store.events(-1, 0) == ()
    assert store.append(Event(NOW, "Tick", "next")).sequence == 6


def test_text_that_no_encoding_takes_is_kept_readable(reopened: Reopen) -> None:
    """A log line with a stray surrogate is written escaped instead of ending the pass."""
    store = reopened()
    store.append(Event(NOW, "Odd", "bad \udcff byte"))
    store.record_failure(Failure("chat", "aaaa", "c1", "Odd", "\ud800", log=("\udc80",)))
    assert store.events(-1, 1)[0].message == "bad \\udcff byte"
    assert store.memory().failures[("chat", "aaaa")].log == ("\\udc80",)


def test_forget_drops_an_instance_and_keeps_its_history(reopened: Reopen) -> None:
    """After the prune of an orphan nothing of it is left but the journal; the others are untouched."""
    store = reopened()
    for instance in ("chat", "embed"):
        store.begin(create_step(instance), NOW, "p1")
        store.finish(store.begin(step(Action.START, instance), NOW, "p1"), NOW, "done", "")
        store.record_failure(Failure(instance, "aaaa", "c", "Stalled", "no progress"))
        store.record_restart(instance, Restarts("aaaa", 1, 0.0, 1.0))
        store.set_override(Override(instance, "stop", None, "", "root", 1.0))
        store.pin_image(instance, "aaaa", "sha256:1")
        store.mark_ready(f"c-{instance}", instance, "aaaa", 1.0, 1.0)
        store.bind_gpus(instance, GpuBinding("[0]", ("GPU-a",)))
        store.append(Event(NOW, "Tick", "", instance))
    store.forget(["chat", "never-known"])
    memory = store.memory()
    keys = {*memory.restarts, *memory.overrides, *memory.generations, *store.bindings(), *store.last_actions()}
    assert keys | {key[0] for key in [*memory.failures, *memory.image_pins, *memory.open_creates]} == {"embed"}
    assert memory.ready_marks == {"c-embed": 1.0}
    assert [event.instance for event in store.events(0, 10)] == ["chat", "embed"]


def test_memory_database_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`:memory:` is a store like any other and leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    store = SqliteStore(":memory:", Bounds())
    store.append(Event(NOW, "Started", "hello"))
    assert store.is_new()
    assert store.events(-1, 10)[0].message == "hello"
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_unusable_folder_is_named(tmp_path: Path) -> None:
    """A state folder that is a file gets a sentence with the path and the flag that changes it."""
    (tmp_path / "state").write_text("")
    with pytest.raises(StewardError, match=r"state/steward\.db cannot be opened.*--state"):
        SqliteStore(tmp_path / "state" / "steward.db")


def test_reader_without_database_says_so(tmp_path: Path) -> None:
    """`events` before the first `run` gets a sentence and makes no file."""
    with pytest.raises(NotFound, match="has not run"):
        SqliteStore.open_readonly(tmp_path / "steward.db")
    assert list(tmp_path.iterdir()) == []
