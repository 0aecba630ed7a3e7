"""Logs of requests to a provider whose blocks have a known number of tokens.

With ``--tokenizer bytes`` four bytes are a token, so a block is as long as its text says: the
role's line, the text, and one token that ends the block. Three tokens end every prompt.
"""

import json
from itertools import count

from kvaudit.cli import run

END_TOKENS = 3
EPHEMERAL = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
_serial = count()


def text(tokens, *, role="", fill=None):
    """A text whose block has so many tokens; its own text unless ``fill`` is said."""
    size = 4 * (tokens - 1) - len(role + "\n" if role else "")
    mark = f"{next(_serial):06d}" if fill is None else fill
    return (mark * (size // len(mark) + 1))[:size]


def block(tokens, *, role="", fill=None, mark=None, **more):
    content = {"type": "text", "text": text(tokens, role=role, fill=fill), **more}
    return content if mark is None else {**content, "cache_control": mark}


def system(tokens, *, fill="s", mark=EPHEMERAL):
    return {"role": "system", "content": [block(tokens, role="system", fill=fill, mark=mark)]}


def user(tokens=101, *, fill=None, mark=None):
    return {"role": "user", "content": [block(tokens, role="user", fill=fill, mark=mark)]}


def request(at_s, *messages, model="claude-opus-4-8", **more):
    return {"arrived_s": at_s, "model": model, "messages": list(messages), **more}


def replayed(tmp_path, capsys, engine, *requests, options=()):
    """Replay requests; return the report and a row a request."""
    log, rows = tmp_path / "log.jsonl", tmp_path / "rows.jsonl"
    log.write_text("".join(json.dumps({"id": f"r{n}", **r}) + "\n" for n, r in enumerate(requests)))
    arguments = ("--engine", engine, "--tokenizer", "bytes", "--per-request", str(rows))
    code = run(["replay", str(log), *arguments, "--format", "json", "--isolated", *options])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out), [json.loads(line) for line in rows.read_text().splitlines()]


def reads(tmp_path, capsys, engine, *requests, options=()):
    """The cached tokens of each request."""
    _, rows = replayed(tmp_path, capsys, engine, *requests, options=options)
    return [row["cached_tokens"] for row in rows]
