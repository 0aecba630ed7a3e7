"""Multi-turn text to token ids: kvaudit against tiktoken on two threads, ids identical.

    python -m bench.tokens [--requests N] [--runs N] [--tokenizer NAME]

The log is made from the Python standard library's own source, a text every machine has: a
hundred live chats share sixty system prompts, each request holds the turns so far. tiktoken
gets the rendered prompts ready; kvaudit renders them within its time. Every run is gated by a
comparison of all ids. Needs the packages of kvaudit's ``dev`` extra.
"""

import argparse
import json
import random
import statistics
import sys
import sysconfig
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from kvaudit.core.batching import BATCH_REQUESTS
from kvaudit.core.requests import Request
from kvaudit.tokens.encode import PromptEncoder
from kvaudit.tokens.templates.template import load_template
from kvaudit.tokens.tokenizer import load_tokenizer
from tests.tokens.reference import reference

CONTROL_TOKENS = ("<|im_start|>", "<|im_end|>")


def documents():
    """About ten megabytes of source text, in a fixed order."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(f for f in folder.glob("*/*.py") if f.stat().st_size > 2000)
    return [f.read_text("utf-8", "replace") for f in files[:1200]]


def chat_log(count):
    """Lines of JSON, one a request: system prompt, then turns."""
    rng = random.Random(2)
    docs = documents()
    systems = [doc[: rng.randint(1000, 9000)] for doc in rng.sample(docs, 60)]
    weights = [1 / (i + 1) for i in range(60)]

    def start():
        return [{"role": "system", "content": rng.choices(systems, weights)[0]}]

    def text(low, high):
        doc = rng.choice(docs)
        at = rng.randrange(max(1, len(doc) - high))
        return doc[at : at + rng.randint(low, high)]

    live = [start() for _ in range(100)]
    lines = []
    for _ in range(count):
        k = rng.randrange(100)
        live[k].append({"role": "user", "content": text(100, 600)})
        lines.append(json.dumps(live[k]))
        live[k].append({"role": "assistant", "content": text(200, 1200)})
        if len(live[k]) > 16:
            live[k] = start()
    return lines


def rendered(messages):
    """The prompt as one string, written here apart from kvaudit's template."""
    turns = (f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
    return "".join(turns) + "<|im_start|>assistant\n"


def fresh(lines):
    """Requests whose strings are new objects, as from a file."""
    return [Request(id=str(i), messages=json.loads(line)) for i, line in enumerate(lines)]


def two_threads(encoding, prompts):
    """Ids of all prompts by tiktoken."""
    return encoding.encode_batch(prompts, num_threads=2, allowed_special="all")


def kvaudit(tokenizer, requests):
    """Ids of all requests, encoded in batches by an encoder that has seen nothing."""
    encoder = PromptEncoder(tokenizer, load_template("chatml"))
    starts = range(0, len(requests), BATCH_REQUESTS)
    return [encoder.encode_flat(requests[at : at + BATCH_REQUESTS]) for at in starts]


def timed(function, *arguments):
    """Result, wall seconds, and CPU seconds of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, time.perf_counter() - wall, time.process_time() - cpu


def main():
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=8000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokenizer", default="o200k_base", choices=["cl100k_base", "o200k_base"])
    options = parser.parse_args()
    tokenizer = load_tokenizer(options.tokenizer)
    specials = tuple((name, tokenizer.special_id(name)) for name in CONTROL_TOKENS)
    theirs = reference(options.tokenizer, specials)
    lines = chat_log(options.requests)
    prompts = [rendered(json.loads(line)) for line in lines]
    megabytes = sum(len(prompt.encode()) for prompt in prompts) / 1e6
    print(f"{len(lines)} requests, {megabytes:.0f} MB of prompts, {options.tokenizer}")

    walls, cpus = [], []
    for _ in range(options.runs):
        want, *their_times = timed(two_threads, theirs, prompts)
        # As arrays: lists of millions of integers would slow the garbage collector for us.
        want = [np.array(ids, np.int32) for ids in want]
        kept, *our_times = timed(kvaudit, tokenizer, fresh(lines))
        got = [part.ids[a:b] for part in kept for a, b in pairwise(part.offsets.tolist())]
        if len(got) != len(want) or not all(map(np.array_equal, got, want)):
            sys.exit("the ids differ")
        walls.append((their_times[0], our_times[0]))
        cpus.append((their_times[1], our_times[1]))
    for name, times in (("wall", walls), ("CPU", cpus)):
        theirs_s, ours_s = (statistics.median(column) for column in zip(*times, strict=True))
        ratio = statistics.median(a / b for a, b in times)
        print(f"{name:5} tiktoken {theirs_s:6.2f} s   kvaudit {ours_s:6.2f} s   ratio {ratio:.0f}x")
    print(f"median of {options.runs}; all ids identical in each run")


if __name__ == "__main__":
    main()
