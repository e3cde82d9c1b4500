"""What the probe's contract asks with: an engine that is healthy, and the same one with some answers changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from controller.adapters.http_probe import HttpProbe
from controller.dialects.registry import dialect
from controller.model.moment import Instant
from controller.model.observed import Probe
from controller.model.profile import DialectName
from controller.model.resolved import Serving
from controller.ports import ProbeTarget
from tests.contract.http_servers import Told, telling

NOW: Final = Instant(1_800_000_000.0, 50.0)
MODELS: Final = {"object": "list", "data": [{"id": "chat", "object": "model"}]}
DONE: Final = {
    "choices": [{"index": 0, "text": " four", "finish_reason": "length"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13},
}
METRICS: Final = '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="chat"} 2\n'
VLLM: Final = dialect(DialectName.VLLM).endpoints
HEALTHY: Final = {
    str(VLLM.health): Told(),
    str(VLLM.models): Told(body=MODELS),
    str(VLLM.completion): Told(body=DONE),
    str(VLLM.metrics): Told(body=METRICS),
}


def target(port: int, name: DialectName = DialectName.VLLM, **changes: Any) -> ProbeTarget:
    """An engine on the loopback address that should serve `chat`."""
    serving = Serving(name, port, served_names=("chat", "alias"))
    return replace(ProbeTarget("c1", serving, 5.0, 5.0, True), **changes)


def asked(probe: HttpProbe, changes: Mapping[str, Told], **target_changes: Any) -> Probe:
    """A probe of a vLLM that is healthy but for these paths."""
    with telling({**HEALTHY, **changes}) as server:
        return probe.probe(target(server.port, **target_changes), NOW)
