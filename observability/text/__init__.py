"""What people read on a terminal. Pure: width and colour arrive as arguments."""

from observability.text.events import events_text
from observability.text.github import github_annotations
from observability.text.plan import plan_text
from observability.text.problems import problems_text
from observability.text.status import status_text

__all__ = ["events_text", "github_annotations", "plan_text", "problems_text", "status_text"]
