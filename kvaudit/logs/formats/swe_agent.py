"""SWE-agent trajectories (``.traj``): the prompt of every step an agent took.

Newer versions log each step's ``query``, the messages as sent. Older ones keep only the
``history``, from which a step's prompt is what stood before its answer; where the agent was
set up to shorten old observations, the real prompt was shorter, and no log says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvaudit.core.requests import Json, Request
from kvaudit.logs.format import BadRecord, LogFormat, Row, Sureness
from kvaudit.logs.parsers.sessions import EachSession, requests_of
from kvaudit.logs.values import fields


def recognise(row: Row) -> Sureness:
    """Tell it by its two lists."""
    both = isinstance(row.get("trajectory"), list) and isinstance(row.get("history"), list)
    return Sureness.UNMISTAKABLE if both else Sureness.NO


def requests_in(row: Row, number: int) -> Iterable[Request]:
    """Return one request for each step of each agent."""
    steps = fields.json_objects(row.get("trajectory"), "trajectory")
    history = fields.json_objects(row.get("history"), "history")
    if steps is None or history is None:
        raise BadRecord("trajectory or history is missing")
    environment = fields.text(row.get("environment"), "environment") or "trajectory"
    session = f"{environment}-{number}"
    if steps and all("query" in step for step in steps):
        return list(_from_queries(steps, session))
    agents = list(dict.fromkeys(fields.text(turn.get("agent"), "agent") for turn in history))
    found: list[Request] = []
    for agent in agents:
        turns = [_message(turn) for turn in history if turn.get("agent") == agent]
        name = session if len(agents) == 1 else f"{session}/{agent}"
        found += requests_of(turns, session=name)
    return found


def _from_queries(steps: list[Row], session: str) -> Iterator[Request]:
    for number, step in enumerate(steps):
        query = fields.json_objects(step.get("query"), "query") or []
        yield Request(
            id=f"{session}/{number}",
            session=session,
            parent=f"{session}/{number - 1}" if number else None,
            messages=[_message(turn) for turn in query],
            response=fields.text(step.get("response"), "response"),
        )


def _message(turn: Row) -> Json:
    """Return what the agent sends of a turn; the rest of it is the agent's own notes."""
    role = fields.text(turn.get("role"), "role")
    if role is None:
        raise BadRecord("a turn of the history has no role")
    message: Json = {"role": role, "content": turn.get("content")}
    if turn.get("tool_calls"):
        message["tool_calls"] = turn["tool_calls"]
    answered = turn.get("tool_call_ids")
    if role == "tool" and isinstance(answered, list) and answered:
        message["tool_call_id"] = answered[0]
    return message


FORMAT = LogFormat(
    name="swe-agent",
    title="SWE-agent trajectories (one request a step)",
    recognise=recognise,
    parser=lambda: EachSession(requests_in),
)
