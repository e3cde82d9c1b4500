"""The pages that an engine which serves has besides health: models, metrics, version, slots."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from controller.simulation.engine.decoder import Decoder
from controller.simulation.engine.manners import MANNERS
from controller.simulation.engine.metric_tables import families
from controller.simulation.engine.metrics import page
from controller.simulation.engine.phrases import NEWEST_VLLM, VLLM_RELEASES
from controller.simulation.engine.request import Refusal

STEP_LIMIT_S: Final = 60.0
"""How long a page waits for the end of the decoder's step."""
JSON: Final = "application/json"
PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Page:
    """An answer with status 200."""

    text: str
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def page_of(decoder: Decoder, route: str) -> Page:
    """The page of a path; raises Refusal where there is none."""
    match decoder.config.dialect, route:
        case "generic", _:
            return Page('{"status":"ok"}')
        case _, "/metrics":
            return _metrics(decoder)
        case _, "/v1/models":
            return Page(json.dumps({"object": "list", "data": _models(decoder)}))
        case "vllm" | "simulated", "/version":
            return Page(
                json.dumps({"version": VLLM_RELEASES.get(decoder.life.script.metrics or "", VLLM_RELEASES[NEWEST_VLLM])})
            )
        case "llamacpp", "/slots":
            return _slots(decoder)
    raise Refusal(404, "not_found_error", f"{route} is not served here")


def names(decoder: Decoder) -> tuple[str, ...]:
    """The names that it serves at this moment."""
    serves = decoder.life.script.serves
    return decoder.config.names if serves is None else (serves,)


def _models(decoder: Decoder) -> list[dict[str, Any]]:
    config = decoder.config
    shared = {"object": "model", "owned_by": config.dialect, "max_model_len": config.context}
    if MANNERS[config.dialect].any_model:  # llama.cpp keeps its aliases sorted and lists the first as the model
        aliases = sorted(names(decoder))
        return [{"id": aliases[0], "aliases": aliases, **shared, "meta": {"n_ctx": config.context}}]
    return [{"id": name, **shared} for name in names(decoder)]


def _metrics(decoder: Decoder) -> Page:
    config, script = decoder.config, decoder.life.script
    found = families(config.dialect, script.metrics, script.acceptance is not None)
    if not found:
        raise Refusal(404, "not_found_error", "/metrics is not served here")
    _await_step(decoder)
    text = page(found, decoder.figures(config.dialect == "llamacpp"), names(decoder)[0])
    headers = {"Process-Start-Time-Unix": f"{decoder.life.started_at:.0f}"} if config.dialect == "llamacpp" else {}
    return Page(text, PROMETHEUS, headers)


def _slots(decoder: Decoder) -> Page:
    _await_step(decoder)
    busy, context = decoder.running, decoder.config.context
    return Page(json.dumps([{"id": slot, "n_ctx": context, "is_processing": slot < busy} for slot in range(decoder.slots)]))


def _await_step(decoder: Decoder) -> None:
    """Wait for the end of a step, where these pages are asked of the decoder."""
    if MANNERS[decoder.config.dialect].queued_pages:
        time.sleep(min(decoder.prefilling_s, STEP_LIMIT_S))
