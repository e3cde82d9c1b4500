"""The simulated engine: the flags, endpoints and metrics of `controller/simulation/engine/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from controller.dialects.argv import flags, last
from controller.dialects.dialect import Diagnosis, Endpoints, Launch
from controller.dialects.exposition import first
from controller.model.parameters import parameters_of
from controller.model.profile import DialectName
from controller.model.resolved import Secretive

if TYPE_CHECKING:
    from controller.model.observed import EngineMetrics

_SIZES: Final = (("max_model_len", "--max-model-len"), ("max_num_seqs", "--max-num-seqs"), ("api_key", "--api-key"))


@dataclass(frozen=True, slots=True)
class Simulated:
    """The dialect of the simulated engine."""

    name: DialectName = DialectName.SIMULATED
    endpoints: Endpoints = Endpoints("/health", "/v1/models", "/v1/completions", "/metrics")
    supported: frozenset[str] = parameters_of(DialectName.SIMULATED)

    def missing(self, launch: Launch) -> tuple[str, ...]:
        """Nothing: there is no model."""
        del launch
        return ()

    def argv(self, launch: Launch) -> tuple[Secretive, ...]:
        """Its few flags; `--sim-...` flags come with the template's command or `extra_args`."""
        return (
            *("--dialect", "simulated", "--host", "0.0.0.0", "--port", str(launch.container_port)),
            *(("--served-model-name", *launch.served_names) if launch.served_names else ()),
            *flags(launch.parameters, _SIZES),
            *last(launch),
        )

    def metrics(self, samples: Mapping[str, float]) -> EngineMetrics:
        """The figures under its own names."""
        from controller.model.observed import EngineMetrics

        return EngineMetrics(
            generation_tokens=first(samples, "simulated:generation_tokens_total"),
            prompt_tokens=first(samples, "simulated:prompt_tokens_total"),
            running=first(samples, "simulated:requests_running"),
            waiting=first(samples, "simulated:requests_waiting"),
            kv_usage=first(samples, "simulated:kv_cache_usage_ratio"),
            steps=first(samples, "simulated:engine_steps_total"),
            generation_seconds=first(samples, "simulated:generation_seconds_total"),
            process_start=first(samples, "process_start_time_seconds"),
        )

    def phase(self, lines: Sequence[str]) -> str:
        """The last phase that the log names."""
        from controller.dialects.boot_log import last_phase
        from controller.dialects.simulated_log import PHASES

        return last_phase(PHASES, lines)

    def diagnose(self, lines: Sequence[str]) -> Diagnosis | None:
        """The failure that it was told to have."""
        from controller.dialects.boot_log import diagnosis
        from controller.dialects.simulated_log import TABLES

        return diagnosis(TABLES, lines)
