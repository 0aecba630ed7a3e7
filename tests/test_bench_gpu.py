"""`bench/gpu.py` runs where nothing but torch and transformers is installed."""

import subprocess
import sys

PROGRAM = """
import sys
blocked = ("pydantic", "numba", "pyarrow", "orjson", "tiktoken", "pathspec")
its_own = ("typer", "rich", "yaml", "jinja2")  # what transformers brings along
for name in (*blocked, *its_own):
    sys.modules[name] = None
import torch
from bench import gpu
for name in its_own:
    del sys.modules[name]
gpu.check_matches(torch.device("cpu"))
gpu.check_execution(torch.device("cpu"), "bf16")
"""


def test_its_checks_need_no_other_package(pytestconfig):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=pytestconfig.rootpath,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("  ok  ") == 14
    assert "FAILED" not in done.stdout
