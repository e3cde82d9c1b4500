"""A rig to show: one instance that is fine, one that boots, one stopped by a person, one that failed."""

from __future__ import annotations

from dataclasses import replace

from controller.model.moment import Instant
from controller.model.observed import EngineMetrics
from controller.model.plan import Action, Cause, Plan, Step
from controller.model.problem import Place, Problem, Severity
from controller.model.reading import Known, Unknown
from controller.model.rig import Card
from controller.model.status import Condition, InstanceStatus, LastAction, State, Status, Truth

NOW = Instant(wall=1_800_000_000.0, mono=1000.0)
GIB = 2**30
CARDS = (
    Card(
        0,
        "GPU-5157e3a0-0000-4000-8000-000000000000",
        "NVIDIA GeForce RTX 3090",
        memory_total=Known(24 * GIB),
        memory_used=Known(int(21.5 * GIB)),
        power_watts=Known(244.6),
        power_limit_watts=Known(280.0),
        temperature_celsius=Known(61),
        utilization=Known(0.93),
        healthy=Known(True),
        foreign_bytes=GIB // 2,
    ),
    Card(
        1,
        "GPU-5157e3a0-0000-4000-8000-000000000001",
        "NVIDIA GeForce RTX 3090",
        memory_total=Known(24 * GIB),
        memory_used=Unknown("the driver gave no answer"),
        healthy=Known(False),
    ),
)
CHAT = InstanceStatus(
    name="chat",
    state=State.READY,
    ready=True,
    port=8010,
    engine_id="c" * 64,
    spec_hash="a" * 64,
    revision="3f2a1b2c4d5e",
    gpus=(CARDS[0].uuid,),
    conditions=(Condition("Ready", Truth.TRUE, "Serving"), Condition("Synced", Truth.TRUE, "AsResolved")),
    last_action=LastAction("start", "image: a:1 -> a:2", 1_799_990_000.0),
    engine="vllm-generic",
    model="qwen",
    compose="vllm/generic",
    base_url="http://127.0.0.1:8010/v1",
    tps=41.23,
    restarts=2,
    age_s=12_000.0,
    metrics=EngineMetrics(
        generation_tokens=1000.0,
        prompt_tokens=50.0,
        running=1.0,
        waiting=0.0,
        kv_usage=0.25,
        draft_tokens=10.0,
        accepted_tokens=6.0,
    ),
    boot_seconds=92.5,
)
CODE = InstanceStatus(
    name="code",
    state=State.STARTING,
    ready=False,
    port=8011,
    engine_id="d" * 64,
    revision="3f2a1b2c4d5e",
    gpus=(CARDS[1].uuid,),
    conditions=(Condition("Ready", Truth.FALSE, "NotServing"), Condition("Synced", Truth.FALSE, "StepsLeft", "1 step(s) left")),
    base_url="http://127.0.0.1:8011/v1",
    age_s=45.0,
)
PAINT = InstanceStatus(
    name="paint", state=State.STOPPED, ready=False, port=8012, why="stop by ann: gaming tonight", revision="3f2a1b2c4d5e"
)
EMBED = InstanceStatus(
    name="embed",
    state=State.STALLED,
    ready=False,
    port=8013,
    gpus=("GPU-gone-0000",),
    conditions=(Condition("Stalled", Truth.TRUE, "UnknownFlag", "the engine refuses --frobnicate"),),
    why="UnknownFlag: the engine refuses\n\x1b[31m--frobnicate\x1b[0m; not tried again until the spec "
    "changes or `steward start embed`",
)
PLAN = Plan(
    (
        Step("create:code", Action.CREATE, "code", Cause("max_model_len", "4096", "8192"), spec_hash="b" * 64),
        Step("drain:code", Action.DRAIN, "code", Cause("max_model_len", "4096", "8192"), after=("create:code",)),
        Step("stop:code", Action.STOP, "code", Cause("max_model_len", "4096", "8192"), after=("create:code", "drain:code")),
        Step("start:code", Action.START, "code", Cause("max_model_len", "4096", "8192"), after=("stop:code",)),
        Step(
            "pull:x",
            Action.PULL,
            "embed",
            Cause("image", "", "x:1"),
            target="x:1",
            waiting_for="registry: no answer (try 3 in 8s)",
        ),
    ),
    notes=("nobody answers on port 8013",),
)
STATUS = Status(
    rig="home",
    at=NOW,
    desired="77aa88bb99cc",
    accepted="3f2a1b2c4d5e",
    converged=False,
    conditions=(
        Condition("SourceReady", Truth.TRUE, "Read"),
        Condition("ConfigAccepted", Truth.FALSE, "Refused", "desired/estate.yml:7:5: unknown key `prot`"),
        Condition("EngineReachable", Truth.TRUE, "Answers"),
        Condition("HistoryLost", Truth.FALSE, "None"),
    ),
    instances=(CHAT, CODE, PAINT, EMBED),
    cards=CARDS,
    plan=PLAN,
    problems=(
        Problem(Severity.WARNING, "image-digest", "no digest", path="estate[0].image"),
        Problem(
            Severity.ERROR,
            "unknown-key",
            "unknown key `prot`",
            "did you mean `port`?",
            "estate[0]",
            Place("desired/estate.yml", 7, 5),
        ),
    ),
    card_users={CARDS[0].uuid: ("chat",), CARDS[1].uuid: ("code",)},
)
FINE = replace(
    STATUS,
    desired="3f2a1b2c4d5e",
    converged=True,
    conditions=(Condition("SourceReady", Truth.TRUE, "Read"), Condition("ConfigAccepted", Truth.TRUE, "Accepted")),
    instances=(CHAT,),
    plan=Plan(),
    problems=(),
)
