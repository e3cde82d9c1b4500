"""Overlays: what is put on an engine's image or command line without building an image: patched files, scripts, templates."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field, StrictBool, model_validator

from controller.model.fields import AsTuple, Document, Texts
from controller.model.profile_words import Count, word

OVERLAYS: Final = "overlays"
"""The kind of document in a catalogue."""
FOLDER: Final = "/etc/steward/overlays"
"""Where in a container the files of an overlay stand that have no other place: in a folder of its id."""


def _inside(text: str) -> str:
    if text.startswith("/") or not _is_plain(text):
        raise ValueError("expected a path within its folder, such as patches/fix.py")
    return text


def _absolute(text: str) -> str:
    if not text.startswith("/") or not _is_plain(text[1:]):
        raise ValueError("expected an absolute path in the container, such as /etc/fix.py")
    return text


def _is_plain(path: str) -> bool:
    """Whether it names a file below where it begins, in one way only."""
    return not {"", ".", ".."}.intersection(path.split("/")) and not {"\0", "\n", "\\", ":"}.intersection(path)


Sha256: TypeAlias = Annotated[
    str, Field(pattern=r"^[0-9a-f]{64}$", description="a SHA-256 digest of 64 hexadecimal digits in small letters")
]
Inside: TypeAlias = Annotated[str, AfterValidator(_inside)]
Target: TypeAlias = Annotated[str, AfterValidator(_absolute)]
Targets: TypeAlias = Annotated[tuple[Target, ...], AsTuple]


class Mechanism(StrEnum):
    """How an overlay gets into the container."""

    FILE_MOUNTS = "file_mounts"
    INSTALL_SCRIPT = "install_script"
    CHAT_TEMPLATE = "chat_template"
    PATCH_BUNDLE = "patch_bundle"
    PYTHON_SIDECAR = "python_sidecar"
    PIP_UPGRADE = "pip_upgrade"
    ENV = "env"


WRITING: Final = frozenset({Mechanism.INSTALL_SCRIPT, Mechanism.PATCH_BUNDLE, Mechanism.PYTHON_SIDECAR, Mechanism.PIP_UPGRADE})
"""Mechanisms that change files of the image by steps before the engine starts; the others only lay files over it."""


class PayloadFile(Document):
    """One file: its path at the source and where it is mounted (absent: in the overlay's folder below `/etc/steward`)."""

    path: Inside
    target: Target | None = None


class ProvenFile(PayloadFile):
    """A file that is fetched, with the digest that it must have."""

    sha256: Sha256


class Tree(Document):
    """A whole folder of the source (absent `path`: all of it), mounted at `target`."""

    path: Inside | None = None
    target: Target


class GitSource(Document):
    """Files of a repository at one commit; `steward overlays fetch` brings them.

    `ref` is the tag or branch to ask for where the commit is abbreviated; what it names must begin with `commit`. The
    content of a `tree` is held by the commit.
    """

    url: Annotated[
        str,
        Field(
            pattern=r"^(https?|ssh|git|file)://\S+$",
            description="an address that begins with https://, http://, ssh://, git:// or file://",
        ),
    ]
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{8,40}$", description="a commit id of 8 to 40 hexadecimal digits")]
    ref: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/+-]*$")] | None = None
    files: Annotated[tuple[ProvenFile, ...], AsTuple] = ()
    tree: Tree | None = None

    @model_validator(mode="after")
    def _coherent(self) -> GitSource:
        if bool(self.files) == (self.tree is not None):
            raise ValueError("expected either files or a tree")
        if len(self.commit) < 40 and self.ref is None:
            raise ValueError("an abbreviated commit needs the ref of a tag or branch that it can be found by")
        return self


class DirSource(Document):
    """Files beside the record: below the folder that the record lies in, in `path` (absent: a folder of the overlay's id)."""

    path: Inside | None = None
    files: Annotated[tuple[PayloadFile, ...], AsTuple] = ()
    tree: Tree | None = None

    @model_validator(mode="after")
    def _coherent(self) -> DirSource:
        if bool(self.files) == (self.tree is not None):
            raise ValueError("expected either files or a tree")
        return self


class BuiltinSource(Document):
    """Files that come with Steward, in a folder of the overlay's id."""

    files: Annotated[tuple[PayloadFile, ...], AsTuple, Field(min_length=1)]


