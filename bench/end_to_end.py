"""The whole command, from text to report: against kvlint, its memory, its start, and 10 GB.

    python -m bench.end_to_end --work FOLDER --kvlint VENV/bin/kvlint [--only ratio,memory,...]

Loads are made in FOLDER once and stay there. Each part prints its figures and what they were
held against; a part whose results are not equal to the other program's stops the run.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from bench import loads
from bench.measure import Cost, median, run

KVAUDIT = Path(sys.executable).with_name("kvaudit")
GB = 10**9


class Bench:
    """The parts, and what they share."""

    def __init__(self, work: Path, kvlint: Path | None, requests: int, repeats: int) -> None:
        """Work in a folder; ``requests`` is the size of the load."""
        self.work = work
        self.kvlint = kvlint
        self.requests = requests
        self.repeats = repeats

    def replay(self, log: Path, *options: str | Path, repeats: int = 1) -> Cost:
        """Run kvaudit replay on a log and return its median cost."""
        command = [KVAUDIT, "replay", log, "--quiet", *options]
        return median([run(command) for _ in range(repeats)])

    def mixed(self, requests: int) -> Path:
        """Return the mixed load of so many requests."""
        return loads.write(self.work / f"mixed-{requests}.jsonl", loads.mixed(requests))

    def ratio(self) -> None:
        """Time the whole command against kvlint's, on the same texts and vocabulary."""
        log = self.mixed(self.requests)
        tokenizer = self.work / "o200k"
        if not tokenizer.exists():
            run([sys.executable, "-m", "bench.tokenizer_folder", tokenizer])
        rows = self.work / "kvaudit.jsonl"
        theirs_json = self.work / "kvlint.json"
        say(f"load: {log.name}, {log.stat().st_size / 1e6:.0f} MB, {self.requests} requests")
        ours = self.replay(log, "--per-request", rows, repeats=self.repeats)
        say(f"  kvaudit replay: {shown(ours)}, median of {self.repeats}")
        command = [self.kvlint, "analyze", log, "--model", tokenizer, "--json", theirs_json]
        # As it is called by default, with both of its engines; and with the one that kvaudit runs.
        for options in ([], ["--engine", "vllm"]):
            theirs = run([*command, *options])
            say(
                f"  {' '.join(['kvlint analyze', *options])}: {shown(theirs)}; "
                f"{theirs.cpu_s / ours.cpu_s:.1f} times the CPU seconds, "
                f"{theirs.wall_s / ours.wall_s:.1f} times the wall time"
            )
        say(f"  {same_hits(rows, theirs_json)}")

    def memory(self) -> None:
        """Grow the log tenfold, with the same distinct text and with ten times as much."""
        small = self.mixed(self.requests)
        repeated = loads.write(
            self.work / f"mixed-{self.requests}-x10.jsonl", loads.repeated(self.requests, 10)
        )
        grown = self.mixed(10 * self.requests)
        for name, log in (("base", small), ("same text x10", repeated), ("new text x10", grown)):
            size = log.stat().st_size
            say(f"  {name}: {size / 1e6:.0f} MB  {shown(self.replay(log))}")

    def cold(self) -> None:
        """Start on a small log."""
        log = self.mixed(300)
        self.replay(log)  # fills the caches of the file system and of compiled code
        say(f"  kvaudit replay of 300 requests: {shown(self.replay(log, repeats=5))}, median of 5")

    def chat(self) -> None:
        """Replay 1 GB of conversations, and say what that makes for 10."""
        log = loads.write(self.work / "chat-1gb.jsonl", loads.chat(10**9), max_bytes=GB)
        cost = self.replay(log)
        scale = 10 * GB / log.stat().st_size
        say(f"  {log.stat().st_size / GB:.2f} GB of multi-turn chat: {shown(cost)}")
        say(f"  10 GB, extrapolated: {cost.wall_s * scale / 60:.1f} minutes")


def same_hits(ours: Path, theirs: Path) -> str:
    """Compare every request's counts; stop where they differ for no stated reason.

    kvlint has no rule that the last token is always computed, so a prompt whose every block
    was cached is counted to its end; vLLM, and kvaudit, leave out the block of the last token.
    """
    rows = [json.loads(line) for line in ours.read_text().splitlines()]
    other = json.loads(theirs.read_text())["sims"][0]["per_request"]
    whole = 0
    for a, b in zip(rows, other, strict=True):
        assert a["prompt_tokens"] == b["prompt_tokens"], (a, b)
        if a["cached_tokens"] != b["cached_tokens"]:
            assert b["cached_tokens"] == b["prompt_tokens"] == a["cached_tokens"] + 16, (a, b)
            whole += 1
    prompt = sum(row["prompt_tokens"] for row in rows)
    cached = sum(row["cached_tokens"] for row in rows)
    return (
        f"equal: {prompt:,} prompt tokens and {cached:,} cached ones, request by request; "
        f"{whole} prompts that were cached to their end are one block apart, by vLLM's rule "
        "for the last token, which kvlint does not have"
    )


def shown(cost: Cost) -> str:
    """Return a cost for reading."""
    return f"{cost.wall_s:.2f} s wall, {cost.cpu_s:.2f} s CPU, {cost.peak_mb:.0f} MB at most"


def say(line: str) -> None:
    """Print a line at once: some parts take minutes."""
    print(line, flush=True)


def main() -> None:
    """Run the parts that were asked for."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--work", type=Path, required=True)
    arguments.add_argument("--kvlint", type=Path)
    arguments.add_argument("--requests", type=int, default=20_000)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--only", default="cold,ratio,memory,chat")
    given = arguments.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(given.work, given.kvlint, given.requests, given.repeats)
    parts: dict[str, Callable[[], None]] = {
        "cold": bench.cold,
        "ratio": bench.ratio,
        "memory": bench.memory,
        "chat": bench.chat,
    }
    for name in given.only.split(","):
        say(name)
        parts[name]()


if __name__ == "__main__":
    main()
