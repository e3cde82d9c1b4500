"""A simulated engine: one HTTP server that behaves like vLLM, llama.cpp or SGLang, without a model and without a GPU.

It is one file that needs nothing but the standard library, so that it can be copied into a container image and be started
by any Python. It boots in phases with the engine's own log phrases, answers OpenAI requests with made-up words at a given
speed, counts them in metrics under the engine's own names, and misbehaves as told: every field of `Behaviour` is a flag
(`--sim-load-s 3`), an environment variable (`STEWARD_SIM_LOAD_S=3`) and a key of the JSON object in `STEWARD_SIM`, in
falling order of weight.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from http.server import BaseHTTPRequestHandler
from itertools import chain
from socketserver import ThreadingTCPServer
from typing import Any, NoReturn

WORDS = ("steady", "amber", "river", "stone", "lantern", "meadow", "copper", "harbor", "violet", "timber", "signal", "willow")
QUEUE_LIMIT_S = 600.0
READ_LIMIT_S = 60.0
BODY_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Manner:
    """How one engine type presents itself. `load` is "refused" (not listening yet) or "503"; `metrics` are words, each its own
    name for an attribute of `Counts`; with `any_model` the served names are aliases of one entry and none is refused.
    """

    loading: tuple[str, ...]
    ready: tuple[str, ...] = ("model loaded", "listening on http://{host}:{port}")
    load: str = "refused"
    drain_s: float = 0.0
    metrics: str = ""
    labels: bool = False
    any_model: bool = False


MANNERS = {
    "vllm": Manner(
        loading=(
            "vLLM API server version 0.33.0",
            "Loading safetensors checkpoint shards: 100% Completed | 4/4",
            "Model loading took 1.0 GiB memory and 1.00 seconds",
            "Available KV cache memory: 1.0 GiB",
            "GPU KV cache size: {pool:,} tokens, Maximum concurrency for {context:,} tokens per request: {slots}.00x",
            "Graph capturing finished in 1 secs, took 0.10 GiB",
            "init engine (profile, create kv cache, warmup model) took 1.00 seconds",
        ),
        ready=("Starting vLLM API server 0 on http://{host}:{port}", "Application startup complete."),
        metrics="vllm:num_requests_running=running vllm:num_requests_waiting=waiting vllm:kv_cache_usage_perc=kv_usage "
        "vllm:prompt_tokens_total=prompt_tokens vllm:generation_tokens_total=generated_tokens "
        "vllm:iteration_tokens_total_count=steps process_start_time_seconds=started_at",
        labels=True,
    ),
    "llamacpp": Manner(
        load="503",
        loading=(
            "srv    load_model: loading model '/models/simulated.gguf'",
            "load_tensors: offloaded 33/33 layers to GPU",
            "........................................................................",
            "srv    load_model: initializing, n_slots = {slots}, n_ctx_slot = {context}, kv_unified = 'false'",
        ),
        ready=("srv          init: model loaded", "srv          init: listening on http://{host}:{port}"),
        metrics="llamacpp:prompt_tokens_total=prompt_tokens llamacpp:prompt_seconds_total=prompt_seconds "
        "llamacpp:tokens_predicted_total=generated_tokens llamacpp:tokens_predicted_seconds_total=generated_seconds "
        "llamacpp:n_decode_total=steps llamacpp:requests_processing=running llamacpp:requests_deferred=waiting",
        any_model=True,
    ),
    "sglang": Manner(
        drain_s=3600.0,
        loading=(
            "Load weight end. elapsed=1.00 s, type=LlamaForCausalLM, avail mem=22.00 GB, mem usage=1.00 GB.",
            "KV Cache is allocated. #tokens: {pool}, K size: 1.00 GB, V size: 1.00 GB",
            "max_total_num_tokens={pool}, max_running_requests={slots}, context_len={context}, available_gpu_mem=19.90 GB",
        ),
        ready=("Uvicorn running on http://{host}:{port}", "The server is fired up and ready to roll!"),
        metrics="sglang:num_running_reqs=running sglang:num_queue_reqs=waiting sglang:token_usage=kv_usage "
        "sglang:prompt_tokens_total=prompt_tokens sglang:generation_tokens_total=generated_tokens",
        labels=True,
    ),
    "generic": Manner(loading=("starting",)),
    "simulated": Manner(
        load="503",
        drain_s=30.0,
        loading=tuple(f"loading model: {percent} %" for percent in range(0, 101, 10)),
        metrics="simulated:prompt_tokens_total=prompt_tokens simulated:generation_tokens_total=generated_tokens "
        "simulated:requests_running=running simulated:requests_waiting=waiting "
        "simulated:engine_steps_total=steps simulated:kv_cache_usage_ratio=kv_usage "
        "simulated:generation_seconds_total=generated_seconds process_start_time_seconds=started_at",
    ),
}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What the engine does; None leaves it to the manner of its dialect. `_s` are seconds."""

    load_s: float = 0.0
    load_phase: str | None = None  # refused | 503
    stall_at: float | None = None  # share of the load after which it says nothing more and never gets ready
    boot_exit_code: int | None = None  # when given it never gets ready but exits, with that log line
    boot_exit_after_s: float = 0.0
    boot_exit_log: str = ""
    exit_after_s: float | None = None  # from ready on
    exit_code: int = 1
    exit_log: str = ""
    tps: float = 100.0  # tokens per second of one request
    ttft_s: float = 0.02
    answer_tokens: int = 256  # an answer ends here with "stop", or before with "length" where the request allows fewer
    hang: bool = False  # health says 200, completions never finish
    ignore_term: bool = False
    drain_s: float | None = None  # how long running requests may take after TERM


