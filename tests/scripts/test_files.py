"""What the scripts do with files that are not what they should be, and how they end."""

import json
import os
import re
import subprocess
import sys

import fuzz_readers
import pytest

from ladder import files
from ladder.project import ROOT, BadInput


@pytest.mark.parametrize("reader", fuzz_readers.READERS)
def test_a_damaged_file_ends_with_a_result_or_a_line(reader):
    assert fuzz_readers.fuzz(reader, 15) == []


def test_the_fuzz_sees_a_reader_that_does_not_look(monkeypatch):
    careless = fuzz_readers.Reader(b'[{"a": 1}]', "x.json", lambda p: json.loads(p.read_text()))
    monkeypatch.setitem(fuzz_readers.READERS, "careless", careless)
    assert fuzz_readers.fuzz("careless", 15) != []


@pytest.mark.parametrize(
    "value, shape, message",
    [
        (1, {"a": int}, "is no object"),
        ({}, {"a": int}, "has no 'a'"),
        ({"a": True}, {"a": int}, ".a is not a whole number"),
        ({"a": "1"}, {"a?": float}, ".a is not a number"),
        ({"a": float("nan")}, {"a": float}, ".a is not a number"),
        ({"a": 10**30}, {"a": int}, ".a is not a whole number"),
        ({"a": 1, "b": 2}, files.Closed({"a": int}), "has 'b', which nothing is called here"),
        ({"x": {"y": [1, "a"]}}, {str: {str: [int]}}, ".x.y[1] is not a whole number"),
        ([], [int, ...], "is empty"),
        ([1], [int, str], "has 1 elements, not 2"),
        ("c", ("a", "b"), "is none of a, b"),
        (1, (str, None), "is not a text"),
        ({"a": 0}, {"a": files.positive}, ".a is not a number above 0"),
        ({"a": "x\ny"}, {"a": files.one_line}, ".a is not a text of one line"),
        ({"a": "\ud800"}, {"a": str}, ".a is not a text"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, value, shape, message):
    with pytest.raises(BadInput) as error:
        files.check(value, shape, tmp_path)
    assert str(error.value) == f"{tmp_path}: {message}"


@pytest.mark.parametrize("records", ["of", "list", "none", None])
def test_lines_are_what_they_were_made_of(tmp_path, records):
    whole = {"a": 1, "of": {"x": {"y": [1, 2]}, "z": {}}, "list": [[1], {"b": None}], "empty": {}}
    path = tmp_path / "x.jsonl"
    path.write_text(files.as_lines(files.parts(whole, records)))
    assert files.read_lines(path, {"a": int}) == whole
    assert len(path.read_text().splitlines()) == (3 if records in whole else 1)


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"a": 1}\n{"a": 1}\n', ":2: 'a' stands in an earlier line, too"),
        ('{"a": {"b": 1}}\n{"a": {"b": {}}}\n', ":2: 'b' stands in an earlier line, too"),
        ('{"a": []}\n{"a": {}}\n', ":2: 'a' stands in an earlier line, too"),
        ('{"a": 1}\n{"b": \n', ":2 is no JSON: "),
        ('{"a": 1}\n[]\n', ":2: is no object"),
        ("", " is empty"),
    ],
)
def test_lines_that_are_no_parts_of_one_object_are_named(tmp_path, text, message):
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(BadInput) as error:
        files.read_lines(path, {"a": object})
    assert str(error.value).startswith(f"{path}{message}")


@pytest.mark.parametrize(
    "value, shape",
    [
        ({"a": 1, "c": 2}, {"a": float, "b?": int}),
        ({}, {str: int}),
        ([1, "x"], [int, str]),
        (None, (str, None)),
        ([[1], []], [[int]]),
        (2**63 - 1, int),
    ],
)
def test_what_fits_is_given_back(tmp_path, value, shape):
    assert files.check(value, shape, tmp_path) == value


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "is no JSON"),
        (b"\xff", "is no text: byte 0 is not UTF-8"),
        (b"[" * 10**5, "is no JSON: maximum recursion depth"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": 1e999}', ".a is not a number"),
        (b'{"a": 1, "a": 2}', "'a' stands twice"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is no JSON: Exceeds the limit"),
    ],
)
def test_json_that_is_none(tmp_path, data, message):
    (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(BadInput) as error:
        files.read_json(tmp_path / "x.json", {"a": float})
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: [", "is no YAML"),
        ("a: 1\na: 2", "'a' stands twice"),
        ("a: !!int x", "is no YAML"),
        ("a: &b [*b]", ".a is not a number"),
        ("[" * 10**4, "is no YAML"),
        ("on: 1\na: 1", "has 'on', which"),
    ],
)
def test_yaml_that_is_none(tmp_path, text, message):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(BadInput) as error:
        files.read_yaml(tmp_path / "x.yaml", files.Closed({"a": float}))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_what_a_file_lacks_and_somebody_asks_for_is_said(tmp_path):
    (tmp_path / "x.json").write_text('{"a": {"b": 1}}')
    found = files.read_json(tmp_path / "x.json", {"a": {"b?": int, "c?": int}})
    assert "c" not in found["a"] and found["a"].get("c") is None
    with pytest.raises(BadInput, match="lacks 'c' in"):
        found["a"]["c"]


