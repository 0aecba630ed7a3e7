"""Builders are called in fresh processes; what they depend on is found and named."""

import sys
import textwrap

import pytest

from kvaudit.analyzers.probe.builder import Target, parse_target, stability
from kvaudit.core.errors import InputError, UsageError

SOURCE = """
    import os, random, tempfile, time, uuid
    from datetime import date, datetime
    calls = 0
    def counter():
        global calls
        calls += 1
        return f"Step {calls}."
    async def messages(name):
        print("said on standard output")
        return [{"role": "system", "content": f"You help {name}."}]
    PROMPTS = {
        "fixed": lambda: "You help.",
        "clock": lambda: f"You help. {datetime.now():%Y-%m-%d %H:%M}",
        "c_clock": lambda: time.strftime("%H:%M:%S"),
        "day": lambda: f"You help. {date.today()}",
        "ids": lambda: f"You help. {uuid.uuid4()}",
        "drawn": lambda: random.choice("abcdefghijklmnop"),
        "set": lambda: ", ".join({"alpha", "beta", "gamma", "delta", "epsilon"}),
        "address": lambda: f"You help with {object()}.",
        "pid": lambda: f"You are {os.getpid()}.",
        "counter": counter,
        "is_a_date": lambda: str(isinstance(date(2020, 1, 1), type(date.today()))),
    }
    globals().update(PROMPTS)
    def fails():
        raise ValueError("no index")
    def hangs():
        time.sleep(60)
    def dies():
        os._exit(3)
    def dies_in_latin():
        os.write(2, b"caf\\xe9 is closed\\n")
        os._exit(3)
    def floods():
        while True:
            os.write(2, b"again " * 10_000)
    def leaves_one_behind():
        import subprocess
        subprocess.Popen(["sleep", "60"])
        return "left"
"""


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "app_prompts.py"
    path.write_text(textwrap.dedent(SOURCE))

    def named(function, **kwargs):
        return parse_target(f"{path}:{function}", kwargs)

    return named


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        ("clock", "a clock"),
        ("c_clock", "a clock"),
        ("day", "the date"),
        ("ids", "random numbers"),
        ("drawn", "random numbers"),
        ("set", "the hash seed"),
        ("address", "the address of an object"),
        ("pid", "the process"),
        ("counter", "the call"),
    ],
)
def test_what_a_prompt_depends_on_is_named(target, function, cause):
    (found,) = stability(target(function)).unstable
    assert found.cause.startswith(cause)
    assert found.first != found.second


def test_the_first_byte_that_differs_is_counted_in_bytes(target):
    (found,) = stability(target("day")).unstable
    assert found.offset_bytes == len("You help. 2024-07-2")
    assert found.before.endswith("2024-07-2")


@pytest.mark.parametrize("function", ["fixed", "is_a_date"])
def test_a_fixed_prompt_is_stable(target, function):
    assert not stability(target(function)).unstable


def test_coroutines_and_messages_are_taken(target):
    found = stability(target("messages", name="Ada"))
    assert not found.unstable
    assert "You help Ada." in found.text


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("fails", "ValueError: no index"),
        ("dies", "without an answer"),
        ("dies_in_latin", "caf\ufffd is closed"),
        ("none", "no attribute"),
    ],
)
def test_a_builder_that_cannot_be_called_says_why(target, function, reason):
    with pytest.raises(InputError, match=reason):
        stability(target(function))


def test_a_builder_that_does_not_end_is_ended(target):
    with pytest.raises(InputError, match="did not end"):
        stability(target("hangs"), timeout_s=1)


def test_a_builder_that_writes_errors_for_ever_costs_no_memory(target):
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="did not end"):
        stability(target("floods"), timeout_s=2)
    # In two seconds it writes some hundred megabytes; of these 4 kB are kept.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def test_a_process_that_a_builder_leaves_behind_is_not_waited_for(target):
    assert stability(target("leaves_one_behind"), timeout_s=20).text == "left"


@pytest.mark.parametrize("text", ["app", "app:", ":f", "app:f()", "no/such.py:f"])
def test_what_is_no_target(text):
    with pytest.raises(UsageError):
        parse_target(text, {})


def test_this_process_keeps_its_clock(target):
    import datetime

    stability(target("day"))
    assert datetime.datetime.now().year > 2024
    assert "app_prompts" not in sys.modules


def test_a_target_by_module_is_found_in_the_present_folder(tmp_path, monkeypatch):
    (tmp_path / "here.py").write_text("def f(): return 'x'\n")
    monkeypatch.chdir(tmp_path)
    assert stability(Target(module="here", function="f")).text == "x"
