"""Failures that any container can have: arguments, files, ports, disk, cards, the model hub."""

from __future__ import annotations

import re
from typing import Final

from controller.dialects.boot_log import Failure
from controller.model.track import FaultClass

_SPEC: Final = FaultClass.DETERMINISTIC
_SURROUNDINGS: Final = FaultClass.ENVIRONMENT

ARGUMENTS: Final = (
    Failure(
        "UnknownArgument",
        re.compile(r"unrecognized arguments?: (?P<flag>[^\s=]+)|error: (?:invalid|unknown) argument: (?P<other>[^\s=]+)"),
        "the engine does not know the argument {flag}{other}: correct extra_args, or use an image that has it",
        _SPEC,
    ),
    Failure(
        "InvalidArgument",
        re.compile(r"error while handling argument \"(?P<flag>[^\"]+)\": (?P<said>.+)"),
        "the engine refuses the value of {flag}: {said}",
        _SPEC,
    ),
    Failure(
        "InvalidArgument",
        re.compile(r"error: argument (?P<flag>-[\w/, -]+): (?P<said>.+)"),
        "the engine refuses the value of {flag}: {said}",
        _SPEC,
    ),
    Failure(
        "MissingArgument",
        re.compile(r"the following arguments are required: (?P<flag>.+)"),
        "the engine wants an argument that it was not given: {flag}",
        _SPEC,
    ),
)

CARDS: Final = (
    Failure(
        "DriverTooOld",
        re.compile(r"NVIDIA driver on your system is too old|CUDA driver version is insufficient|unsatisfied condition: cuda"),
        "the image needs a newer NVIDIA driver than the host has: update the driver or take an older image",
        _SPEC,
    ),
    Failure(
        "CardNotSupported",
        re.compile(r"no kernel image is available for execution on the device"),
        "the image has no code for this card's compute capability: take another image",
        _SPEC,
    ),
    Failure(
        "GpuLost",
        re.compile(r"(?P<said>GPU is lost|fallen off the bus|Failed to initialize NVML.*|[Uu]ncorrectable ECC error.*)"),
        "a card cannot be used any more: {said}",
        _SURROUNDINGS,
    ),
    Failure(
        "GpuNotVisible",
        re.compile(r"No CUDA GPUs are available|no CUDA-capable device is detected|Failed to infer device type"),
        "the engine sees no card in its container: look at the NVIDIA container toolkit and driver of the host",
        _SURROUNDINGS,
    ),
)

OVERLAYS: Final = (
    Failure(
        "OverlayFailed",
        re.compile(r"^steward: overlay (?P<overlay>\S+): step failed with (?P<code>\d+)$"),
        "overlay {overlay} cannot be put on: its step ended with code {code}",
        _SPEC,
        detail=re.compile(r"(?P<said>missing anchor: .+)"),
        advice="{said}",
    ),
)
"""What the script says that puts overlays on before the engine starts."""

COMMON: Final = (
    *OVERLAYS,
    *ARGUMENTS,
    *CARDS,
    Failure(
        "WrongArchitecture",
        re.compile(r"exec format error", re.I),
        "the image is built for another processor than this host's: take the image for this architecture",
        _SPEC,
    ),
    Failure(
        "SharedMemoryTooSmall",
        re.compile(r"/dev/shm.*No space left on device|No space left on device.*/dev/shm|[Bb]us error"),
        "the shared memory of the container is full: raise shm_size or use ipc: host",
        _SPEC,
    ),
    Failure(
        "DiskFull",
        re.compile(r"No space left on device|[Dd]isk quota exceeded"),
        "the disk is full: make room where models and caches are kept",
        _SURROUNDINGS,
    ),
    Failure(
        "PortTaken",
        re.compile(r"address already in use|EADDRINUSE|server socket has failed to listen|bind HTTP server socket", re.I),
        "a port that the engine wants to listen on is in use",
        _SURROUNDINGS,
    ),
    Failure(
        "PermissionDenied",
        re.compile(r"(?P<said>(?:[^\s:]+: )?permission denied.*)", re.I),
        "the engine may not use a file: {said}; look at the owner and mode of the mounted folders",
        _SPEC,
    ),
    Failure(
        "HubUnreachable",
        re.compile(
            r"couldn't connect to '?https?://|Temporary failure in name resolution|Max retries exceeded with url|"
            r"429 Client Error|50[234] Server Error|failed to download model"
        ),
        "the model hub cannot be reached or refuses for now",
        _SURROUNDINGS,
    ),
    Failure(
        "HostOutOfMemory",
        re.compile(
            r"^Killed$|: line \d+: +\d+ Killed\b|Out of memory: Killed process|oom-kill|std::bad_alloc|"
            r"[Cc]annot allocate memory|died with <Signals\.SIGKILL|exit ?code:? -9\b"
        ),
        "the host's memory ran out: a process of the engine was killed or refused memory",
        _SPEC,
    ),
)
