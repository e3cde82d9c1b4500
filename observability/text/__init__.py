"""What people read on a terminal. Pure: width and colour arrive as arguments.

Each text is imported when it is first asked for: a verb that prints problems needs nothing of a rig's status.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from observability.text.events import events_text
    from observability.text.github import github_annotations
    from observability.text.plan import plan_text
    from observability.text.problems import problems_text
    from observability.text.status import status_text
    from observability.text.topology import topology_text

__all__ = ["events_text", "github_annotations", "plan_text", "problems_text", "status_text", "topology_text"]


def __getattr__(name: str) -> Any:
    """One of the texts."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{name.split('_')[0]}"), name)
