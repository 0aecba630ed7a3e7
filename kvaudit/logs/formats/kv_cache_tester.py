"""WEKA kv-cache-tester sessions: one session a record, prefix hashes local to the session.

A session's sub-agents stand among its requests and share its block ids. Times are seconds
since the session began, those of a sub-agent since the sub-agent began; the trace does not
say when one session began relative to another, so all begin at 0. The ids cover full blocks
only: up to one block of tokens at a prompt's end has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kvaudit.core.requests import Request, Status
from kvaudit.logs.format import BadRecord, LogFormat, Row, Sureness
from kvaudit.logs.parsers.sessions import EachSession
from kvaudit.logs.values import fields
from kvaudit.logs.values.times import after

BLOCK_TOKENS = 64


def recognise(row: Row) -> Sureness:
    """Tell a session by its list of requests and its block size."""
    if isinstance(row.get("requests"), list) and {"block_size", "hash_id_scope"} <= row.keys():
        return Sureness.UNMISTAKABLE
    return Sureness.NO


class _Session(NamedTuple):
    name: str
    block_tokens: int
    scope: str | None


class _Agent(NamedTuple):
    name: str
    begun_s: float
    entries: list[Row]


def requests_in(row: Row, _number: int) -> Iterable[Request]:
    """Return the session's requests, those of sub-agents included, by time."""
    name = fields.text(row.get("id"), "id")
    if name is None:
        raise BadRecord("the session has no id")
    block_tokens = fields.integer(row.get("block_size"), "block_size") or BLOCK_TOKENS
    scope = None if row.get("hash_id_scope") == "global" else name
    session = _Session(name, block_tokens, scope)
    found = [
        _request(entry, agent, number, session)
        for agent in _agents(row, name)
        for number, entry in enumerate(agent.entries)
    ]
    return sorted(found, key=lambda request: request.arrived_s or 0.0)


def _agents(row: Row, session: str) -> Iterator[_Agent]:
    """Yield the session's own agent, then its sub-agents and theirs."""
    pending = [(session, 0.0, row)]
    for name, begun_s, holder in pending:
        own = []
        entries = fields.json_objects(holder.get("requests"), "requests") or []
        for position, entry in enumerate(entries):
            if "requests" in entry or entry.get("type") == "subagent":
                part = fields.text(entry.get("agent_id"), "agent_id") or str(position)
                pending.append((f"{name}/{part}", begun_s + _start_s(entry), entry))
            else:
                own.append(entry)
        yield _Agent(name, begun_s, own)


def _start_s(entry: Row) -> float:
    return fields.number(entry.get("t"), "t") or 0.0


def _request(entry: Row, agent: _Agent, number: int, session: _Session) -> Request:
    arrived_s = agent.begun_s + _start_s(entry)
    service_s = fields.number(entry.get("api_time"), "api_time")
    return Request(
        id=f"{agent.name}/{number}",
        arrived_s=arrived_s,
        finished_s=after(arrived_s, service_s),
        status=Status.OK if entry.get("stop") else Status.UNKNOWN,
        model=fields.text(entry.get("model"), "model"),
        session=session.name,
        parent=f"{agent.name}/{number - 1}" if number else None,
        block_ids=fields.block_ids(entry.get("hash_ids"), "hash_ids"),
        block_tokens=session.block_tokens,
        block_scope=session.scope,
        prompt_tokens=fields.integer(entry.get("in"), "in"),
        output_tokens=fields.integer(entry.get("out"), "out"),
        ttft_s=fields.number(entry.get("ttft"), "ttft"),
    )


FORMAT = LogFormat(
    name="kv-cache-tester",
    title="WEKA kv-cache-tester sessions (hash_ids of 64-token blocks, local to a session)",
    recognise=recognise,
    parser=lambda: EachSession(requests_in),
)
