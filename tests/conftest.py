"""Fixtures every test may use."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A fixed seed and no deadline: the same examples on every machine, however slow.
settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded engine answers and real traces, which lies beside a checkout."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data folder is not beside this checkout")
    return folder
