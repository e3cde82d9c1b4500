"""The catalogue's search path: which place a document comes from, and which names are not looked for at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.model.document import Document
from controller.model.snapshot import Snapshot, SourceFile, snapshot_of
from controller.ports import Catalogue
from controller.settings import Bounds
from controller.sources.document_cache import DocumentCache
from controller.sources.search_path import builtin_root, catalogue_for

BOUNDS = Bounds()
HARDWARE = "profiles/hardware"


def write(path: Path, text: str) -> Path:
    """A file with all its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def repository(**files: str) -> Snapshot:
    """A snapshot of documents by key; `__` stands for a slash."""
    return snapshot_of(
        SourceFile(f"{name.replace('__', '/')}.yml", f"repo/{name}.yml", text.encode()) for name, text in files.items()
    )


def data(catalogue: Catalogue, kind: str, identifier: str) -> object:
    """The values of a document that must be there."""
    found = catalogue.find(kind, identifier)
    assert isinstance(found, Document), found
    return found.data


def test_the_repository_wins_over_the_extra_folder(tmp_path: Path) -> None:
    """Given one id in both places, when asked, then the repository's document comes whole, and each says where it is from."""
    write(tmp_path / "composes" / "x.yml", "from: extra\nmore: 1\n")
    other = write(tmp_path / "composes" / "y.yml", "from: extra\n")
    catalogue = catalogue_for(repository(composes__x="from: repository\n"), tmp_path, BOUNDS)
    assert data(catalogue, "composes", "x") == {"from": "repository"}
    assert data(catalogue, "composes", "y") == {"from": "extra"}
    first, second = catalogue.find("composes", "x"), catalogue.find("composes", "y")
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.file, second.file) == ("repo/composes__x.yml", str(other))


def test_ids_are_paths_below_the_kind(tmp_path: Path) -> None:
    """Given documents in folders and in several places, when listed, then ids are sorted and each is there once."""
    write(tmp_path / "composes" / "mine" / "a.yml", "x: 1\n")
    write(tmp_path / "composes" / "mine" / "b.yaml", "x: 1\n")
    write(tmp_path / "composes" / "mine" / "notes.md", "x")
    catalogue = catalogue_for(repository(composes__mine__a="x: 2\n", composes__mine__c="x: 2\n"), tmp_path, BOUNDS)
    assert [name for name in catalogue.ids("composes") if name.startswith("mine/")] == ["mine/a", "mine/b", "mine/c"]
    assert data(catalogue, "composes", "mine/b") == {"x": 1}
    assert catalogue.ids("no-such-kind") == ()


def test_documents_for_others_are_found_and_not_listed(tmp_path: Path) -> None:
    """Given names that begin with `_`, when listed, then they are left out, and whoever asks for one gets it."""
    write(tmp_path / "composes" / "mine" / "_base.yml", "x: 1\n")
    catalogue = catalogue_for(repository(composes__mine__a="x: 2\n", composes___own="x: 3\n"), tmp_path, BOUNDS)
    assert [name for name in catalogue.ids("composes") if "_base" in name or "_own" in name] == []
    assert data(catalogue, "composes", "mine/_base") == {"x": 1}


@pytest.mark.parametrize("folder", ["profiles/hardware", "hardware"])
def test_the_extra_folder_may_be_profiles_itself(tmp_path: Path, folder: str) -> None:
    """Given `--profiles` with or without the folder `profiles` in it, when asked, then its documents are found."""
    write(tmp_path / folder / "my-card.yml", "id: my-card\n")
    catalogue = catalogue_for(repository(), tmp_path, BOUNDS)
    assert data(catalogue, HARDWARE, "my-card") == {"id": "my-card"}
    assert "my-card" in catalogue.ids(HARDWARE)


@pytest.mark.parametrize(
    "identifier",
    [
        "",
        "../composes/x",
        "a/../x",
        "/etc/passwd",
        "a//b",
        "a/",
        "./x",
        ".hidden",
        "a/.x",
        "a\0b",
        "a b",
        "ä",
        "x" * 300,
        "x\n",
    ],
)
def test_ids_that_leave_the_catalogue_are_not_looked_for(tmp_path: Path, identifier: str) -> None:
    """Given an id that is no plain path, when asked, then there is no such document."""
    write(tmp_path / "composes" / "x.yml", "a: 1\n")
    write(tmp_path / "x.yml", "a: 1\n")
    assert catalogue_for(repository(), tmp_path, BOUNDS).find("composes", identifier) is None


