"""What is written into the store is read back, for any text, and nothing of one instance touches another's."""

from __future__ import annotations

import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from controller.model.events import Event
from controller.model.fields import SecretRef
from controller.model.identity import Identity
from controller.model.moment import Instant
from controller.model.plan import Action, Cause, CreateRequest, Step
from controller.model.profile import DialectName
from controller.model.resolved import ContainerSpec, GpuBinding, Readiness, Serving
from controller.model.snapshot import SourceFile, snapshot_of
from controller.model.track import Failure, FaultClass, Override, Restarts
from controller.store.codec import decode_fields, decode_serving, decode_texts, encode_fields, encode_serving, encode_texts
from controller.store.sqlite import SqliteStore

UNHURRIED = settings(deadline=None)
TEXTS = st.text(max_size=60)
TIMES = st.floats(min_value=0, max_value=1e11)
INSTANTS = st.builds(Instant, TIMES, TIMES)
INSTANCES = st.text(alphabet=string.ascii_lowercase + string.digits + "-", min_size=1, max_size=39)
HASHES = st.text(alphabet="0123456789abcdef", min_size=8, max_size=8)
COUNTS = st.integers(min_value=0, max_value=2**53)
SERVINGS = st.builds(
    Serving,
    dialect=st.sampled_from(DialectName),
    port=st.integers(1, 65535),
    bind=TEXTS,
    served_names=st.lists(TEXTS, max_size=4).map(tuple),
    readiness=st.builds(Readiness, st.sampled_from(["dialect", "http", "tcp", "none"]), TEXTS),
    api_key=st.none() | st.from_regex(r"[A-Za-z0-9_.-]{1,64}", fullmatch=True).map(lambda name: SecretRef(secret=name)),
)
FAILURES = st.builds(
    Failure,
    INSTANCES,
    HASHES,
    TEXTS,
    TEXTS,
    TEXTS,
    st.sampled_from(FaultClass),
    TIMES,
    st.lists(TEXTS, max_size=5).map(tuple),
)
RESTARTS = st.builds(Restarts, HASHES, COUNTS, TIMES, TIMES, TEXTS)
OVERRIDES = st.builds(Override, INSTANCES, st.sampled_from(["stop", "down"]), st.none() | TIMES, TEXTS, TEXTS, TIMES)
EVENTS = st.builds(Event, INSTANTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, st.sampled_from(["info", "warning", "error"]))
FILES = st.builds(SourceFile, TEXTS, TEXTS, st.binary(max_size=200))
SPECS = st.tuples(SERVINGS, st.dictionaries(TEXTS, TEXTS, max_size=4), TEXTS)
BINDINGS = st.builds(GpuBinding, TEXTS, st.lists(TEXTS, max_size=4).map(tuple))


@contextmanager
def store() -> Iterator[SqliteStore]:
    """A store in memory."""
    opened = SqliteStore(":memory:")
    yield opened
    opened.close()


@UNHURRIED
@given(SERVINGS)
def test_serving_round_trip(serving: Serving) -> None:
    """How to ask an engine survives its encoding, the secret by name alone."""
    assert decode_serving(encode_serving(serving)) == serving


@UNHURRIED
@given(st.lists(TEXTS))
def test_texts_round_trip(texts: list[str]) -> None:
    """Log lines and card ids keep their order and every character."""
    assert decode_texts(encode_texts(texts)) == tuple(texts)


@UNHURRIED
@given(st.dictionaries(TEXTS, TEXTS))
def test_fields_round_trip(fields: dict[str, str]) -> None:
    """The values of a spec come back as they were."""
    assert decode_fields(encode_fields(fields)) == fields


@UNHURRIED
@given(st.text(alphabet=st.characters(), max_size=60))
def test_any_text_at_all_is_taken(text: str) -> None:
    """Also surrogates, which no encoding takes, only cost their form and never the write."""
    with store() as opened:
        written = opened.append(Event(Instant(1.0, 1.0), "Odd", text))
        opened.record_failure(Failure("chat", "aaaa", "c", text, text, log=(text,)))
        found = opened.events(-1, 1)[0].message
        assert found == text.encode("utf-8", "backslashreplace").decode()
        assert written.sequence == 1


@UNHURRIED
@given(st.lists(FAILURES, max_size=6), st.dictionaries(INSTANCES, RESTARTS, max_size=4), st.lists(OVERRIDES, max_size=4))
def test_records_round_trip(failures: list[Failure], restarts: dict[str, Restarts], overrides: list[Override]) -> None:
    """The newest record of a key is the one that is remembered."""
    with store() as opened:
        for failure in failures:
            opened.record_failure(failure)
        for instance, record in restarts.items():
            opened.record_restart(instance, record)
        for override in overrides:
            opened.set_override(override)
        memory = opened.memory()
    assert memory.failures == {(failure.instance, failure.spec_hash): failure for failure in failures}
    assert memory.restarts == restarts
    assert memory.overrides == {override.instance: override for override in overrides}


