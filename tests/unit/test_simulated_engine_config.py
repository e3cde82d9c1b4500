"""What a simulated engine is started with: flags of every engine type, variables, JSON, and the lines of a parent."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from controller.dialects.dialect import Launch
from controller.dialects.registry import dialect
from controller.model.parameters import Value
from controller.model.profile import DialectName
from controller.simulation.engine.config import Config, ConfigError, configure
from controller.simulation.engine.script import Change, Line, Script
from controller.simulation.engine.wire import config_from_json, config_to_json, script_from_json, script_to_json

EVERYTHING = Script(
    load_s=1.5,
    load_phase="503",
    stall_s=1.0,
    log=(Line("one"), Line("two\nlines", 2.0, stderr=True)),
    refuses="no",
    exits_s=3.0,
    exit_code=0,
    exit_log="end",
    oom=True,
    ignore_term=True,
    term_s=0.5,
    term_code=9,
    drain_s=0.0,
    tps=12.5,
    ttft_s=0.0,
    prefill_stall_s=2.0,
    answer_tokens=9,
    concurrency=2,
    requests=3,
    answers="thinking",
    serves="other",
    hang=True,
    health="silent",
    busy_503=True,
    metrics="0.8",
    metrics_reset=True,
    acceptance=0.25,
    vram_mib=4096,
    growth_mib_per_min=1.5,
    release_s=7.0,
    residue_mib=22,
    changes=(Change(5.0, {"hang": False, "health": None, "log": (Line("three", 6.0),)}), Change(1.0, {"tps": 1.0})),
)


def test_flag_beats_variable_beats_json_beats_base() -> None:
    """Given the same fields told four ways, the flag holds, then the variable, then the JSON, then the script before."""
    environment = {
        "STEWARD_SIM": '{"answer_tokens": 3, "tps": 30, "ttft_s": 0.3}',
        "STEWARD_SIM_ANSWER_TOKENS": "4",
        "STEWARD_SIM_TPS": "40",
    }
    base = Script(answer_tokens=2, tps=20, ttft_s=0.2, load_s=2)
    script = configure(["--sim-answer-tokens", "5"], environment, base=base).script
    assert (script.answer_tokens, script.tps, script.ttft_s, script.load_s) == (5, 40.0, 0.3, 2)


def test_every_scalar_has_a_flag_and_a_variable() -> None:
    """Given each scalar of a full script as a flag, and as a variable, the script is the same both times."""
    scalars = {told.name: getattr(EVERYTHING, told.name) for told in fields(Script) if told.name not in ("log", "changes")}
    flags = [word for name, value in scalars.items() for word in (f"--sim-{name.replace('_', '-')}", str(value))]
    variables = {f"STEWARD_SIM_{name.upper()}": str(value) for name, value in scalars.items()}
    wanted = replace(EVERYTHING, log=None, changes=())
    assert configure(flags, {}, dialect="vllm").script == wanted
    assert configure([], variables, dialect="vllm").script == wanted


def test_json_may_hold_lines_and_changes() -> None:
    """Given a JSON object with a log of texts and objects, and changes with a null, they are those of the script."""
    text = '{"log": ["a", {"text": "b", "at_s": 1}], "changes": [{"at_s": 2, "health": null, "tps": 3}], "health": 503}'
    script = configure([], {"STEWARD_SIM": text}).script
    assert script.log == (Line("a"), Line("b", 1.0))
    assert script.changes == (Change(2.0, {"health": None, "tps": 3.0}),)
    assert (script.health, script.at(1).health, script.at(2).health) == ("503", "503", None)


def test_a_switch_needs_no_value() -> None:
    """Given switches bare, with a value, and in front of another flag, each is what it says."""
    assert configure(["--sim-hang", "--sim-busy-503", "false", "--port", "9"], {}).script == Script(hang=True)
    assert configure(["--sim-hang=0"], {}, base=Script(hang=True)).script == Script()


@pytest.mark.parametrize(
    ("argv", "environment", "said"),
    [
        (("--sim-speed", "3"), {}, "unrecognized arguments: --sim-speed 3"),
        (("--port",), {}, "argument --port: expected one argument"),
        (("--served-model-name", "--port", "1"), {}, "argument --served-model-name: expected at least one argument"),
        (("--port", "70000"), {}, "argument --port: invalid value: '70000'"),
        (("--max-model-len", "many"), {}, "argument --max-model-len: invalid value: 'many'"),
        (("--dialect", "tgi"), {}, "argument --dialect: invalid choice: 'tgi' (choose from generic, llamacpp"),
        (("--sim-tps", "0"), {}, "argument --sim-tps: tps is 0, expected 0.001 to 1e+06"),
        (("--sim-load-s", "nan"), {}, "argument --sim-load-s: load_s is nan, expected 0 to 1e+09"),
        (("--sim-metrics", "0.9", "--dialect", "vllm"), {}, "metrics is '0.9', expected one of 0.33, 0.11, 0.8, none"),
        ((), {"STEWARD_SIM_LOAD_S": "soon"}, "STEWARD_SIM_LOAD_S: invalid float value: 'soon'"),
        ((), {"STEWARD_SIM_HANG": "perhaps"}, "STEWARD_SIM_HANG: invalid bool value: 'perhaps'"),
        ((), {"STEWARD_SIM_LOAD_PHASE": "502"}, "STEWARD_SIM_LOAD_PHASE: load_phase is '502', expected one of refused, 503"),
        ((), {"STEWARD_SIM": "{"}, "STEWARD_SIM is not JSON: "),
        ((), {"STEWARD_SIM": "[]"}, "STEWARD_SIM is not an object"),
        ((), {"STEWARD_SIM": '{"speed": 3}'}, "STEWARD_SIM: there is no field speed: there are acceptance, answer_tokens"),
        ((), {"STEWARD_SIM": '{"hang": 1}'}, "STEWARD_SIM: hang is not of the kind bool: 1"),
        ((), {"STEWARD_SIM": '{"requests": 1.5}'}, "STEWARD_SIM: requests is not of the kind int: 1.5"),
        ((), {"STEWARD_SIM": '{"log": [{"at_s": 1}]}'}, "STEWARD_SIM: a line of log is a text or an object"),
        ((), {"STEWARD_SIM": '{"changes": [{"hang": true}]}'}, "STEWARD_SIM: a change is an object with at_s"),
        ((), {"STEWARD_SIM": '{"changes": [{"at_s": 1, "metrics": "7"}]}'}, "metrics is '7', expected one of 1, none"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(argv: tuple[str, ...], environment: dict[str, str], said: str) -> None:
    """Given a misspelt or misshapen instruction, the error names it and what was expected."""
    with pytest.raises(ConfigError) as error:
        configure(argv, environment)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [DialectName.VLLM, DialectName.LLAMACPP, DialectName.SIMULATED])
def test_the_command_line_of_a_dialect_is_understood(name: DialectName) -> None:
    """Given the argv that Steward makes for an engine type, its names, sizes and address are found and no flag is an error."""
    models: dict[DialectName, dict[str, Value]] = {
        DialectName.LLAMACPP: {"model_file": "a.gguf", "ubatch_size": 64},
        DialectName.VLLM: {"model_path": "m"},
    }
    given = {**models.get(name, {}), "max_model_len": 4096, "max_num_seqs": 3, "api_key": "k", "extra_args": ("--sim-tps", "5")}
    argv = dialect(name).argv(Launch(given, ("chat", "alias"), 8123, "image:1"))
    config = configure([str(word) for word in argv], {}, dialect=name.value)
    wanted = (name.value, "0.0.0.0", 8123, ("chat", "alias"), 4096, 3, "k", 5.0)
    found = (config.dialect, config.host, config.port, config.names, config.context, config.slots, config.api_key)
    assert (*found, config.script.tps) == wanted


@pytest.mark.parametrize(
    ("name", "argv", "wanted"),
    [
        ("llamacpp", "-m /models/a/b.gguf -c 4096 -np 2 --fit off -np -1", Config(names=("b.gguf",), context=512)),
        ("llamacpp", "-a x --parallel 4 --ctx-size 0", Config(names=("x",), slots=4)),
        ("vllm", "--model org/m --max-model-len auto --max-num-seqs=4 --seed -1", Config(names=("org/m",), slots=4)),
        (
            "sglang",
            "--model-path m --served-model-name s --context-length 2048 --max-running-requests 6 --tp-size 2 --host h",
            Config(names=("s",), context=2048, slots=6, host="h"),
        ),
        ("generic", "main.py --listen --port auto --api-key x --max-model-len y", Config()),
    ],
)
def test_flags_of_real_engines(name: str, argv: str, wanted: Config) -> None:
    """Given a command line of a real engine, what a client can see of it is taken over and nothing is an error."""
    assert configure(argv.split(), {}, dialect=name) == replace(wanted, dialect=name)


def test_a_flag_or_variable_may_name_another_dialect() -> None:
    """Given a dialect by argument, by variable and by flag, the later one of these holds."""
    told = {"STEWARD_SIM_DIALECT": "vllm"}
    assert configure([], {}, dialect="llamacpp").dialect == "llamacpp"
    assert configure([], told, dialect="llamacpp").dialect == "vllm"
    assert configure(["--dialect", "sglang"], told, dialect="llamacpp").dialect == "sglang"


def test_scripts_and_configurations_survive_the_wire() -> None:
    """Given a script with every field, when it goes through one line of JSON, then it is the same; so is a configuration."""
    config = Config("vllm", "::1", 81, ("a", "b"), 99, 3, "sk-1", EVERYTHING)
    assert all(getattr(EVERYTHING, told.name) != getattr(Script(), told.name) for told in fields(Script))
    assert script_from_json(script_to_json(EVERYTHING)) == EVERYTHING
    assert config_from_json(config_to_json(config)) == config
    assert "\n" not in config_to_json(config)
    assert json.loads(script_to_json(Script())) == {}
    assert "sk-1" not in repr(config)


@pytest.mark.parametrize("text", ["", "[]", '{"speed": 1}', '{"names": "chat"}', '{"script": {"hang": 3}}'])
def test_a_configuration_that_is_none_is_refused(text: str) -> None:
    """Given a line that is no configuration, it is an error and nothing else."""
    with pytest.raises(ConfigError):
        config_from_json(text)
