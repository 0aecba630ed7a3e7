"""Claude Code transcripts: lines become messages, chains become prompts."""

import json

import pytest

from kvaudit.core.requests import Status
from kvaudit.logs.format import BadRecord
from kvaudit.logs.formats.claude_code import FORMAT
from kvaudit.logs.read import LogReader

USAGE = {
    "input_tokens": 10,
    "cache_read_input_tokens": 700,
    "cache_creation_input_tokens": 90,
    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 90},
    "output_tokens": 1,
}


def line(uuid, parent, kind, content, second=0, **more):
    message = {"role": kind, "content": content}
    if kind == "assistant":
        more.setdefault("id", uuid)
        message |= {"id": more.pop("id"), "model": more.pop("model", "claude-x")}
        message["usage"] = USAGE | {"output_tokens": more.pop("output", 5)}
    return {
        "type": kind,
        "sessionId": "s",
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "timestamp": f"2026-11-02T08:00:{second:02}Z",
        "message": message,
    } | more


def text(value):
    return {"type": "text", "text": value}


def call(name):
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}}


def result(name):
    return {"type": "tool_result", "tool_use_id": name, "content": f"did {name}"}


def parse(lines):
    parser = FORMAT.parser()
    held = [request for row in lines for request in parser.parse(row)]
    return [*held, *parser.finish()], parser


TURN = [
    line("u1", None, "user", "Fix it", 0),
    line("a1", "u1", "assistant", [{"type": "thinking", "thinking": "hm"}], 2, id="m1", output=1),
    line("a2", "a1", "assistant", [text("On it")], 3, id="m1", output=1),
    line("a3", "a2", "assistant", [call("t1")], 4, id="m1", output=30),
    line("u2", "a3", "user", [result("t1")], 6),
    line("b1", "u2", "assistant", [text("Done")], 8, id="m2"),
]


def test_lines_of_one_answer_are_one_request():
    (first, second), parser = parse(TURN)
    assert (first.id, second.id, second.parent) == ("m1", "m2", "m1")
    assert first.messages == ({"role": "user", "content": "Fix it"},)
    whole = [{"type": "thinking", "thinking": "hm"}, text("On it"), call("t1")]
    assert second.messages == (
        {"role": "user", "content": "Fix it"},
        {"role": "assistant", "content": whole},
        {"role": "user", "content": [result("t1")]},
    )
    assert (first.response, second.response) == ("On it", "Done")
    assert not parser.skipped
    assert [note.topic for note in parser.notes] == ["prompt-understated"]


def test_counts_times_and_names():
    first = parse(TURN)[0][0]
    assert (first.prompt_tokens, first.cached_tokens, first.output_tokens) == (800, 700, 30)
    assert (first.cache_write_5m_tokens, first.cache_write_1h_tokens) == (0, 90)
    assert first.finished_s - first.arrived_s == 4
    assert (first.session, first.model, first.status) == ("s", "claude-x", Status.OK)


def test_results_of_tools_that_ran_side_by_side_were_all_sent():
    lines = [
        line("u1", None, "user", "Go"),
        line("a1", "u1", "assistant", [call("t1")], id="m1"),
        line("a2", "a1", "assistant", [call("t2")], id="m1"),
        line("u2", "a1", "user", [result("t1")]),
        line("u3", "a2", "user", [result("t2")]),
        line("b1", "u3", "assistant", [text("Done")], id="m2"),
    ]
    second = parse(lines)[0][1]
    assert [m["content"] for m in second.messages] == [
        "Go",
        [call("t1"), call("t2")],
        [result("t1")],
        [result("t2")],
    ]


def test_a_branch_forgets_the_other():
    lines = [
        *TURN,
        line("v1", "u1", "user", "Rather: explain it"),
        line("w1", "v1", "assistant", [text("Well")], id="m3"),
    ]
    third = parse(lines)[0][2]
    assert [m["content"] for m in third.messages] == ["Fix it", "Rather: explain it"]
    assert third.parent is None


@pytest.mark.parametrize("more", [{"agentId": "x"}, {}])
def test_a_sub_agent_is_a_session_of_its_own(more):
    lines = [
        *TURN,
        line("p1", "a3", "user", "Search", isSidechain=True, **more),
        line("p2", "p1", "assistant", [text("Found")], id="m4", isSidechain=True, **more),
    ]
    aside = parse(lines)[0][2]
    assert aside.session == ("s/x" if more else "s/p1")
    assert [m["content"] for m in aside.messages] == ["Search"]


def test_lines_that_are_no_messages_are_passed_through_and_counted():
    lines = [
        {"type": "summary", "summary": "Fixing", "leafUuid": "b1"},
        line("u1", None, "user", "Fix it"),
        {"type": "system", "sessionId": "s", "uuid": "x", "parentUuid": "u1"},
        line("a0", "x", "assistant", [text("API Error")], model="<synthetic>"),
        line("a1", "a0", "assistant", [text("On it")]),
        line("u1", None, "user", "Fix it"),
    ]
    (request,), parser = parse(lines)
    assert [m["content"] for m in request.messages] == ["Fix it"]
    assert parser.skipped == {
        "line that is no message": 2,
        "message that Claude Code wrote itself": 1,
        "line seen before": 1,
    }


def test_an_assistant_line_without_a_message_is_bad():
    with pytest.raises(BadRecord, match="message is missing"):
        parse([{"type": "assistant", "sessionId": "s", "uuid": "a"}])


def test_a_bad_time_is_found_where_it_stands():
    with pytest.raises(BadRecord, match="timestamp"):
        FORMAT.parser().parse(line("u1", None, "user", "Go") | {"timestamp": "soon"})


def test_a_long_transcript_is_read_once(tmp_path):
    lines, parent = [], None
    for turn in range(3000):
        lines.append(line(f"u{turn}", parent, "user", f"question {turn}"))
        lines.append(line(f"a{turn}", f"u{turn}", "assistant", [text("answer")]))
        parent = f"a{turn}"
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in lines))
    assert sum(len(request.messages) for request in LogReader([path])) == 3000**2