@UNHURRIED
@given(
    st.dictionaries(
        st.tuples(INSTANCES, HASHES), st.tuples(SERVINGS, st.dictionaries(TEXTS, TEXTS, max_size=4), TEXTS), max_size=5
    ),
    st.dictionaries(INSTANCES, BINDINGS, max_size=4),
)
def test_specs_round_trip(
    specs: dict[tuple[str, str], tuple[Serving, dict[str, str], str]], bindings: dict[str, GpuBinding]
) -> None:
    """Serving, fields and image of each spec, and the cards of each instance."""
    with store() as opened:
        for (instance, spec_hash), (serving, fields, image) in specs.items():
            opened.record_serving(instance, spec_hash, serving)
            opened.record_fields(instance, spec_hash, fields)
            opened.pin_image(instance, spec_hash, image)
        for instance, binding in bindings.items():
            opened.bind_gpus(instance, binding)
        memory = opened.memory()
        assert opened.bindings() == bindings
    assert memory.servings == {key: serving for key, (serving, _, _) in specs.items()}
    assert memory.fields == {key: fields for key, (_, fields, _) in specs.items()}
    assert memory.image_pins == {key: image for key, (_, _, image) in specs.items()}


@UNHURRIED
@given(st.lists(st.lists(FILES, max_size=4, unique_by=lambda file: file.key), min_size=1, max_size=5))
def test_last_accepted_revision_comes_back(revisions: list[list[SourceFile]]) -> None:
    """Byte by byte, whatever was accepted before."""
    with store() as opened:
        for files in revisions:
            opened.accept(snapshot_of(files), Instant(1.0, 1.0))
        assert opened.accepted() == snapshot_of(revisions[-1])


@UNHURRIED
@given(st.lists(EVENTS, max_size=8), st.integers(0, 10), st.integers(0, 10))
def test_journal_pages_join(events: list[Event], after: int, limit: int) -> None:
    """Any page is the matching cut of the whole journal."""
    with store() as opened:
        written = [opened.append(event) for event in events]
        assert [event.sequence for event in written] == list(range(1, len(events) + 1))
        assert opened.events(after, limit) == tuple(event for event in written if event.sequence > after)[:limit]
        assert opened.events(-1, limit) == (tuple(written[-limit:]) if limit else ())


def _create(instance: str, spec_hash: str, generation: int) -> Step:
    identity = Identity("rig", instance, spec_hash, generation)
    request = CreateRequest(identity, identity.container_name(), ContainerSpec("engine:1", (), 8010, 8000))
    return Step(f"create:{instance}", Action.CREATE, instance, Cause("instance"), spec_hash=spec_hash, create=request)


class CreatesAndKills(RuleBasedStateMachine):
    """A planner that asks the store for the generation, an engine whose answers get lost, and a process that is killed.

    The promise: a create whose container was not seen yet is retried under the same name, so an engine that refuses a name
    twice can never hold two containers of one spec because an answer was lost or a list lagged behind; and a generation is
    never used for two specs.
    """

    @initialize()
    def begin(self) -> None:
        """A new rig."""
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name) / "steward.db"
        self.store = SqliteStore(self.path)
        self.names: dict[tuple[str, int], str] = {}
        self.unseen: dict[str, tuple[str, int]] = {}

    @rule(
        instance=st.sampled_from(["chat", "embed"]),
        spec_hash=st.sampled_from(["aaaa", "bbbb"]),
        result=st.sampled_from(["done", "fault", "refused", "unsent", "unknown", "kill"]),
    )
    def create(self, instance: str, spec_hash: str, result: str) -> None:
        """One create as the planner makes it, and one way in which it may end."""
        memory = self.store.memory()
        generation = memory.open_creates.get((instance, spec_hash)) or memory.generations.get(instance, 0) + 1
        if (waiting := self.unseen.get(instance)) and waiting[0] == spec_hash:
            assert generation == waiting[1]
        assert self.names.setdefault((instance, generation), spec_hash) == spec_hash
        intent = self.store.begin(_create(instance, spec_hash, generation), Instant(1.0, 1.0), "p")
        if result == "kill":
            self.restart()
        else:
            self.store.finish(intent, Instant(2.0, 2.0), result, "")
        if result in ("done", "unknown", "kill"):
            self.unseen[instance] = (spec_hash, generation)
        elif waiting and waiting[0] != spec_hash:
            self.unseen.pop(instance, None)

    @rule(instance=st.sampled_from(["chat", "embed"]))
    def see(self, instance: str) -> None:
        """The container of the latest create is seen, and started."""
        if waiting := self.unseen.pop(instance, None):
            start = Step(f"start:{instance}", Action.START, instance, Cause("container"), target="c1", spec_hash=waiting[0])
            self.store.finish(self.store.begin(start, Instant(2.0, 2.0), "p"), Instant(2.0, 2.0), "done", "")

    @rule()
    def restart(self) -> None:
        """The next process opens the same file and closes what was open."""
        self.store.close()
        self.store = SqliteStore(self.path)
        self.store.close_open_intents(Instant(3.0, 3.0))

    @invariant()
    def only_unseen_creates_are_open(self) -> None:
        """Nothing is asked again whose container was seen."""
        if hasattr(self, "store"):
            expected = {(instance, spec): generation for instance, (spec, generation) in self.unseen.items()}
            assert self.store.memory().open_creates == expected

    def teardown(self) -> None:
        """Remove the rig."""
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


CreatesAndKills.TestCase.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestCreatesAndKills = CreatesAndKills.TestCase
