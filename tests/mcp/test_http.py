"""
Servers behind a URL, over streamable HTTP.
"""

import http.server
import json
import threading

import pytest

from nr_agent_core.adapters.mcp import HttpServer, McpServers, ServerState
from nr_agent_core.domain.tool_result import Outcome
from tests.mcp.world import READING, Calling, outcome, tool_named


@pytest.mark.parametrize("options", [(), ("json",), ("stateless",)], ids=lambda options: "".join(options) or "session")
def test_tools_over_http(folder, options):
    """Text, errors, what is no text, and much of it, whatever form of answers the server prefers (T4)."""
    with folder.listening(*options) as listening, McpServers([listening.settings()]) as servers:
        assert outcome(tool_named(servers, "mcp_notes_note"), text="one").content == "noted: one"
        assert outcome(tool_named(servers, "mcp_notes_fail")).outcome is Outcome.ERROR
        assert "1 image" in outcome(tool_named(servers, "mcp_notes_picture")).content
        assert len(outcome(tool_named(servers, "mcp_notes_huge"), size=500_000).content) == 500_000
        assert outcome(tool_named(servers, "mcp_notes_huge"), size=5_000_000).outcome is Outcome.UNKNOWN
        assert folder.effects == ["one"]


def test_a_server_that_is_killed_and_started_again(folder):
    """Dead: nothing is sent. During a call: unknown, unless the tool only reads. Back: used again (T4)."""
    with folder.listening() as listening:
        port = listening.port
        with McpServers([listening.settings(tools={"wait": READING})]) as servers:
            note = tool_named(servers, "mcp_notes_note")
            assert outcome(tool_named(servers, "mcp_notes_note_and_die"), text="one").outcome is Outcome.UNKNOWN
            listening.process.wait()
            assert outcome(note, text="two").outcome is Outcome.ERROR
            with folder.listening(port=port) as again:
                assert outcome(note, text="three").outcome is Outcome.TEXT
                calling = Calling(tool_named(servers, "mcp_notes_wait"))
                folder.until("began")
                again.kill()
                assert calling.ended().outcome is Outcome.ERROR
            assert folder.effects == ["one", "three", "began"]


class Refusing(http.server.BaseHTTPRequestHandler):
    """
    An endpoint that lists one tool, and answers calls as its server's ``answer`` says.
    """

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        """One request."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((message["method"], self.headers.get("Authorization")))
        if message["method"] == "initialize":
            about = {"name": "r", "version": "1"}
            version = message["params"]["protocolVersion"]
            self.say(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})
        elif message["method"] == "tools/list":
            self.say(message, {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]})
        elif message["method"] == "tools/call":
            self.answered(*self.server.answer)
        else:
            self.answered(202 if "id" not in message else 404, {}, b"")

    def say(self, message, result):
        """A JSON-RPC answer."""
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        session = {"Mcp-Session-Id": "1"} if self.server.sessions and message["method"] == "initialize" else {}
        self.answered(200, {"Content-Type": "application/json", **session}, body)

    def answered(self, status, headers, body):
        """Any answer."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        """No stream of its own."""
        self.answered(405, {}, b"")

    do_DELETE = do_GET  # noqa: N815 - the name that the handler looks for

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture
def endpoint():
    """An endpoint whose answers the test chooses."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as served:
        served.seen, served.answer, served.sessions = [], (200, {}, b""), False
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def at(endpoint, **more):
    """The endpoint as a server."""
    return HttpServer(name="r", url=f"http://127.0.0.1:{endpoint.server_port}/mcp?key=sesame", **more)


def rpc_error(code):
    """A JSON-RPC error as an answer."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": "no\nsuch \x1b[31mthing" + "x" * 500}}
    return 400, {"Content-Type": "application/json"}, json.dumps(body).encode()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((401, {}, b""), Outcome.ERROR),
        ((403, {}, b"no"), Outcome.ERROR),
        ((404, {}, b""), Outcome.ERROR),
        ((429, {}, b""), Outcome.ERROR),
        (rpc_error(-32602), Outcome.ERROR),
        (rpc_error(-32601), Outcome.ERROR),
        (rpc_error(-32603), Outcome.UNKNOWN),
        (rpc_error(1), Outcome.UNKNOWN),
        ((500, {}, b"oops"), Outcome.UNKNOWN),
        ((502, {}, b""), Outcome.UNKNOWN),
        ((202, {}, b""), Outcome.UNKNOWN),
        ((200, {"Content-Type": "text/html"}, b"<html>"), Outcome.UNKNOWN),
        ((200, {"Content-Type": "application/json"}, b"{"), Outcome.UNKNOWN),
        ((200, {"Content-Type": "text/event-stream"}, b"data: {\n\n"), Outcome.UNKNOWN),
        ((302, {"Location": "http://elsewhere.example/"}, b""), Outcome.UNKNOWN),
        ((307, {"Location": "http://elsewhere.example/"}, b""), Outcome.UNKNOWN),
    ],
)
def test_what_an_http_answer_says_of_a_write(endpoint, answer, expected):
    """Turned away at the door, or refused as no call: an error. Anything else may have happened (T4)."""
    endpoint.answer = answer
    with McpServers([at(endpoint, headers={"Authorization": "Bearer sesame"})]) as servers:
        result = outcome(tool_named(servers, "mcp_r_act"))

    assert result.outcome is expected
    assert len(result.content) < 350
    assert result.content.isprintable()
    assert {authorization for _, authorization in endpoint.seen} == {"Bearer sesame"}
    assert [method for method, _ in endpoint.seen].count("tools/call") == 1


def test_a_call_whose_session_is_over_is_sent_once_more_in_a_new_one(endpoint):
    """The server turned it away, so nothing happened; and never more than once more (T4)."""
    endpoint.answer, endpoint.sessions = (404, {}, b""), True
    with McpServers([at(endpoint)]) as servers:
        assert outcome(tool_named(servers, "mcp_r_act")).outcome is Outcome.ERROR

    methods = [method for method, _ in endpoint.seen]
    assert (methods.count("initialize"), methods.count("tools/call")) == (2, 2)


def test_a_server_that_is_not_there_is_reported_without_its_address():
    """An administrator sees that it cannot be reached; the secret in its address is in no text (F3, P9)."""
    settings = HttpServer(name="r", url="http://127.0.0.1:9/mcp?key=sesame", headers={"Authorization": "sesame"})
    with McpServers([settings]) as servers:
        assert servers.tools() == ()
        (report,) = servers.reports()

    assert report.state is ServerState.FAILED
    assert "no connection" in report.why
    assert "sesame" not in repr(report) + repr(settings)
