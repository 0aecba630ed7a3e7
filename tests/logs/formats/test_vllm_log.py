"""vLLM's text log: two lines a request, one in old versions, and lines about other things."""

import pytest

from kvaudit.core.requests import Mark
from kvaudit.logs.read import LogReader

PARAMS = "SamplingParams(n=1, temperature=0.7, top_p=0.9, seed=None, max_tokens=64, stop=[','])"
LORA = "LoRARequest(lora_name='legal', lora_int_id=1, lora_path='/adapters/legal')"
BANNER = "INFO 10-31 23:59:58 [api_server.py:1] vLLM API server version 0.33.0\n"
NEW = (
    "DEBUG 11-01 09:00:00 [request_logger.py:58] Request chatcmpl-1 "
    "details: prompt: 'It\\'s, prompt: \\n\\'x\\'', prompt_token_ids: [1, 2, 3], "
    "prompt_embeds shape: None.\n"
    "DEBUG 11-01 09:00:00 [request_logger.py:58] Request chatcmpl-2 details: "
    "prompt: None, prompt_token_ids: [4], prompt_embeds shape: None.\n"
    "INFO 11-01 09:00:00 [request_logger.py:66] Received request chatcmpl-1: "
    f"params: {PARAMS}, lora_request: {LORA}.\n"
)
OLD = (
    "INFO 11-01 09:00:01 logger.py:39] Received request cmpl-3: prompt: 'Hi', "
    f"params: {PARAMS}, prompt_token_ids: [7, 8, 9], lora_request: None, "
    "prompt_adapter_request: None.\n"
)


def read(tmp_path, text, **options):
    path = tmp_path / "vllm.log"
    path.write_text(text)
    reader = LogReader([path], **options)
    return reader, list(reader)


def test_both_generations(tmp_path):
    reader, (first, third, second) = read(tmp_path, BANNER * 3 + NEW + OLD)
    assert reader.format_name == "vllm-log"
    assert (first.id, first.prompt) == ("chatcmpl-1", "It's, prompt: \n'x'")
    assert list(first.token_ids) == [1, 2, 3]
    assert (first.temperature, first.top_p, first.seed, first.max_tokens) == (0.7, 0.9, None, 64)
    assert first.lora == "legal"
    assert (second.id, list(second.token_ids), second.prompt) == ("chatcmpl-2", [4], None)
    assert (third.id, third.prompt, list(third.token_ids)) == ("cmpl-3", "Hi", [7, 8, 9])
    assert third.arrived_s - first.arrived_s == 1.0
    assert reader.skipped == {"line that is not about a request's prompt": 3}


def test_a_long_banner_does_not_hide_the_format(tmp_path):
    assert len(read(tmp_path, BANNER * 500 + NEW)[1]) == 2


def test_new_year(tmp_path):
    days = ("12-31", "01-01", "12-30")
    _, requests = read(tmp_path, "".join(OLD.replace("11-01", day) for day in days))
    first, second, third = (request.arrived_s for request in requests)
    assert second - first == 86_400
    assert third - second == 364 * 86_400  # year 2000 is a leap year, and so are its copies


def test_info_level_has_no_prompts(tmp_path):
    line = NEW.splitlines(keepends=True)[2]
    reader, requests = read(tmp_path, line * 4)
    assert requests == []
    assert reader.skipped == {"request without a prompt, which vLLM logs at level DEBUG only": 4}


def test_max_log_len_is_seen(tmp_path):
    text = NEW.replace("[1, 2, 3]", str(list(range(18)))).replace("[4]", "[5, 6]")
    _, (first, _) = read(tmp_path, text)
    assert len(first.prompt) == 18
    assert first.marks == {Mark.TRUNCATED_PROMPT}


@pytest.mark.parametrize(
    "change", [("'It", "It"), ("[1, 2, 3]", "[1, 2, 99999999999]"), ("11-01", "13-01")]
)
def test_bad_lines(tmp_path, change):
    reader, _ = read(tmp_path, NEW.replace(*change), max_broken_share=1)
    assert reader.broken >= 1
