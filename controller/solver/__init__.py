"""The rules that a rig must hold, and where instances that only say how many cards they need are put."""

from controller.solver.candidate import Candidate, HostFacts, RigView, TypedCard
from controller.solver.judgement import Judgement, judge
from controller.solver.placement import Placement, place
from controller.solver.registry import KNOWN_RULES, NEVER_WAIVED, RULES
from controller.solver.rules_memory import memory_claims
from controller.solver.tenant import Finding, Tenant

__all__ = [
    "KNOWN_RULES",
    "NEVER_WAIVED",
    "RULES",
    "Candidate",
    "Finding",
    "HostFacts",
    "Judgement",
    "Placement",
    "RigView",
    "Tenant",
    "TypedCard",
    "judge",
    "memory_claims",
    "place",
]
