"""Desired files and catalogue in, a resolved estate out; or every problem of every file at once. Pure.

The way of one entry: `estate` joins the files, `library` reads what they name out of the catalogue, `instance` fills the entry
in, `binding` gives all of them their cards and asks the rules, `waivers` weighs what those find, `assembly` closes them with
their hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from controller.model.document import Document
from controller.model.problem import Problem, has_errors, in_report_order
from controller.model.resolved import Resolved
from controller.resolve.assembly import assembled
from controller.resolve.binding import bind
from controller.resolve.choices import is_address
from controller.resolve.draft import Draft
from controller.resolve.estate import EntrySource, Estate, joined
from controller.resolve.instance import Frame, drafted
from controller.resolve.library import Library
from controller.resolve.live import live_source
from controller.resolve.nearest import nearest
from controller.resolve.overlay_content import PutOn
from controller.resolve.rig_block import resolved_rig
from controller.resolve.secret_book import SecretBook
from controller.resolve.surroundings import Surroundings
from controller.resolve.template import Template
from controller.resolve.waivers import Waivers

if TYPE_CHECKING:
    from controller.ports import Catalogue


def resolve(
    estate: Sequence[Document], catalogue: Catalogue, around: Surroundings, revision: str
) -> Resolved | tuple[Problem, ...]:
    """The resolved estate with its warnings, or all problems in report order when one of them is an error."""
    report: list[Problem] = []
    whole = joined(estate, report)
    rig = resolved_rig(whole, simulated=around.simulated, report=report)
    secrets, waivers = SecretBook(around.secret_digest), Waivers(around.now, around.held)
    frame = Frame(whole, rig, live_source(whole), secrets, waivers, around.simulated)
    _check_defaults(whole, report)
    library = Library(catalogue)
    found = ((source, _draft(source, library, frame, around, report)) for source in whole.entries)
    drafts = {source.entry.name: draft for source, draft in found if draft is not None}
    bound = bind(whole, drafts, library.profiles, around, waivers, report)
    report.extend(library.problems())
    problems = in_report_order(report)
    if has_errors(problems):
        return problems
    instances = tuple(assembled(draft, bound, secrets, around) for draft in drafts.values())
    return Resolved(rig, instances, revision, whole.allow_prune, problems, waivers.next_end(whole.entries))


def _draft(source: EntrySource, library: Library, frame: Frame, around: Surroundings, report: list[Problem]) -> Draft | None:
    entry = source.entry
    report.extend(frame.waivers.problems(source))
    if not library.knows(entry.compose):
        hint = nearest(entry.compose, library.catalogue.ids("composes"), "the catalogue has")
        report.append(source.problem(("compose",), "compose", f"there is no template {entry.compose}", hint))
        return None
    template = library.template(entry.compose, entry.name)
    if template is None:
        return None
    overlays = _overlays(source, template, library, around, report)
    return drafted(source, template, overlays, frame, report)


def _overlays(
    source: EntrySource, template: Template, library: Library, around: Surroundings, report: list[Problem]
) -> tuple[PutOn, ...]:
    """What is put on an instance; without any the model of their records is not even imported."""
    if not template.steward.overlays and not source.entry.overlays:
        return ()
    from controller.resolve.overlays import overlays_of

    return overlays_of(source, template, library.profiles, around.payloads, report)


def _check_defaults(estate: Estate, report: list[Problem]) -> None:
    document = estate.defaults_document
    if document and not is_address(estate.defaults.bind):
        hint = "write 127.0.0.1, 0.0.0.0 or an address of this host"
        message = f"{estate.defaults.bind} is no IP address"
        report.append(document.problem(("defaults", "bind"), "bind", message, hint))


__all__ = ["Surroundings", "resolve"]