@dataclass(frozen=True, slots=True)
class Config:
    """The command line, checked."""

    dialect: str
    host: str
    port: int
    names: tuple[str, ...]
    context: int
    slots: int
    api_key: str | None
    manner: Manner
    behaviour: Behaviour


@dataclass(slots=True)
class Counts:
    """What the metrics show; read and written under the engine's lock."""

    started_at: float
    running: int = 0
    waiting: int = 0
    prompt_tokens: int = 0
    prompt_seconds: float = 0.0
    generated_tokens: int = 0
    generated_seconds: float = 0.0
    steps: int = 0
    kv_usage: float = 0.0


class Refusal(Exception):
    """A request that is answered with an error: HTTP status, OpenAI error type, message."""


@dataclass(frozen=True, slots=True)
class Request:
    """A completion request after its checks."""

    chat: bool
    model: str
    prompt: str
    prompt_tokens: int
    limit: int
    cut: bool
    stream: bool


class Engine:
    """The model that is not there: admits requests, makes up words, keeps the counts, and ends the process."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.behaviour = config.behaviour
        self.counts = Counts(started_at=time.time())
        self.changed = threading.Condition()
        self.loading = True
        self.draining = False

    @contextmanager
    def slot(self, request: Request) -> Iterator[Iterator[str]]:
        """Wait for a place among the running requests, and hold it until the answer is written: a drain waits for that."""
        share = (request.prompt_tokens + request.limit) / (self.config.context * self.config.slots)
        with self.changed:
            self.counts.waiting += 1
            admitted = self.changed.wait_for(lambda: self.counts.running < self.config.slots, QUEUE_LIMIT_S)
            self.counts.waiting -= 1
            if not admitted:
                raise Refusal(503, "unavailable_error", "the request waited too long for its turn")
            self._count(running=1, kv_usage=share)
        try:
            yield self._words(request)
        finally:
            self._count(running=-1, kv_usage=-share)

    def _words(self, request: Request) -> Iterator[str]:
        """Yield the tokens of an answer at the configured speed; the same prompt always gets the same words."""
        while self.behaviour.hang:
            time.sleep(READ_LIMIT_S)
        time.sleep(self.behaviour.ttft_s)
        self._count(prompt_tokens=request.prompt_tokens, prompt_seconds=self.behaviour.ttft_s, steps=1)
        started = time.monotonic()
        for number in range(request.limit):
            time.sleep(max(started + number / self.behaviour.tps - time.monotonic(), 0.0))
            self._count(generated_tokens=1, generated_seconds=1 / self.behaviour.tps, steps=1)
            yield ("" if number == 0 else " ") + WORDS[(len(request.prompt) + number * 7) % len(WORDS)]

    def _count(self, **changes: float) -> None:
        """Add to the counts and wake whoever waits for a change."""
        with self.changed:
            for name, change in changes.items():
                setattr(self.counts, name, getattr(self.counts, name) + change)
            self.changed.notify_all()

    def metrics(self) -> str:
        """The exposition text, under the names of the dialect."""
        label = f'{{model_name="{self.config.names[0]}",engine="0"}}' if self.config.manner.labels else ""
        lines = []
        with self.changed:
            for name, source in (word.split("=") for word in self.config.manner.metrics.split()):
                kind = "counter" if name.endswith("_total") else "gauge" if source != "steps" else "untyped"
                lines.append(f"# TYPE {name} {kind}\n{name}{label} {getattr(self.counts, source):.10g}\n")
        return "".join(lines)

    def boot(self, listen: Callable[[], None]) -> None:
        """Go through the load, listen at the moment that the load phase asks for, and exit where told to."""
        at_once = (self.behaviour.load_phase or self.config.manner.load) == "503"
        if at_once:
            listen()
        self._load()
        self.loading = False
        if not at_once:
            listen()
        self._log(*self.config.manner.ready)
        if self.behaviour.exit_after_s is not None:
            time.sleep(self.behaviour.exit_after_s)
            leave(self.behaviour.exit_code, self.behaviour.exit_log)

    def _load(self) -> None:
        """Print the load's lines, spread over its time, until it is through, stalls or fails."""
        told, lines, started = self.behaviour, self.config.manner.loading, time.monotonic()
        said_s = told.load_s if told.boot_exit_code is None else told.boot_exit_after_s
        said = len(lines) if told.stall_at is None else int(len(lines) * told.stall_at)
        for number, line in enumerate(lines[:said]):
            due = told.load_s * number / len(lines)
            if due > said_s:
                break
            time.sleep(max(started + due - time.monotonic(), 0.0))
            self._log(line)
        time.sleep(max(started + said_s - time.monotonic(), 0.0))
        if told.boot_exit_code is not None:
            leave(told.boot_exit_code, told.boot_exit_log)
        while told.stall_at is not None:
            time.sleep(READ_LIMIT_S)

    def _log(self, *lines: str) -> None:
        facts = {"host": self.config.host, "port": self.config.port, "context": self.config.context, "slots": self.config.slots}
        for line in lines:
            print(line.format(pool=self.config.context * self.config.slots, **facts), flush=True)

    def drain(self) -> NoReturn:
        """Refuse new requests, let the running ones finish up to the limit, and end the process."""
        self.draining = True
        limit = self.config.manner.drain_s if self.behaviour.drain_s is None else self.behaviour.drain_s
        with self.changed:
            self.changed.wait_for(lambda: not self.counts.running + self.counts.waiting, limit)
        leave(0, "stopped")


