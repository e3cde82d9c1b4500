"""What the simulated engine prints: its own few phases, and whatever failure of another engine it was told to have."""

from __future__ import annotations

import re
from typing import Final

from controller.dialects import llamacpp_log, sglang_log, vllm_log
from controller.dialects.boot_log import Phase, Tables
from controller.dialects.common_failures import COMMON

PHASES: Final = (
    Phase("serving", re.compile(r"listening on http")),
    Phase("model loaded", re.compile(r"\bmodel loaded\b")),
    Phase("loading model", re.compile(r"loading model")),
)
TABLES: Final = Tables(
    causes=(*vllm_log.TABLES.causes, *llamacpp_log.TABLES.causes, *sglang_log.TABLES.causes),
    common=COMMON,
    tails=(*vllm_log.TABLES.tails, *llamacpp_log.TABLES.tails, *sglang_log.TABLES.tails),
)
