"""What Steward asks of a registry, held against Debian's docker-registry and against the stand-in of the unit tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.adapters.http.image_registry import ImageRegistries, Seen
from controller.model.profile_engine import AvailabilityState
from controller.settings import Bounds
from tests.conftest import require
from tests.docker.registry import Fault, Registry, registry_program, running_registry
from tests.fakes.image_registry import registry

Named = Callable[..., str]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A real registry with one image."""
    program, problem = registry_program()
    require("registry", bool(program), problem)
    folder: Path = tmp_path_factory.mktemp("registry")
    with running_registry(program, folder) as running:
        running.publish("some/engine")
        yield running


@pytest.fixture(params=["stand-in", "real"])
def named(request: pytest.FixtureRequest) -> Iterator[Named]:
    """References into a registry that has `some/engine:1` alone."""
    if request.param == "real":
        yield request.getfixturevalue("real").door.reference
        return
    with registry() as fake:
        fake.images = {"some/engine:1"}
        yield fake.reference


@pytest.fixture
def asker() -> Iterator[ImageRegistries]:
    """Asks within the usual bound."""
    made = ImageRegistries(Bounds())
    yield made
    made.close()


def test_an_image_that_is_there_is_available(named: Named, asker: ImageRegistries) -> None:
    """Given a published tag, when it is looked for, then it is available."""
    assert asker.look(named("some/engine")) == Seen(AvailabilityState.AVAILABLE)


def test_an_image_that_is_not_there_is_purged(named: Named, asker: ImageRegistries) -> None:
    """Given a tag or a repository that there is not, when it is looked for, then it is purged."""
    assert asker.look(named("some/engine", "2")) == Seen(AvailabilityState.PURGED)
    assert asker.look(named("other/engine")) == Seen(AvailabilityState.PURGED)


@pytest.mark.parametrize(("status", "words"), [(401, "not logged in"), (429, "asks for patience"), (503, "answers 503")])
def test_a_real_registry_behind_a_door_that_refuses_is_unknown(
    real: Registry, asker: ImageRegistries, status: int, words: str
) -> None:
    """Given a proxy that answers instead of the registry, when an image is looked for, then the state is unknown."""
    real.door.faults.append(Fault("/manifests/", status, "REFUSED"))
    seen = asker.look(real.door.reference("some/engine"))
    real.door.faults.clear()
    assert seen.state is AvailabilityState.UNKNOWN
    assert words in seen.why
