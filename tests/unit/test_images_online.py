"""The images of engine profiles against a registry: each is asked for once, and a record that is out of date is a warning."""

from __future__ import annotations

from controller.app.images import images_online
from controller.model.profile_engine import AvailabilityState
from controller.resolve.profiles import Profiles
from controller.settings import Bounds
from observability.images import ImageLine, image_documents
from observability.text.images import images_text
from tests.fakes.image_registry import Registry, registry
from tests.unit.resolving import Shelf


def engine(name: str, image: str, availability: str = "") -> str:
    """An engine profile."""
    return f"id: {name}\ntype: vllm\nimage: {image}\n" + (f"availability: {availability}\n" if availability else "")


def asked(fake: Registry) -> tuple[list[ImageLine], list[str]]:
    """What is seen of four profiles, and what differs as `severity place message | hint`."""
    texts = {
        "profiles/engines/fresh": engine("fresh", fake.reference("a")),
        "profiles/engines/gone": engine("gone", fake.reference("b"), '{state: available, as_of: "2026-01-01"}'),
        "profiles/engines/same": engine("same", fake.reference("a"), "{state: available}"),
        "profiles/engines/none": "id: none\ntype: generic\nimage: null\n",
        "profiles/engines/old": engine("old", fake.reference("c"), "{state: purged}"),
        "profiles/engines/sim": f"id: sim\ntype: simulated\nimage: {fake.reference('d')}\n",
    }
    found = list(images_online(Profiles(Shelf(texts)), Bounds()))
    return [line for line, _ in found], [
        f"{p.severity} {p.place} {p.message} | {p.hint}" for _, problems in found for p in problems
    ]


def test_each_image_is_asked_for_once_and_compared_with_the_record() -> None:
    """Given profiles that share images, when a registry is asked, then each image is one line, and what differs is told."""
    with registry() as fake:
        fake.images = {"a:1"}
        lines, warnings = asked(fake)
        port = fake.port
        assert fake.heard == ["HEAD /v2/a/manifests/1", "HEAD /v2/b/manifests/1", "HEAD /v2/c/manifests/1"]
    assert [(line.engines, line.seen) for line in lines] == [
        (("fresh", "same"), AvailabilityState.AVAILABLE),
        (("gone",), AvailabilityState.PURGED),
        (("old",), AvailabilityState.PURGED),
    ]
    day = lines[0].seen_on
    assert warnings == [
        f"info profiles/engines/fresh.yml:1:1 127.0.0.1:{port}/a:1 is recorded as unknown, and its registry says available"
        f' | write availability: {{state: available, as_of: "{day}"}}',
        f"warning profiles/engines/gone.yml:4:23 127.0.0.1:{port}/b:1 is recorded as available, and its registry says purged"
        f' | write availability: {{state: purged, as_of: "{day}"}}',
    ]


def test_the_table_and_the_json() -> None:
    """Given lines of each state, when they are shown, then state, day, record and reason are there."""
    line = ImageLine(
        ("e",), "x/y:1", AvailabilityState.AVAILABLE, "2026-01-01", AvailabilityState.UNKNOWN, "2026-11-30", "no answer"
    )
    text = images_text([line], width=200, color=False)
    assert text.splitlines()[1].split() == ["unknown", "2026-11-30", "available", "2026-01-01", "e", "x/y:1", "no", "answer"]
    assert image_documents([line]) == [
        {
            "engines": ["e"],
            "image": "x/y:1",
            "state": "unknown",
            "as_of": "2026-11-30",
            "why": "no answer",
            "recorded": "available",
            "recorded_as_of": "2026-01-01",
        }
    ]
    assert images_text([], width=80, color=False) == "no engine profile names an image\n"
