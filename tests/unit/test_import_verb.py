"""`steward import`, as people call it: what is printed where, what is written, and how it ends."""

from __future__ import annotations

from tests.unit.cli import Steward

OLDER = "rig: {gpu_count: 2}\nestate:\n  - {name: main, compose_name: vllm/dual, gpus: [0, 1], port: 8010, size: 3}\n"


def test_the_estate_goes_to_stdout_and_the_rest_to_stderr(steward: Steward) -> None:
    """Given an older estate, when it is imported, then stdout is the estate alone, which is valid, and stderr has each loss."""
    (steward.folder / "old.yml").write_text(OLDER)
    ended = steward("import", "old.yml")
    assert ended.code == 0
    steward.write(ended.out)
    assert steward("validate", "--rig", "2x:rtx-3090").code == 0
    assert ended.err.splitlines() == [
        "old.yml:3:69: not carried: size means nothing to Steward",
        "    hint: `steward schema` tells the keys of an entry",
        "old.yml:1:7: carried otherwise: rig.gpu_count is not needed: Steward asks the driver for the cards",
        "old.yml:3:32: carried otherwise: vllm/dual has been given to a newer template; the estate keeps the one that the file"
        " meant, historical/vllm/dual",
        "    hint: write compose: vllm/dual to take the newer one",
        "1 thing not carried, 2 carried otherwise",
    ]


def test_only_a_new_file_is_written(steward: Steward) -> None:
    """Given --output, when the file is new, then it is written with its folder; one that exists is left as it is."""
    (steward.folder / "old.yml").write_text(OLDER)
    ended = steward("import", "old.yml", "--current", "--output", "new/estate.yml")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith("wrote new/estate.yml\n")
    assert "compose: vllm/dual\n" in (steward.folder / "new" / "estate.yml").read_text()
    (steward.folder / "new" / "estate.yml").write_text("mine")
    ended = steward("import", "old.yml", "--output", "new/estate.yml")
    assert (ended.code, ended.err) == (64, "steward: new/estate.yml exists already; nothing is written\n")
    assert (steward.folder / "new" / "estate.yml").read_text() == "mine"
    assert not (steward.folder / "desired").exists()


def test_everything_carried_is_said(steward: Steward) -> None:
    """Given an estate with nothing to lose and its variables, when it is imported, then that is said and used."""
    (steward.folder / "old.yml").write_text("estate: [{name: a, compose: llamacpp/default, gpus: [0], port: 8010}]")
    (steward.folder / ".env").write_text("CTX_SIZE=65536\nMODEL_DIR=m\n")
    ended = steward("import", "old.yml", "--env-file", ".env")
    assert (ended.code, ended.err) == (0, "everything was carried\n")
    assert f"paths: {{models: {steward.folder}/m}}" in ended.out
    assert "max_model_len: 65536" in ended.out


def test_an_estate_that_is_not_valid_yet_ends_with_1(steward: Steward) -> None:
    """Given a template that there is not, when its estate is imported, then it is printed, and what is wrong is told."""
    (steward.folder / "old.yml").write_text("estate: [{name: a, compose: vllm/duel, gpus: [0], port: 8010}]")
    ended = steward("import", "old.yml")
    assert ended.code == 1
    assert "compose: vllm/duel" in ended.out
    assert "the estate needs a hand before it is valid:\nthe estate above:" in ended.err
    assert "there is no template vllm/duel [compose]" in ended.err


def test_files_that_cannot_be_imported(steward: Steward) -> None:
    """Given files that are not there, no YAML, or something else, when they are imported, then it is said what they are."""
    (steward.folder / "x.yml").write_text("a: 1\n")
    (steward.folder / "bad.yml").write_text("a: [\n")
    ended = steward("import", "gone.yml")
    assert (ended.code, ended.err) == (64, "steward: there is no file gone.yml\n")
    ended = steward("import", "x.yml", "--env-file", "gone.env")
    assert (ended.code, ended.err) == (64, "steward: there is no file gone.env\n")
    ended = steward("import", "x.yml")
    assert (ended.code, ended.out) == (64, "")
    assert "neither an `estate` nor `services`" in ended.err
    (steward.folder / "merged.yml").write_text("x-a: &a {image: b}\nservices: {c: {<<: *a}}\n")
    assert "`docker compose config` prints the file" in steward("import", "merged.yml").err
    ended = steward("import", "bad.yml")
    assert ended.code == 1
    assert "bad.yml:" in ended.err
