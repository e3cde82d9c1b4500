"""The upstream tracker: faults and changes in other projects that profiles, overlays and limits rest on."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from controller.model.fields import AsTuple, Document, Texts
from controller.model.profile_words import Count, Day, word


class UpstreamStatus(StrEnum):
    """Where a row stands; `local_workaround`: only a patch of ours deals with it, upstream does nothing."""

    OPEN = "open"
    STALLED = "stalled"
    NO_FIX_YET = "no_fix_yet"
    LOCAL_WORKAROUND = "local_workaround"
    CLOSED_WITHOUT_FIX = "closed_without_fix"
    MERGED_AWAITING_PROPAGATION = "merged_awaiting_propagation"
    LANDED = "landed"
    RESOLVED = "resolved"


class UpstreamRow(Document):
    """One issue, change, release or asset of another project, whose `repository` is owner and name; `number` null: none filed.

    `affects` names engines, models, drafters and templates. `native_since` is the first release that has it, `missing_in` the
    last one that was seen without. `revisit_when` says when to look again, `deferred_because` why not now.
    """

    id: str
    repository: str
    number: Count | None
    kind: Literal["issue", "pull", "release", "asset", "request"]
    title: str
    status: Annotated[UpstreamStatus, word(UpstreamStatus)]
    status_date: Day | None = None
    merged_commit: str | None = None
    native_since: str | None = None
    missing_in: str | None = None
    affects: Texts = ()
    effect: str
    workaround_overlays: Texts = ()
    drop_when: str | None = None
    revisit_when: str | None = None
    deferred_because: str | None = None
    related: Texts = ()
    note: str = ""


class Build(Document):
    """An image that no engine profile pins and of which it is known what it contains."""

    image: str
    revision: str
    version: str | None = None
    built: Day | None = None
    contains: Texts = ()
    note: str = ""


class UpstreamFile(Document):
    """`profiles/upstream.yml`: every row once."""

    upstream: Annotated[tuple[UpstreamRow, ...], AsTuple]
    builds: Annotated[tuple[Build, ...], AsTuple] = ()
