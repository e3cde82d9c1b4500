"""Whole Compose documents of templates of each kind, as they were read by eye."""

from __future__ import annotations

import pytest

from tests.renders import TEMPLATES, document, file_of


@pytest.mark.parametrize("template", TEMPLATES)
def test_document_is_the_one_on_record(template: str) -> None:
    """Given a template, when an instance of it is rendered, then the document is word for word the one on record."""
    assert document(template) == file_of(template).read_text()
