"""The bad files of git-05 to 08 before the eyes of a running controller: nothing of them is ever applied."""

from __future__ import annotations

import pytest

from controller.model.snapshot import Snapshot
from controller.settings import Bounds
from controller.sources.file_source import FileSource
from tests.docker.harness import Entry, Steward, free_port, until
from tests.scenarios.looking import condition, engines, kinds, newest
from tests.scenarios.yaml_inputs import FILES, Bad

pytestmark = pytest.mark.docker


@pytest.mark.timeout(300)
def test_git_05_to_08_nothing_of_a_bad_file_is_applied(steward: Steward) -> None:
    """Given two engines, when every bad file takes the estate's place in turn, then each is refused and no engine moves."""
    a, b = Entry("a", free_port()), Entry("b", free_port())
    steward.write(a, b)
    steward.start()
    steward.converged()
    before, mark = engines(steward), newest(steward)
    for bad in FILES:
        fresh = steward.estate.with_name(".fresh")
        fresh.write_bytes(bad.content if isinstance(bad.content, bytes) else bad.content.encode())
        fresh.replace(steward.estate)
        _refused(steward, bad)
        assert engines(steward) == before, bad.name
    said = kinds(steward, mark)
    assert len(said) >= len(FILES)
    assert set(said) <= {"RevisionRefused", "SourceUnreadable", "SourceReady"}
    steward.write(a, Entry("b", b.port, args=("--sim-tps", "99")))
    steward.converged()
    assert engines(steward)["a"] == before["a"]
    assert engines(steward)["b"] != before["b"]


def _refused(steward: Steward, bad: Bad) -> None:
    found = FileSource(steward.estate.parent, Bounds()).read()
    wanted = found.revision if isinstance(found, Snapshot) else ""
    place = ":".join(str(part) for part in min(bad.places))

    def holds() -> bool:
        config = condition(steward, "ConfigAccepted")
        seen = not wanted or steward.status()["revision"]["desired"] == wanted
        return seen and config["status"] == "False" and f"estate.yml:{place}: " in config["message"]

    until(holds, lambda: f"the refusal of {bad.name}; now {condition(steward, 'ConfigAccepted')}")
