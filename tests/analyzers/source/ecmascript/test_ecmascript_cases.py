"""Every published case in JavaScript and TypeScript that a reader of source can see."""

import json


def test_the_required_rule_finds_each_case(shared_data, codes):
    lines = (shared_data / "lint_cases.jsonl").read_text("utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    cases = [
        case
        for case in cases
        if case["file"].endswith((".ts", ".js", ".mjs")) and case["rules"][0] < "KV400"
    ]
    assert len(cases) > 8
    missed = [
        case["id"]
        for case in cases
        if case["rules"][0] not in {code for code, _ in codes(case["snippet"], case["file"])}
    ]
    assert missed == []
