"""How long `kvaudit why` takes on 20,000 requests of some 2,000 tokens, from text to report.

    python -m bench.why --work FOLDER [--requests 20000]

Two logs of four applications of forty tenants: a sound one, and one in which three faults of
different kinds part a third of the requests each, so that many pairs must be compared. The faulty
one is also run with what each fix would bring. What is found is held against what was planted.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from bench import loads
from bench.measure import run
from kvaudit.core.requests import Request
from kvaudit.traffic.fault import Planted
from kvaudit.traffic.generate import TrafficPlan, generate

FAULTS = ("random-id", "shuffled-examples", "history-trimmed")
SHARE = 0.33


def faulty(requests: int) -> Iterator[Request]:
    """The mixed load with faults in it."""
    planted = tuple(Planted(fault=fault, share=SHARE) for fault in FAULTS)
    plan = TrafficPlan(seed=7, requests=requests, workloads=loads.CHAT, tenants=40, faults=planted)
    return generate(plan)


def measured(name: str, log: Path, *options: str) -> dict[str, int]:
    """Run `kvaudit why` once, print what it took, and return the lost tokens by cause."""
    found = log.with_suffix(".why.json")
    command = [sys.executable, "-m", "kvaudit", "why", "--quiet", "--format", "json", *options]
    cost = run([*command, log], output=found)
    report = json.loads(found.read_text())
    print(
        f"{name:28} {cost.wall_s:7.1f} s  {cost.cpu_s:7.1f} CPU s  {cost.peak_mb:6.0f} MB  "
        f"{report['prompt_tokens']:,} tokens, {report['lost_tokens']:,} lost",
        flush=True,
    )
    return {each["cause"]: each["lost_tokens"] for each in report["causes"]}


def main() -> None:
    """Make the logs and measure."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--work", type=Path, required=True, help="folder for the logs")
    options.add_argument("--requests", type=int, default=20_000, help="requests of a log")
    given = options.parse_args()
    name = f"{given.requests}.jsonl"
    given.work.mkdir(parents=True, exist_ok=True)
    sound = loads.write(given.work / f"mixed-{name}", loads.mixed(given.requests))
    parted = loads.write(given.work / f"faulty-{name}", faulty(given.requests))
    measured("sound, without fixes", sound, "--what-if", "none")
    lost = measured("faulty, without fixes", parted, "--what-if", "none")
    measured("faulty, with fixes", parted)
    missing = [fault for fault in FAULTS if not lost.get(fault)]
    if missing:
        raise SystemExit(f"planted and not found: {', '.join(missing)}")


if __name__ == "__main__":
    main()
