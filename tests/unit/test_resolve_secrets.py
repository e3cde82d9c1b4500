"""Secrets that cannot be used are problems at the place that names them."""

from __future__ import annotations

from controller.errors import SpecFault
from controller.resolve.secret_book import SecretBook


def test_a_secret_that_cannot_be_read_is_a_sentence_not_an_exception() -> None:
    """Given a secret file that is open to others, when its digest is asked for, then the trouble is told once and kept."""
    asked: list[str] = []

    def lookup(name: str) -> str | None:
        asked.append(name)
        raise SpecFault(f"the secret {name} may be read by others; chmod 600 it")

    book = SecretBook(lookup)
    assert "chmod 600" in book.trouble("KEY")
    assert "chmod 600" in book.trouble("KEY")
    assert asked == ["KEY"]


def test_a_missing_secret_is_named_and_one_that_exists_is_fine() -> None:
    """Given one secret that exists and one that does not, when both are asked for, then only the second is a trouble."""
    book = SecretBook({"THERE": "digest"}.get)
    assert book.trouble("THERE") == ""
    assert book.trouble("GONE") == "there is no secret GONE"


def test_without_lookup_every_secret_is_taken_to_exist() -> None:
    """Given validation without a state folder, when a secret is named, then it is no trouble."""
    assert SecretBook(None).trouble("ANY") == ""
