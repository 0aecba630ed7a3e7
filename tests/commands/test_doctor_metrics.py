"""`kvaudit doctor` on metrics: files, a live page, exit codes and errors."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jsonschema
import pytest

from kvaudit.cli import run
from kvaudit.commands.schema import Document, json_schema

IDLE = "vllm:num_requests_running 0\nvllm:kv_cache_usage_perc {}\n"
PAGE = "vllm:prefix_cache_queries_total 100\nvllm:prefix_cache_hits_total 40\n"


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "metrics.prom"
    path.write_text(PAGE)
    return path


class _Engine(BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        moved = self.path == "/moved"
        found = self.path == "/metrics"
        self.send_response(302 if moved else 200 if found else 404)
        if moved:
            self.send_header("Location", "http://elsewhere.invalid/metrics")
        self.end_headers()
        type(self).asked += found
        if found:
            self.wfile.write(IDLE.format(0.01 * type(self).asked).encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    _Engine.asked = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Engine)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_file_is_read_and_its_json_is_what_the_schema_says(page, capsys):
    assert run(["doctor", str(page), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, json_schema(Document.DOCTOR))
    assert report["engines"][0]["hit_rate"] == 0.4
    assert report["samples"] == 1


@pytest.mark.parametrize("format_", ["full", "concise", "github"])
def test_every_format_says_rate_finding_and_what_is_missing(tmp_path, capsys, format_):
    paths = [tmp_path / "first", tmp_path / "second"]
    for number, path in enumerate(paths):
        path.write_text(PAGE + IDLE.format(number / 10))
    assert run(["doctor", *map(str, paths), "--format", format_]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "occupancy-rises-without-traffic" in out
    assert "rose from 0.0 % in sample 1 to 10.0 % in sample 2" in out
    assert "how long blocks live" in out


def test_a_url_is_asked_as_often_as_was_said(server, capsys):
    assert run(["doctor", server, "--samples", "2", "--interval", "0.1", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["sources"] == [f"{server}/metrics"]
    assert report["samples"] == 2
    assert [f["check"] for f in report["engines"][0]["findings"]] == [
        "occupancy-rises-without-traffic"
    ]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/other", "answered 404 Not Found; is this the metrics' path?"),
        ("/moved", "it is at http://elsewhere.invalid/metrics, name that URL"),
    ],
)
def test_an_answer_that_is_no_metrics_is_an_error_that_says_what_to_do(
    server, capsys, path, message
):
    assert run(["doctor", server + path]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["http://127.0.0.1:9/metrics"], "is the engine up, and is this its port?"),
        (["http://"], "names no host"),
        (["http://x:port/"], "write http://HOST:PORT/metrics"),
        (["http://user:word@x/metrics"], "save the metrics to a file"),
        (["nothing-here"], "a URL begins with http:// or https://"),
        (["nothing-here", "--samples", "3"], "name more files instead"),
        (["http://x/metrics", "nothing-here"], "a URL stands alone"),
        (["nothing-here", "--settings"], "--settings shows the installation's"),
    ],
)
def test_what_cannot_be_read_is_refused(arguments, message, capsys):
    assert run(["doctor", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_metrics_of_nothing_known_check_nothing(tmp_path, capsys):
    path = tmp_path / "node.prom"
    path.write_text("node_load1 0.5\n")
    assert run(["doctor", str(path), "--format", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["engines"] == []
