"""The script that puts overlays on before the engine starts, run by a real shell."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from controller.dialects.registry import DIALECTS
from controller.model.overlay import Step
from controller.model.track import FaultClass
from controller.resolve.overlay_effects import STEP_FAILED, start_script

ENGINE = ("sh", "-c", 'echo "engine $MADE: $*"', "engine")


def run(
    folder: Path, *steps: tuple[str, Step], arguments: Sequence[str] = (), shell: str = "sh"
) -> subprocess.CompletedProcess[str]:
    """Run the script with these steps as the container does."""
    (part,) = start_script(steps, ENGINE).parts
    script = folder / part.path
    script.write_bytes(part.data or b"")
    command = [shell, str(script), *arguments]
    return subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=30, check=False)


def step(*words: str, on_failure: str = "stop") -> Step:
    """A step that runs a program."""
    return Step.model_validate({"run": list(words), "on_failure": on_failure})


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_steps_run_in_order_and_the_engine_gets_its_arguments(tmp_path: Path, shell: str) -> None:
    """Given two steps, when the script runs, then they run in order, and the engine gets its arguments as they are."""
    steps = (("a", step("echo", "one  $HOME")), ("b", step("echo", "it's two")))
    ended = run(tmp_path, *steps, arguments=("--x", "a b", "$y"), shell=shell)
    assert ended.returncode == 0
    assert ended.stdout.splitlines() == [
        "steward: overlay a: echo one  $HOME",
        "one  $HOME",
        "steward: overlay b: echo it's two",
        "it's two",
        "engine : --x a b $y",
    ]


def test_a_failed_step_ends_it_with_the_overlays_name(tmp_path: Path) -> None:
    """Given a step that fails, when the script runs, then no later step and no engine runs, and the overlay is named."""
    ended = run(tmp_path, ("a", step("sh", "-c", "exit 3")), ("b", step("echo", "two")))
    assert ended.returncode == STEP_FAILED
    assert ended.stderr == "steward: overlay a: step failed with 3\n"
    assert "two" not in ended.stdout
    assert "engine" not in ended.stdout


def test_a_program_that_is_not_there_is_a_failed_step(tmp_path: Path) -> None:
    """Given a step without its program, when the script runs, then it ends as with any failed step."""
    assert run(tmp_path, ("a", step("/no/such/program"))).returncode == STEP_FAILED


def test_a_step_that_may_fail_is_told_and_passed_over(tmp_path: Path) -> None:
    """Given a failing step that may fail, when the script runs, then the engine starts and the log says what is missing."""
    ended = run(tmp_path, ("a", step("sh", "-c", "exit 3", on_failure="warn")))
    assert ended.returncode == 0
    assert ended.stderr == "steward: overlay a: step failed with 3, going on without it\n"
    assert "engine" in ended.stdout


def test_exported_variables_reach_the_engine(tmp_path: Path) -> None:
    """Given a script of exports, when it is read, then the engine has the variables."""
    (tmp_path / "env.sh").write_text("export MADE=here\n")
    exports = Step.model_validate({"exports": str(tmp_path / "env.sh")})
    assert run(tmp_path, ("a", exports)).stdout.endswith("engine here: \n")


def test_arguments_that_a_script_finds_out_come_last(tmp_path: Path) -> None:
    """Given a script that adds words for the engine, when it is read, then they stand behind the engine's own arguments."""
    (tmp_path / "env.sh").write_text('STEWARD_ENGINE_ARGS="$STEWARD_ENGINE_ARGS --one --two 2"\n')
    exports = Step.model_validate({"exports": str(tmp_path / "env.sh")})
    ended = run(tmp_path, ("a", exports), arguments=("--x", "a b"))
    assert ended.stdout.endswith("engine : --x a b --one --two 2\n")


@pytest.mark.parametrize("text", [None, "return 4\n"], ids=["missing", "failing"])
def test_exports_that_fail_end_it(tmp_path: Path, text: str | None) -> None:
    """Given a script of exports that is missing or fails, when it is read, then no engine starts."""
    if text is not None:
        (tmp_path / "env.sh").write_text(text)
    exports = Step.model_validate({"exports": str(tmp_path / "env.sh")})
    ended = run(tmp_path, ("a", exports))
    assert ended.returncode == STEP_FAILED
    assert "steward: overlay a: step failed" in ended.stderr


def test_a_failed_step_is_the_reason_of_the_boot(tmp_path: Path) -> None:
    """Given the log of a step without its anchor, when any dialect reads it, then the reason names overlay, code and anchor."""
    ended = run(tmp_path, ("fix", step("sh", "-c", "echo 'missing anchor: def f in x.py' >&2; exit 3")))
    log = (*ended.stdout.splitlines(), *ended.stderr.splitlines())
    for spoken in DIALECTS.values():
        found = spoken.diagnose(log)
        assert found is not None
        assert (found.reason, found.fault) == ("OverlayFailed", FaultClass.DETERMINISTIC)
        expected = "overlay fix cannot be put on: its step ended with code 3; missing anchor: def f in x.py"
        assert found.message == expected


def test_a_step_that_was_passed_over_is_no_reason(tmp_path: Path) -> None:
    """Given a step that may fail, when a later failure is diagnosed, then the step is not it."""
    ended = run(tmp_path, ("fix", step("sh", "-c", "exit 3", on_failure="warn")))
    log = (*ended.stdout.splitlines(), *ended.stderr.splitlines())
    assert all(spoken.diagnose(log) is None for spoken in DIALECTS.values())
