"""Facts about engines and cards, as the catalogue's files state them: what every command needs.

The other kinds (`profile_model`, `profile_drafter`, `profile_workload`, `profile_limit`, `profile_upstream`) are imported from
their own modules: building their models takes longer than reading an estate.
"""

from __future__ import annotations

from controller.model.profile_engine import EngineProfile
from controller.model.profile_hardware import NOMINAL_TO_USABLE, HardwareProfile
from controller.model.profile_words import DialectName

__all__ = ["NOMINAL_TO_USABLE", "DialectName", "EngineProfile", "HardwareProfile"]