def test_an_unknown_id_is_none_and_a_broken_document_is_not(tmp_path: Path) -> None:
    """Given a broken document of ours, when asked, then its problems come back and no other place is tried."""
    write(tmp_path / "composes" / "x.yml", "fine: 1\n")
    (tmp_path / "composes" / "odd.yml").mkdir()
    catalogue = catalogue_for(repository(composes__x="a: [\n"), tmp_path, BOUNDS)
    broken, odd = catalogue.find("composes", "x"), catalogue.find("composes", "odd")
    assert isinstance(broken, tuple)
    assert broken[0].place is not None
    assert broken[0].place.file == "repo/composes__x.yml"
    assert isinstance(odd, tuple)
    assert "not a regular file" in odd[0].message
    assert catalogue.find("composes", "nowhere-at-all") is None


def test_a_missing_extra_folder_is_told(tmp_path: Path) -> None:
    """Given `--profiles` with a typing error, when something is asked that only it could have, then that is the problem."""
    catalogue = catalogue_for(repository(composes__x="a: 1\n"), tmp_path / "nowhere", BOUNDS)
    assert data(catalogue, "composes", "x") == {"a": 1}
    found = catalogue.find("composes", "y")
    assert isinstance(found, tuple)
    assert "no such folder" in found[0].message


def test_documents_are_read_when_asked_and_kept(tmp_path: Path) -> None:
    """Given a catalogue, when its folder changes after an answer, then the answer stays; what was not asked is read anew."""
    first = write(tmp_path / "composes" / "x.yml", "a: 1\n")
    second = write(tmp_path / "composes" / "y.yml", "a: [\n")
    catalogue = catalogue_for(repository(), tmp_path, BOUNDS)
    assert data(catalogue, "composes", "x") == {"a": 1}
    first.write_text("a: 2\n")
    second.write_text("a: 3\n")
    assert data(catalogue, "composes", "x") == {"a": 1}
    assert data(catalogue, "composes", "y") == {"a": 3}


def test_a_process_parses_the_same_bytes_once(tmp_path: Path) -> None:
    """Given two catalogues of one process, when a file did not change, then its document is the same; else it is read anew."""
    file = write(tmp_path / "composes" / "x.yml", "a: 1\n")
    documents = DocumentCache()
    first = catalogue_for(repository(), tmp_path, BOUNDS, documents).find("composes", "x")
    assert catalogue_for(repository(), tmp_path, BOUNDS, documents).find("composes", "x") is first
    file.write_text("a: 2\n")
    assert data(catalogue_for(repository(), tmp_path, BOUNDS, documents), "composes", "x") == {"a": 2}


def test_what_was_parsed_is_forgotten_in_the_end() -> None:
    """Given more documents than are kept, when the first is asked for again, then it is parsed anew."""
    documents = DocumentCache(most=2)
    first = documents.read("a.yml", b"a: 1\n", BOUNDS)
    documents.read("b.yml", b"a: 1\n", BOUNDS)
    assert documents.read("a.yml", b"a: 1\n", BOUNDS) is first
    documents.read("c.yml", b"a: 1\n", BOUNDS)
    documents.read("d.yml", b"a: 1\n", BOUNDS)
    assert documents.read("a.yml", b"a: 1\n", BOUNDS) is not first


def test_stewards_own_data_is_the_last_place() -> None:
    """Given nothing else, when asked, then the place is the package's data folder, or the checkout that holds it."""
    root = builtin_root()
    assert root.name == "_builtin" or (root / "controller" / "__init__.py").is_file()
    assert (root / "profiles").is_dir()


def test_overlays_are_found_beside_the_estate_and_among_the_built_in_profiles(tmp_path: Path) -> None:
    """Given records in the repository and in an extra folder, when asked, then the nearest counts, and their files are none."""
    write(tmp_path / "overlays" / "local.yml", "from: extra\n")
    write(tmp_path / "overlays" / "mine" / "settings.yml", "no: record\n")
    snapshot = repository(overlays__genesis="from: repository\n", overlays__genesis__inner="no: record\n")
    catalogue = catalogue_for(snapshot, tmp_path, BOUNDS)
    assert data(catalogue, "overlays", "genesis") == {"from": "repository"}
    assert data(catalogue, "overlays", "local") == {"from": "extra"}
    built_in = catalogue.find("overlays", "vllm-marlin-pad")
    assert isinstance(built_in, Document)
    assert built_in.file == str(builtin_root() / "profiles" / "overlays" / "vllm-marlin-pad.yml")
    assert {"genesis", "local", "vllm-marlin-pad"} <= set(catalogue.ids("overlays"))
    assert not [name for name in catalogue.ids("overlays") if "/" in name]
