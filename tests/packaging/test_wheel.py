"""The wheel: what is in it, and that Steward works from it alone, with no checkout beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("controller", "observability", "reconcilers")
DATA = ("composes", "desired", "profiles")
TIMEOUT_S = 120


def ended(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program run to its end in a folder, with nothing of this process's settings for Python, pip or Steward."""
    environment = {key: text for key, text in os.environ.items() if not key.startswith(("PYTHON", "PIP_", "STEWARD_"))}
    environment |= {"STEWARD_STATE": str(folder / "state"), "PYTHONDONTWRITEBYTECODE": "1"}
    texts = [str(word) for word in command]
    return subprocess.run(texts, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def done(*command: str | Path, folder: Path) -> str:
    """What a program prints that must succeed."""
    result = ended(*command, folder=folder)
    assert result.returncode == 0, f"{command} ended with {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as the locked build backend makes it, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    done(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=ROOT)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a new environment: Steward from the wheel, its dependencies lent by the present environment."""
    home = tmp_path_factory.mktemp("home")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    flags = ("--no-deps", "--no-index", "--no-compile", "--no-cache-dir", "--disable-pip-version-check")
    done(sys.executable, "-m", "pip", "--python", python, "install", *flags, wheel, folder=home)
    # Only now, or else pip would find the checkout's own editable install among what is lent. Its .pth file has no effect:
    # Python reads those of the environment itself, not those of a folder that one of them names.
    own = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    (own / "lent.pth").write_text("".join(f"{sysconfig.get_path(kind)}\n" for kind in ("purelib", "platlib")))
    return python.parent


@pytest.fixture
def estate(wheel: Path, tmp_path: Path) -> Path:
    """A folder with the sample estate out of the wheel, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        sample = archive.read("controller/_builtin/desired/estate.yml")
    (tmp_path / "desired").mkdir()
    (tmp_path / "desired" / "estate.yml").write_bytes(sample)
    return tmp_path


def names_in(wheel: Path) -> list[str]:
    """The files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def read_in(wheel: Path, name: str) -> bytes:
    """A file of the wheel's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(found for found in archive.namelist() if found.endswith(f".dist-info/{name}")))


def test_three_packages_and_the_data_are_in_it(wheel: Path) -> None:
    """Given the wheel, when its files are listed, then they are the checkout's packages and data, and nothing besides."""
    names = names_in(wheel)
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == set(PACKAGES)
    code = {path.relative_to(ROOT).as_posix() for top in PACKAGES for path in (ROOT / top).rglob("*") if is_shipped(path)}
    data = {
        f"controller/_builtin/{path.relative_to(ROOT).as_posix()}"
        for top in DATA
        for path in (ROOT / top).rglob("*")
        if is_shipped(path)
    }
    assert {name for name in names if ".dist-info/" not in name} == code | data
    assert {name.split("/")[2] for name in data} == set(DATA)
    assert read_in(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()


def is_shipped(path: Path) -> bool:
    """Whether a file of the checkout belongs in the wheel."""
    return path.is_file() and "__pycache__" not in path.parts


def test_its_metadata_is_the_projects(wheel: Path) -> None:
    """Given the wheel, when its metadata is read, then name, version, Python, dependencies and program are pyproject's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    told = message_from_bytes(read_in(wheel, "METADATA"))
    assert (told["Name"], told["Version"]) == (project["name"], project["version"])
    assert told["Requires-Python"] == project["requires-python"]
    needed = [text for text in told.get_all("Requires-Dist") or () if "extra ==" not in text]
    assert sorted(needed) == sorted(text.lower() for text in project["dependencies"])
    assert b"steward = controller.cli:main" in read_in(wheel, "entry_points.txt")


def test_the_installed_program_stands_alone(installed: Path, tmp_path: Path) -> None:
    """Given the wheel in a new environment, when it is imported, then code and version come from there, not the checkout."""
    ask = (
        "import controller, observability, reconcilers; print(*(m.__file__ for m in (controller, observability, reconcilers)))"
    )
    for place in done(installed / "python", "-c", ask, folder=tmp_path).split():
        assert installed.parent in Path(place).parents
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert done(installed / "steward", "--version", folder=tmp_path) == f"steward {version}\n"


def test_the_sample_estate_is_valid_anywhere(installed: Path, estate: Path) -> None:
    """Given the sample estate outside of any checkout, when the installed program validates it, then it has no problem."""
    assert "no problems" in done(installed / "steward", "validate", "--rig", "sim", folder=estate)


def test_the_built_in_catalogue_comes_along(installed: Path, estate: Path) -> None:
    """Given an estate with a template of each engine, when it is rendered outside of a checkout, then templates are found."""
    text = "estate: [{name: one, compose: llamacpp/generic, gpus: [0], port: 8010, image: 'x:1', set: {model_file: a.gguf}}]\n"
    (estate / "desired" / "estate.yml").write_text(text)
    rendered = done(installed / "steward", "render", "one", "--rig", "2x:rtx-3090", folder=estate)
    assert "/models/a.gguf" in rendered


def test_every_module_can_be_imported(installed: Path, tmp_path: Path) -> None:
    """Given the installed program, when each of its modules is imported, then none needs a file that was left out."""
    ask = (
        "import importlib, pkgutil, controller, observability, reconcilers\n"
        "for top in (controller, observability, reconcilers):\n"
        "    for found in pkgutil.walk_packages(top.__path__, f'{top.__name__}.'):\n"
        "        if not found.name.endswith('__main__'):\n"
        "            print(importlib.import_module(found.name).__name__)\n"
    )
    imported = done(installed / "python", "-W", "error", "-c", ask, folder=tmp_path).split()
    assert {"controller.cli.run", "controller.adapters.docker.wire", "observability.server"} <= set(imported)
