"""Whether a registry still has an image: one question for its manifest, in the way of the registry's own API (version 2).

Nothing is logged in: where a registry wants a token, an anonymous one is asked for. An answer that is no clear yes or no is
`unknown` with its reason, and a registry that is out of reach or asks for patience is not asked again.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

import httpx

from controller.adapters.http.checks import shorten
from controller.adapters.http.deadline import DeadlineTransport, Unreachable
from controller.model.profile_engine import AvailabilityState
from controller.settings import Bounds

DEFAULT_HOST: Final = "docker.io"
"""Stands before references without a host."""
_OFFICIAL: Final = frozenset({DEFAULT_HOST, f"index.{DEFAULT_HOST}"})
"""Hosts at which a name without a folder means one of the official images."""
_MANIFESTS: Final = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_CHALLENGE: Final = re.compile(r'(realm|service|scope)="([^"]*)"')
_TOKEN_BYTES: Final = 65536
_ID: Final = re.compile(r"(?:sha256:)?[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a registry says of one image; `why` explains what is unknown."""

    state: AvailabilityState
    why: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """An image reference, taken apart as Docker does; `version` is a tag or a digest."""

    host: str
    repository: str
    version: str


@dataclass(frozen=True, slots=True)
class _Heard:
    """One answer, whole."""

    status: int
    headers: httpx.Headers
    body: bytes


@dataclass(slots=True)
class ImageRegistries:
    """Asks one question after the other, each within `registry_read` seconds, and a host that was silent no more.

    `apis` say where the API of a host is, if not at the host itself.
    """

    bounds: Bounds
    apis: Mapping[str, str] = field(default_factory=dict)
    _silent: dict[str, str] = field(default_factory=dict)
    _client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        """No connection is open yet."""
        self._client = httpx.Client(
            transport=DeadlineTransport(1),
            trust_env=False,
            follow_redirects=False,
            headers={"accept-encoding": "identity", "user-agent": "steward"},
        )

    def look(self, image: str) -> Seen:
        """Whether the image can be pulled by anybody; never raises for what a registry does."""
        reference = taken_apart(image)
        if reference is None:
            return _unknown("it is the id of an image, which only the engine that has it knows")
        if (why := self._silent.get(reference.host)) is not None:
            return _unknown(f"not asked: {why}")
        try:
            return self._judged(reference, self._manifest(reference))
        except httpx.TimeoutException:
            return self._gone(reference, f"no answer within {self.bounds.registry_read:g} s")
        except (httpx.ConnectError, Unreachable) as error:
            return self._gone(reference, f"it cannot be reached: {shorten(str(error))}")
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            return self._gone(reference, f"no HTTP answer: {shorten(str(error))}")

    def close(self) -> None:
        """Close what is open."""
        self._client.close()

    def _manifest(self, reference: Reference) -> _Heard:
        """The answer to the question for the manifest, asked again with a token where one is wanted."""
        url = f"{_address(reference.host, self.apis)}/v2/{reference.repository}/manifests/{quote(reference.version, safe=':')}"
        answer = self._ask("HEAD", url, {"accept": _MANIFESTS})
        if answer.status != httpx.codes.UNAUTHORIZED:
            return answer
        token = self._token(answer.headers.get("www-authenticate", ""), reference)
        return self._ask("HEAD", url, {"accept": _MANIFESTS, "authorization": f"Bearer {token}"}) if token else answer

    def _token(self, challenge: str, reference: Reference) -> str | None:
        """An anonymous token from where the registry says; None where it gives none, or where the way is not safe."""
        found = dict(_CHALLENGE.findall(challenge)) if challenge.lower().startswith("bearer ") else {}
        realm = found.pop("realm", "")
        if not realm.startswith("https://") and not (_is_loopback(reference.host) and realm.startswith("http://")):
            return None
        found.setdefault("scope", f"repository:{reference.repository}:pull")
        answer = self._ask("GET", str(httpx.URL(realm).copy_merge_params(found)), {})
        return _token_in(answer) if answer.status == httpx.codes.OK else None

    def _ask(self, method: str, url: str, headers: dict[str, str]) -> _Heard:
        with self._client.stream(method, url, headers=headers, timeout=self.bounds.registry_read) as response:
            body = bytearray()
            for part in response.iter_raw():
                body += part
                if len(body) > _TOKEN_BYTES:
                    raise httpx.ReadError("more than a token's worth of bytes")
            return _Heard(response.status_code, response.headers, bytes(body))

    def _judged(self, reference: Reference, answer: _Heard) -> Seen:
        match answer.status:
            case 200:
                return Seen(AvailabilityState.AVAILABLE)
            case 404:
                return Seen(AvailabilityState.PURGED)
            case 401 | 403:
                return _unknown(f"{reference.host} shows it to nobody who is not logged in, or does not have it")
            case 429:
                wait = answer.headers.get("retry-after", "")
                return self._gone(reference, f"it asks for patience{f' ({shorten(wait)} s)' if wait.isdigit() else ''}")
            case status:
                return _unknown(f"{reference.host} answers {status}")

    def _gone(self, reference: Reference, why: str) -> Seen:
        self._silent[reference.host] = f"{reference.host} was asked before: {why}"
        return _unknown(f"{reference.host}: {why}")


def taken_apart(image: str) -> Reference | None:
    """Host, repository and version; None for the id of an image. A tag beside a digest does not count."""
    if _ID.fullmatch(image):
        return None
    name, _, digest = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, "latest"
    first, slash, rest = repository.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        first, rest = DEFAULT_HOST, repository
    if first in _OFFICIAL and "/" not in rest:
        rest = f"library/{rest}"
    return Reference(first, rest, digest or tag)


def _address(host: str, apis: Mapping[str, str]) -> str:
    """Where the API is: without TLS on this machine alone."""
    return f"{'http' if _is_loopback(host) else 'https'}://{apis.get(host, host)}"


def _is_loopback(host: str) -> bool:
    name = host.rpartition(":")[0] or host
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name == "localhost"


def _token_in(answer: _Heard) -> str | None:
    try:
        document = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    token = document.get("token") or document.get("access_token")
    return token if isinstance(token, str) and token.isascii() and token.isprintable() else None


def _unknown(why: str) -> Seen:
    return Seen(AvailabilityState.UNKNOWN, why)
