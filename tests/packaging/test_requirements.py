"""The locked requirements: what a setup downloads is pinned to the byte, complete, and from wherever the user's pip looks."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob("requirements*.txt"))
PIN: Final = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>[0-9][A-Za-z0-9.]*)(?: --hash=sha256:[0-9a-f]{64})+")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def lines_of(file: Path) -> list[str]:
    """The file's lines with continued ones joined; every one of them is what pip would act on."""
    joined = re.sub(r"\s*\\\n\s*", " ", file.read_text())
    return [line for line in joined.splitlines() if line.strip()]


def pins_of(file: Path) -> dict[str, str]:
    """The version of each package in a file."""
    found = [match for line in lines_of(file) if (match := PIN.fullmatch(line))]
    return {match["name"]: match["version"] for match in found}


def asked_for(*extras: str) -> list[Requirement]:
    """What pyproject.toml depends on, with the build backend where an extra is asked for."""
    project = PROJECT["project"]
    texts = list(project["dependencies"])
    for extra in extras:
        texts += project["optional-dependencies"][extra] + PROJECT["build-system"]["requires"]
    return [Requirement(text) for text in texts]


def unmet(wanted: list[Requirement], pins: dict[str, str]) -> list[str]:
    """Each requirement, down to the last one, that no pin of a file fulfils on this platform."""
    missing: list[str] = []
    seen: set[tuple[str, str]] = set()
    left = list(wanted)
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        version = pins.get(name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            missing.append(f"{requirement}: {name} is {version or 'not there'}")
            continue
        fresh = {(name, extra) for extra in ("", *requirement.extras)} - seen
        seen |= fresh
        needs = [Requirement(text) for text in requires(name) or ()] if fresh else []
        left += [need for need in needs if _is_needed(need, {extra for _, extra in fresh})]
    return missing


def _is_needed(requirement: Requirement, extras: set[str]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_line_is_one_pinned_and_hashed_package(file: Path) -> None:
    """Given a requirements file, when its lines are read, then each is a version with hashes: no option, address or path."""
    lines = lines_of(file)
    assert [line[:80] for line in lines if not PIN.fullmatch(line)] == []
    assert len(pins_of(file)) == len(lines), "a package stands in it twice"


def test_both_files_are_there_and_agree() -> None:
    """Given the files for users and for developers, when they are compared, then the second one holds the whole first one."""
    assert [file.name for file in FILES] == ["requirements-dev.txt", "requirements.txt"]
    users, developers = pins_of(ROOT / "requirements.txt"), pins_of(ROOT / "requirements-dev.txt")
    assert users.items() <= developers.items()


@pytest.mark.parametrize(("name", "extras"), [("requirements.txt", ()), ("requirements-dev.txt", ("dev",))])
def test_the_pins_are_complete(name: str, extras: tuple[str, ...]) -> None:
    """Given the dependencies of pyproject.toml, when their own ones are followed, then every one is pinned and fits."""
    assert unmet(asked_for(*extras), pins_of(ROOT / name)) == []


def test_a_missing_or_unfit_pin_is_found() -> None:
    """Given pins without one package and with a wrong one, when they are followed, then both are named."""
    pins = pins_of(ROOT / "requirements.txt")
    del pins["starlette"]
    pins["h11"] = "0.1.0"
    found = unmet(asked_for(), pins)
    assert any("starlette is not there" in text for text in found)
    assert any("h11 is 0.1.0" in text for text in found)
