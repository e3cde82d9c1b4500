"""Credentials come from the user's Docker configuration, and no helper program can hold a pull up."""

from __future__ import annotations

import base64
import json
import stat
import time
from pathlib import Path

import pytest

from controller.adapters.docker.credentials import HEADER, registry_header
from controller.errors import PullFailed, SpecFault


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Docker configuration folder, whose helpers are the only ones in PATH."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def write(config: Path, data: object) -> None:
    """Write config.json."""
    (config / "config.json").write_text(json.dumps(data))


def helper(config: Path, script: str) -> None:
    """Install the credential helper `test`."""
    path = config / "docker-credential-test"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def decoded(headers: dict[str, str]) -> dict[str, str]:
    """What the engine is told."""
    found = json.loads(base64.urlsafe_b64decode(headers[HEADER]))
    assert isinstance(found, dict)
    return found


def test_without_a_configuration_nothing_is_sent(config: Path) -> None:
    """Public images need no login."""
    assert registry_header("registry.test/x", 5) == {}


def test_a_stored_login_is_sent_to_its_own_registry_only(config: Path) -> None:
    """Another registry never sees it."""
    write(config, {"auths": {"registry.test": {"auth": base64.b64encode(b"me:secret").decode()}}})
    told = decoded(registry_header("registry.test/x", 5))
    assert (told["username"], told["password"]) == ("me", "secret")
    assert registry_header("other.test/x", 5) == {}


def test_a_helper_is_asked_for_the_registry(config: Path) -> None:
    """What it answers goes to the engine in the engine's words."""
    write(config, {"credHelpers": {"registry.test": "test"}})
    helper(config, 'read server; echo "{\\"Username\\": \\"me\\", \\"Secret\\": \\"for $server\\"}"')
    assert decoded(registry_header("registry.test/x", 5)) == {
        "ServerAddress": "registry.test",
        "Username": "me",
        "Password": "for registry.test",
    }


def test_a_token_is_sent_as_a_token(config: Path) -> None:
    """Helpers mark one by its user name."""
    write(config, {"credsStore": "test"})
    helper(config, 'echo "{\\"Username\\": \\"<token>\\", \\"Secret\\": \\"t\\"}"')
    assert decoded(registry_header("registry.test/x", 5))["IdentityToken"] == "t"


def test_a_helper_that_waits_for_a_keyring_fails_the_pull_in_time(config: Path) -> None:
    """It is an environment fault that names the helper."""
    write(config, {"credsStore": "test"})
    helper(config, "sleep 60")
    began = time.monotonic()
    with pytest.raises(PullFailed, match="docker-credential-test"):
        registry_header("registry.test/x", 0.3)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "echo '{}'", "echo '[]'"])
def test_a_helper_without_an_answer_is_passed_over(config: Path, script: str) -> None:
    """The registry may serve without a login, or say itself that it does not."""
    write(config, {"credsStore": "test"})
    helper(config, script)
    assert registry_header("registry.test/x", 5) == {}


def test_a_helper_that_is_not_installed_is_passed_over(config: Path) -> None:
    """A configuration copied from another machine."""
    write(config, {"credsStore": "absent"})
    assert registry_header("registry.test/x", 5) == {}


def test_a_reference_that_is_none_is_the_spec_s_fault(config: Path) -> None:
    """No registry was asked."""
    with pytest.raises(SpecFault):
        registry_header("https://registry.test/x", 5)
