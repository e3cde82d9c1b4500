"""Desired files and catalogue in, a resolved estate out; or every problem of every file at once. Pure.

The way of one entry: `estate` joins the files, `template` reads what they name, `instance` fills the entry in, `binding` gives
all of them their cards and asks the rules, `assembly` closes them with their hashes.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.model.document import Document
from controller.model.problem import Problem, has_errors, in_report_order
from controller.model.resolved import Resolved
from controller.ports import Catalogue
from controller.resolve.assembly import assembled
from controller.resolve.binding import bind, waiver_problems
from controller.resolve.choices import is_address
from controller.resolve.draft import Draft
from controller.resolve.estate import EntrySource, Estate, joined
from controller.resolve.instance import Frame, drafted
from controller.resolve.live import live_source
from controller.resolve.nearest import nearest
from controller.resolve.overlays import check_overlays
from controller.resolve.rig_block import resolved_rig
from controller.resolve.secret_book import SecretBook
from controller.resolve.surroundings import Surroundings
from controller.resolve.template import Library


def resolve(
    estate: Sequence[Document], catalogue: Catalogue, around: Surroundings, revision: str
) -> Resolved | tuple[Problem, ...]:
    """The resolved estate with its warnings, or all problems in report order when one of them is an error."""
    report: list[Problem] = []
    whole = joined(estate, report)
    rig = resolved_rig(whole, simulated=around.simulated, report=report)
    secrets = SecretBook(around.secret_digest)
    frame = Frame(whole, rig, live_source(whole), secrets, around.simulated)
    _check_defaults(whole, report)
    library = Library(catalogue)
    drafts = {source.entry.name: draft for source in whole.entries if (draft := _draft(source, library, frame, report))}
    report.extend(library.problems())
    bindings = bind(whole, drafts, around.cards, around.bindings, report)
    problems = in_report_order(report)
    if has_errors(problems):
        return problems
    instances = tuple(assembled(draft, bindings.get(name), secrets, around.secret_key_id) for name, draft in drafts.items())
    return Resolved(rig, instances, revision, whole.allow_prune, problems)


def _draft(source: EntrySource, library: Library, frame: Frame, report: list[Problem]) -> Draft | None:
    entry = source.entry
    report.extend(waiver_problems(source))
    if not library.knows(entry.compose):
        hint = nearest(entry.compose, library.catalogue.ids("composes"), "the catalogue has")
        report.append(source.problem(("compose",), "compose", f"there is no template {entry.compose}", hint))
        return None
    template = library.template(entry.compose, entry.name)
    if template is None:
        return None
    check_overlays(source, template, library.catalogue, report)
    return drafted(source, template, frame, report)


def _check_defaults(estate: Estate, report: list[Problem]) -> None:
    document = estate.defaults_document
    if document and not is_address(estate.defaults.bind):
        hint = "write 127.0.0.1, 0.0.0.0 or an address of this host"
        message = f"{estate.defaults.bind} is no IP address"
        report.append(document.problem(("defaults", "bind"), "bind", message, hint))


__all__ = ["Surroundings", "resolve"]
