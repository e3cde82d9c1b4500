"""The rules that a rig must hold, and where instances that only say how many cards they need are put."""

from controller.solver.dependencies import dependency_findings
from controller.solver.placement import Placement, place
from controller.solver.rules import KNOWN_RULES, NEVER_WAIVED, check_rules
from controller.solver.tenant import Finding, Tenant

__all__ = ["KNOWN_RULES", "NEVER_WAIVED", "Finding", "Placement", "Tenant", "check_rules", "dependency_findings", "place"]
