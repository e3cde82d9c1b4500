"""Credentials of a registry from the user's Docker configuration, asked for in bounded time.

The SDK runs a credential helper without a limit: one that waits for a keyring's password would hang the pull for ever.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any, Final

from docker.auth import (
    INDEX_NAME,
    INDEX_URL,
    TOKEN_USERNAME,
    AuthConfig,
    encode_header,
    load_config,
    resolve_repository_name,
)
from docker.errors import DockerException

from controller.errors import PullFailed, SpecFault

HEADER: Final = "X-Registry-Auth"


def registry_header(repository: str, timeout: float) -> dict[str, str]:
    """The header with the user's credentials for this repository's registry; empty when there are none."""
    try:
        registry, _ = resolve_repository_name(repository)
        config = load_config()
    except DockerException as error:
        raise SpecFault(str(error)) from error
    helper = config.get_credential_store(registry) if config.creds_store or config.cred_helpers else None
    found = _ask(helper, registry, timeout) if helper else None
    # a configuration of the static entries only, so that the SDK cannot run the helper itself
    found = found or AuthConfig({"auths": dict(config.auths)}).resolve_authconfig(registry)
    return {HEADER: encode_header(found).decode("ascii")} if found else {}


def _ask(helper: str, registry: str, timeout: float) -> dict[str, Any] | None:
    """What a credential helper has for the registry, in the engine's keys."""
    server = INDEX_URL if registry == INDEX_NAME else registry
    command = [f"docker-credential-{helper}", "get"]
    try:
        answer = subprocess.run(command, input=server.encode(), capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as error:
        raise PullFailed(f"unauthorized: {command[0]} did not answer within {timeout:g} s") from error
    except OSError:
        return None  # not installed here: the registry may still serve without
    if answer.returncode != 0:
        return None
    try:
        data = json.loads(answer.stdout)
        user, secret = data["Username"], data["Secret"]
    except (ValueError, KeyError, TypeError):
        return None
    if user == TOKEN_USERNAME:
        return {"ServerAddress": server, "IdentityToken": secret}
    return {"ServerAddress": server, "Username": user, "Password": secret}
