"""The folder of a demo: what is put there, what is left alone, and when it goes away again."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.cli.demo_folder import DemoFolder, made
from controller.cli.demo_rig import RIG
from controller.errors import UsageError
from controller.model.rig import RigFacts
from controller.settings import Bounds, Settings
from controller.simulation.script_file import Simulation
from tests.doc_tables import ROOT

SAMPLE = (ROOT / "desired" / "estate.yml").read_text()


def is_free(port: int) -> bool:
    """On this machine every port is."""
    return port > 0


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DemoFolder:
    """A folder of the usual kind, on a machine with all ports free."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return made(None, RIG, is_free)


def test_a_demo_begins_with_the_sample_estate(temporary: DemoFolder) -> None:
    """Given nothing, when a folder is made, then it has the sample and a rig file, and a controller is told to use them."""
    assert temporary.path.name.startswith("steward-demo-")
    assert temporary.estate.read_text() == SAMPLE
    assert temporary.rig.read_text() == RIG
    settings = temporary.settings(Settings(Path("desired"), Path("state"), Path("lock"), profiles=Path("more")))
    assert (settings.estate, settings.state) == (temporary.path / "desired", temporary.path / "state")
    assert (settings.rig, settings.profiles) == (f"sim:{temporary.rig}", None)


def test_taken_ports_are_replaced(tmp_path: Path) -> None:
    """Given a machine where 8010 and 8012 are taken, when the sample is copied, then it has a free port in place of 8010."""
    folder = made(tmp_path / "demo", RIG, lambda port: port not in (8010, 8012))
    assert folder.moved == {8010: 8013}
    assert folder.estate.read_text() == SAMPLE.replace("8010", "8013")


def test_an_untouched_temporary_folder_goes_away(temporary: DemoFolder) -> None:
    """Given a demo that has only written its state, when it ends, then nothing of it is left."""
    temporary.state.mkdir()
    (temporary.state / "steward.db").write_text("")
    assert temporary.remove()
    assert not temporary.path.exists()


@pytest.mark.parametrize("name", ["desired/estate.yml", "rig.yml", "desired/more.yml", "composes/mine.yml"])
def test_what_a_person_wrote_stays(temporary: DemoFolder, name: str) -> None:
    """Given a file that somebody changed or added, when the demo ends, then the folder stays as it is."""
    file = temporary.path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("estate: []\n")
    assert not temporary.remove()
    assert file.read_text() == "estate: []\n"


def test_a_file_that_was_taken_away_counts_as_a_change(temporary: DemoFolder) -> None:
    """Given a rig file that somebody removed, when the demo ends, then the folder stays."""
    temporary.rig.unlink()
    assert not temporary.remove()


def test_a_folder_of_ones_own_is_used_as_it_is(tmp_path: Path) -> None:
    """Given a folder with an estate, when a demo works in it, then only what is missing is added and all of it stays."""
    (tmp_path / "desired").mkdir()
    (tmp_path / "desired" / "home.yaml").write_text("estate: []\n")
    folder = made(tmp_path, RIG, is_free)
    assert folder.estate == tmp_path / "desired" / "home.yaml"
    assert [path.name for path in folder.written] == ["rig.yml"]
    assert not folder.remove()
    assert folder.rig.exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """Given a file in the way, when the folder is made, then the sentence names it."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="file/desired: Not a directory"):
        made(tmp_path / "file", RIG, is_free)


@pytest.mark.parametrize("more", [False, True], ids=["as it is", "with what its comments offer"])
def test_the_rig_file_is_right(tmp_path: Path, more: bool) -> None:
    """Given the rig file of a demo, when it is read, with or without its commented parts, then it has no problem."""
    from controller.app.files import facts_of, simulation_at

    text = "".join(line.replace("# ", "", 1) if more and _is_offered(line) else line for line in RIG.splitlines(keepends=True))
    (tmp_path / "rig.yml").write_text(text)
    facts = facts_of(Settings(tmp_path, tmp_path, tmp_path, rig=f"sim:{tmp_path / 'rig.yml'}"))
    assert isinstance(facts, RigFacts)
    simulation = simulation_at(tmp_path / "rig.yml", Bounds())
    assert isinstance(simulation, Simulation)
    assert len(simulation.cards) == (2 if more else 0)
    assert ("code" in simulation.engines) == more


def _is_offered(line: str) -> bool:
    """Whether a comment holds keys that one may uncomment."""
    return line.startswith(" ") and line.lstrip().startswith("# ") and (":\n" in line or ": " in line)
