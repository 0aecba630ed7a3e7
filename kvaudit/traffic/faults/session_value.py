"""A scratch folder of the session before the instructions."""

from random import Random
from zlib import crc32

from kvaudit.traffic.draft import Draft
from kvaudit.traffic.fault import Fault, Occasion


def plant(draft: Draft, occasion: Occasion, rng: Random) -> Draft:
    """Name the session's own folder before the instructions."""
    folder = f"/tmp/agent-{crc32(occasion.session.encode()):08x}"
    return draft.headed(f"Working directory: {folder}")


FAULT = Fault(
    name="session-value",
    title="the session's own folder on the first line of the system prompt",
    cause="session-value",
    position="system",
    plant=plant,
)