class Source(Document):
    """Where the payload comes from: exactly one of these."""

    git: GitSource | None = None
    builtin: BuiltinSource | None = None
    dir: DirSource | None = None

    @model_validator(mode="after")
    def _one(self) -> Source:
        if len([kind for kind in (self.git, self.builtin, self.dir) if kind is not None]) != 1:
            raise ValueError("expected exactly one of git, builtin and dir")
        return self

    @property
    def files(self) -> tuple[PayloadFile, ...]:
        """The files that are named one by one."""
        chosen = self.git or self.builtin or self.dir
        return chosen.files if chosen else ()

    @property
    def tree(self) -> Tree | None:
        """The folder that is mounted whole."""
        chosen = self.git or self.dir
        return chosen.tree if chosen else None


class Step(Document):
    """What happens in the container before the engine starts: a program that runs, or a shell script that is read into the
    shell, so that the variables that it exports reach the engine, and the words in its STEWARD_ENGINE_ARGS the command line.
    """

    run: Texts | None = None
    exports: Target | None = None
    on_failure: Literal["stop", "warn"] = "stop"

    @model_validator(mode="after")
    def _one(self) -> Step:
        if bool(self.run) == (self.exports is not None):
            raise ValueError("expected either run, with a program and its arguments, or exports")
        return self


class Conflict(Document):
    """An overlay or an engine that this one does not go with."""

    with_: Annotated[str, Field(alias="with")]
    kind: Literal["shared_file", "exclusive", "same_symptom", "engine_drift", "pin_allowlist"]
    detail: str = ""


class Overlay(Document):
    """One overlay, `overlays/<id>.yml`.

    `sentinel` is a text by which it is known to be at work: after the engine's first readiness it is looked for in
    `target_files`. `upstream` are rows of the tracker, or `none` with a reason. `order` counts from 0 to 1000: a lower one is
    put on first. `requires` are put on with it. `chat_template` is what the parameter of that name is where nobody sets it.
    """

    id: str
    title: str
    mechanism: Annotated[Mechanism, word(Mechanism)] | None
    source: Source | Literal["none", "unavailable"]
    upstream: Texts | Literal["none"]
    upstream_reason: str = ""
    aliases: Texts = ()
    target_files: Targets = ()
    sentinel: Annotated[str, Field(min_length=1, pattern=r"^[^\n]+$")] | None = None
    upstream_present: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    chat_template: Target | None = None
    steps: Annotated[tuple[Step, ...], AsTuple] = ()
    needed_for: Texts = ()
    redundant_for: Texts = ()
    order: Annotated[int, Field(ge=0, le=1000)] = 500
    conflicts: Annotated[tuple[Conflict, ...], AsTuple] = ()
    requires: Texts = ()
    needs_network_at_boot: StrictBool = False
    load_bearing: Literal["proven", "unproven", "not-on-this-topology"] = "unproven"
    min_tp: Count | None = None
    drop_when: str | None = None
    note: str = ""

    @model_validator(mode="after")
    def _coherent(self) -> Overlay:
        if self.mechanism is None and self.source != "unavailable":
            raise ValueError("an overlay without a mechanism is one whose source is unavailable")
        if self.upstream == "none" and not self.upstream_reason:
            raise ValueError("upstream: none needs an upstream_reason")
        if self.mechanism in WRITING and not self.steps and self.source != "unavailable":
            raise ValueError(f"mechanism {self.mechanism} needs steps")
        if self.sentinel and not self.target_files:
            raise ValueError("a sentinel needs the target_files that it is looked for in")
        return self

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows of the upstream tracker."""
        return () if self.upstream == "none" else tuple(self.upstream)

    @property
    def files(self) -> tuple[PayloadFile, ...]:
        """The files that are mounted one by one."""
        return self.source.files if isinstance(self.source, Source) else ()

    @property
    def tree(self) -> Tree | None:
        """The folder that is mounted whole."""
        return self.source.tree if isinstance(self.source, Source) else None

    @property
    def git(self) -> GitSource | None:
        """Where its files are fetched from."""
        return self.source.git if isinstance(self.source, Source) else None

    @property
    def is_builtin(self) -> bool:
        """Whether its files come with Steward."""
        return isinstance(self.source, Source) and self.source.builtin is not None

    @property
    def folder(self) -> str:
        """The folder of its files beside its record."""
        own = self.source.dir if isinstance(self.source, Source) else None
        return own.path if own is not None and own.path is not None else self.id

    @property
    def laid_over(self) -> frozenset[str]:
        """Files of the image that it hides behind read-only ones, so that nothing else can change them."""
        return frozenset() if self.mechanism in WRITING else frozenset(self.target_files)

    def place_of(self, file: PayloadFile) -> str:
        """Where a file of the payload stands in the container."""
        return file.target or f"{FOLDER}/{self.id}/{file.path}"