class Server(ThreadingTCPServer):
    """Binds its port at once and listens only when told, so that a loading engine can refuse connections."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, engine: Engine) -> None:
        super().__init__((engine.config.host, engine.config.port), Handler, bind_and_activate=False)
        self.engine = engine
        self._claim(self.server_bind)
        engine.config = replace(engine.config, port=self.server_address[1])

    def _claim(self, step: Callable[[], None]) -> None:
        """Take the step, or end the process in an engine's words where the port cannot be had."""
        try:
            step()
        except OSError as error:
            where = f"{self.engine.config.host}:{self.engine.config.port}"
            leave(1, f"[Errno {error.errno}] {error.strerror}: could not bind {where}")

    def listen(self) -> None:
        """Begin to listen and to answer."""
        self._claim(self.server_activate)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep silent about a client that hung up."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """The HTTP face: OpenAI's endpoints, health, metrics, and what the dialect has besides."""

    protocol_version = "HTTP/1.1"
    timeout = READ_LIMIT_S
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Keep the log for the engine's own lines."""

    def do_GET(self) -> None:
        self._answer(lambda: self._send(self._page()))

    def do_POST(self) -> None:
        self._answer(self._complete)

    def _answer(self, work: Callable[[], None]) -> None:
        """Do the work; a refusal becomes an error body."""
        self.route = self.path.partition("?")[0]
        try:
            self.body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), BODY_LIMIT))
            self._admit()
            work()
        except Refusal as refusal:
            status, kind, message = refusal.args
            self._send(json.dumps({"error": {"code": status, "type": kind, "message": message}}), status)

    def _admit(self) -> None:
        """Refuse what comes while loading or draining, or without the key."""
        key = self.server.engine.config.api_key
        if self.server.engine.loading:
            raise Refusal(503, "unavailable_error", "Loading model")
        if self.server.engine.draining and self.command == "POST":
            raise Refusal(503, "unavailable_error", "Shutting down")
        if key and self.route.startswith("/v1/") and self.headers.get("Authorization") != f"Bearer {key}":
            raise Refusal(401, "authentication_error", "Invalid API Key")

    def _begin(self, status: int, content_type: str, framing: str, value: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header(framing, value)
        self.end_headers()

    def _send(self, text: str, status: int = 200) -> None:
        content_type = "text/plain; version=0.0.4" if self.route == "/metrics" else "application/json"
        self._begin(status, content_type, "Content-Length", str(len(text.encode())))
        self.wfile.write(text.encode())

    def _page(self) -> str:
        """What a GET of this path answers."""
        config = self.server.engine.config
        match self.route:
            case "/" | "/health" | "/ready":
                return '{"status":"ok"}'
            case "/metrics" if config.manner.metrics:
                return self.server.engine.metrics()
            case "/version":
                return '{"version":"0.33.0"}'
            case "/v1/models":
                return json.dumps({"object": "list", "data": self._models()})
            case "/slots" if config.dialect == "llamacpp":
                busy = self.server.engine.counts.running
                return json.dumps([{"id": n, "n_ctx": config.context, "is_processing": n < busy} for n in range(config.slots)])
        raise Refusal(404, "not_found_error", f"{self.route} is not served here")

    def _models(self) -> list[dict[str, Any]]:
        config = self.server.engine.config
        shared = {"object": "model", "owned_by": config.dialect, "max_model_len": config.context}
        if config.manner.any_model:  # llama.cpp keeps its aliases sorted and lists the first as the model
            names = sorted(config.names)
            return [{"id": names[0], "aliases": names, **shared, "meta": {"n_ctx": config.context}}]
        return [{"id": name, **shared} for name in config.names]

    def _complete(self) -> None:
        """Answer a completion or chat request, in one piece or as a stream."""
        request = self._request()
        with self.server.engine.slot(request) as words:
            if request.stream:
                self._stream(request, words)
            else:
                self._send(self._chunk(request, "".join(words), finished=True))

    def _request(self) -> Request:
        """The checked request; the limit is the number of tokens that its answer will have."""
        config = self.server.engine.config
        if self.route not in ("/v1/completions", "/v1/chat/completions"):
            raise Refusal(404, "not_found_error", f"{self.route} is not served here")
        try:
            asked = json.loads(self.body)
            chat = "chat" in self.route
            prompt = json.dumps(asked["messages"]) if chat else str(asked["prompt"])
            wanted = int(asked.get("max_completion_tokens") or asked.get("max_tokens") or config.behaviour.answer_tokens)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Refusal(400, "invalid_request_error", "not a completion request") from None
        model, length = str(asked.get("model", config.names[0])), max(len(prompt) // 4, 1)
        if model not in config.names and not config.manner.any_model:
            raise Refusal(404, "NotFoundError", f"The model `{model}` does not exist.")
        if length >= config.context:
            raise Refusal(400, "exceed_context_size_error", f"{length} tokens do not fit into {config.context}")
        limit = min(wanted, config.behaviour.answer_tokens, config.context - length)
        return Request(chat, model, prompt, length, limit, wanted <= limit, bool(asked.get("stream")))

    def _chunk(self, request: Request, text: str, finished: bool) -> str:
        """One answer, or one piece of a streamed one, as OpenAI's JSON."""
        content: dict[str, Any] = {"text": text}
        if request.chat:
            content = {"delta" if request.stream else "message": {"role": "assistant", "content": text}}
        kind = ("chat.completion.chunk" if request.stream else "chat.completion") if request.chat else "text_completion"
        finish = ("length" if request.cut else "stop") if finished else None
        choices = [{"index": 0, **content, "finish_reason": finish}]
        answer: dict[str, Any] = {"id": f"sim-{id(request):x}", "object": kind, "model": request.model, "choices": choices}
        if finished:
            used = {"prompt_tokens": request.prompt_tokens, "completion_tokens": request.limit}
            answer["usage"] = used | {"total_tokens": request.prompt_tokens + request.limit}
        return json.dumps(answer)

    def _stream(self, request: Request, words: Iterator[str]) -> None:
        """Send an answer as server-sent events, chunked so that a client can tell a cut stream from a finished one."""
        self._begin(200, "text/event-stream", "Transfer-Encoding", "chunked")
        pieces = (self._chunk(request, word, finished=False) for word in words)
        last = (self._chunk(request, "", finished=True), "[DONE]")
        for piece in chain(pieces, last):
            data = f"data: {piece}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")


def leave(code: int, line: str) -> NoReturn:
    """End the process at once, whatever its threads do."""
    print(line, end="\n" if line else "", flush=True)
    os._exit(code)


def configure(argv: Sequence[str], environment: Mapping[str, str]) -> Config:
    """Read flags, environment and JSON; what is wrong ends the process with one line, as argparse does it."""
    parser = argparse.ArgumentParser(description="A simulated engine that needs no model and no GPU.", allow_abbrev=False)
    parser.add_argument("--dialect", choices=sorted(MANNERS), default=environment.get("STEWARD_SIM_DIALECT", "simulated"))
    parser.add_argument("--host", default="0.0.0.0")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--model", default="simulated", help="the served name when no other is given")
    parser.add_argument("--served-model-name", nargs="+", default=[])
    parser.add_argument("--max-model-len", type=int, default=8192)
    parser.add_argument("--max-num-seqs", type=int, default=8, help="requests that run at once; more wait")
    parser.add_argument("--api-key")
    scripted = _scripted(parser, environment.get("STEWARD_SIM") or "{}")
    for told in fields(Behaviour):
        given = environment.get("STEWARD_SIM_" + told.name.upper(), scripted.get(told.name))
        default = told.default if given is None else str(given)  # argparse converts and checks a text
        kind = str(told.type).split()[0]
        bare: dict[str, Any] = {"nargs": "?", "const": True} if kind == "bool" else {}
        flag = "--sim-" + told.name.replace("_", "-")
        parser.add_argument(flag, dest=told.name, type=TYPES[kind], default=default, metavar=kind, **bare)
    options = parser.parse_args(argv)
    if options.load_phase not in (None, "refused", "503") or options.tps <= 0:
        parser.error("--sim-load-phase is refused or 503, and --sim-tps is above 0")
    behaviour = Behaviour(**{told.name: getattr(options, told.name) for told in fields(Behaviour)})
    names = tuple(options.served_model_name) or (options.model,)
    fixed = (options.dialect, options.host, options.port, names, options.max_model_len, options.max_num_seqs)
    return Config(*fixed, options.api_key, MANNERS[options.dialect], behaviour)


def _scripted(parser: argparse.ArgumentParser, text: str) -> dict[str, object]:
    """The JSON object of STEWARD_SIM."""
    names = {told.name for told in fields(Behaviour)}
    try:
        scripted = json.loads(text)
    except ValueError as error:
        parser.error(f"STEWARD_SIM is not JSON: {error}")
    if not isinstance(scripted, dict) or set(scripted) - names:
        parser.error(f"STEWARD_SIM is not an object with keys out of {', '.join(sorted(names))}")
    return scripted


def true_or_false(text: str) -> bool:
    return ("0", "false", "1", "true").index(text.lower()) > 1


TYPES: dict[str, Callable[[str], object]] = {"float": float, "int": int, "str": str, "bool": true_or_false}


def main() -> NoReturn:
    """Boot and serve until TERM."""
    engine = Engine(configure(sys.argv[1:], os.environ))
    server = Server(engine)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: None if engine.behaviour.ignore_term else stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    threading.Thread(target=engine.boot, args=(server.listen,), daemon=True).start()
    stop.wait()
    if engine.loading:
        leave(128 + signal.SIGTERM, "stopped while loading")
    engine.drain()


if __name__ == "__main__":
    main()
