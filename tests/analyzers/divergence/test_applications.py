"""Applications told apart by their instructions, in every process alike."""

import os
import subprocess
import sys

from kvaudit.analyzers.divergence.repairs.applications import Applications
from kvaudit.core.requests import Request

RULES = "Answer in one sentence, and name the source.\nNever speak of prices or of delivery times."
OTHER = "You sort mails into four folders: bills, orders, complaints, rest."
PRINTS = f"""
from kvaudit.analyzers.divergence.repairs.applications import Applications
from kvaudit.core.requests import Request
request = Request(id="r", messages=[{{"role": "system", "content": {RULES!r}}}])
print(Applications([request]).of(request))
"""


def request(text, role="system"):
    return Request(id="r", messages=[{"role": role, "content": text}])


def test_values_in_other_lines_make_no_other_application():
    requests = [request(f"Trace {n:032}, of a visitor.\n{RULES}") for n in range(3)]
    applications = Applications([*requests, request(OTHER)])
    assert len({applications.of(each) for each in requests}) == 1
    assert applications.of(request(OTHER)) != applications.of(requests[0])
    assert applications.of(request(RULES, role="user")) == 0
    assert applications.of(Request(id="r", messages=[])) == 0
    as_prompt = Request(id="r", prompt=RULES)  # without messages, all of it is instructions
    assert applications.of(as_prompt) == applications.of(requests[0])


def test_the_line_that_is_taken_hangs_on_no_seed():
    told = set()
    for seed in ("1", "2", "3"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        run = [sys.executable, "-c", PRINTS]
        told.add(subprocess.run(run, env=env, check=True, capture_output=True, text=True).stdout)
    assert len(told) == 1