LADDER = ROOT / "ladder"
COMMANDS = re.findall(r'^    "([\w-]+)": "[^"]*\.py"', LADDER.read_text(), re.MULTILINE)


def ended(script, *arguments, **more):
    command = [sys.executable, script, *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, **more)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_has_gone_is_no_error(command):
    read, write = os.pipe()
    os.close(read)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = ended(LADDER, command, "--help", stdout=write, env=buffered)
    os.close(write)
    assert done.returncode == 141 and done.stderr == ""


def test_a_table_that_could_not_be_written_is_an_error():
    with open("/dev/full", "w") as full:
        done = ended(LADDER, "stages", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "ladder stages: [Errno 28] No space left on device\n"
    done = ended(LADDER, "stages", preexec_fn=lambda: os.close(1))
    assert done.returncode == 2 and done.stderr == "ladder stages: standard output is closed\n"


@pytest.mark.parametrize(
    "script, file",
    [
        ("ladder diagnose", "remedies.json"),
        ("ladder figures", "timeline.json"),
        ("ladder model", "model.yaml"),
        ("ladder stages", "manifest.json"),
        ("ladder triton", "triton.json"),
    ],
)
def test_a_bad_character_in_a_table_of_the_stages_is_one_line(tmp_path, script, file):
    """The scripts of a project in which one of the tables is damaged."""
    for name in ("kernels", "bench"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs/figures").mkdir(parents=True)  # which are drawn where the damage is not
    for path in (ROOT / "docs").iterdir():
        if path.name != "figures":
            (tmp_path / "docs" / path.name).symlink_to(path)
    (tmp_path / "ladder").write_text(LADDER.read_text())
    ladder = tmp_path / "scripts/ladder"
    for path in (ROOT / "scripts/ladder").rglob("*.py"):
        copy = ladder / path.relative_to(ROOT / "scripts/ladder")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    (tmp_path / "stages").mkdir()
    for path in (ROOT / "stages").iterdir():
        (tmp_path / "stages" / path.name).write_bytes(path.read_bytes())
    damaged = tmp_path / "stages" / file
    damaged.write_text(damaged.read_text().replace('"', "\x01", 1))
    arguments = ["report.csv"] if script == "ladder diagnose" else []
    done = ended(tmp_path / "ladder", script.split()[1], *arguments, stdout=subprocess.PIPE)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"{script}: {damaged}") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command, message",
    [
        (["ladder", "planted", "nosuch.yaml"], "nosuch.yaml: No such file"),
        (["ladder", "steps", "--manifest", "nosuch.json"], "nosuch.json: No such file"),
        pytest.param(
            ["ladder", "figures", "nosuch", "out"], "no reports in nosuch", marks=pytest.mark.slow
        ),
        (["ladder", "table", "nosuch"], "no reports in nosuch"),
        (["ladder", "race", "--list", "nosuch"], "nosuch: No such file"),
        (["ladder", "race", "4096²"], "no shape: '4096²'"),
        (["ladder", "sweep", "nosuch", "--shapes", "9" * 5000], "no shape"),
        (["ladder", "claims", "--claims", "/"], "Is a directory"),
        (["ladder", "diagnose", "a\0b"[:1] + "/nosuch.json"], "No such file"),
        (["ladder", "adopt", "nosuch", "h100"], "environment.json: No such file"),
        (["ladder", "adopt-tuning", "--adopt", "h200", "nosuch"], "nosuch: No such file"),
        (["bench/multi_gpu/adopt.py", "--times", "nosuch"], "nosuch: No such file"),
        (["python/bench.py", "--shapes", "-1"], "--shapes: from 1 to 100"),
        (["bench/multi_gpu/async_tp.py", "--rounds", "0"], "--rounds: at least 1"),
    ],
)
def test_bad_arguments_are_one_line_and_code_2(tmp_path, command, message):
    script = ROOT / command[0]
    if "planted" in command:
        (tmp_path / "compile_commands.json").write_text("[]")
        (tmp_path / "cpu").mkdir()
        (tmp_path / "cpu/libraries").write_text("")
        command = [*command, "--build", str(tmp_path)]
    done = ended(script, *command[1:], stdout=subprocess.PIPE, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    said = done.stderr.splitlines()[-1]
    assert said.startswith(script.name) and message in said and "Traceback" not in done.stderr
