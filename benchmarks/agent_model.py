"""A model server without any delay: asks for so many calls, one answer each, then says that it is done.

It speaks streamed Chat Completions, and Responses for the program ours is compared with.
"""

import contextlib
import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOOL = "run_terminal_cmd"
SHELLS: dict[str, dict[str, Any]] = {  # what the other program may call its shell, and how that is asked for `true`
    "shell": {"command": ["true"]},
    "shell_command": {"command": "true"},
    "exec_command": {"cmd": "true"},
}


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The address of a server; the model's name says how many calls it makes."""

    class Answering(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else the second write of an answer waits for the first to be confirmed
        wbufsize = -1

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            lines = _response(asked) if self.path.endswith("/responses") else _answer(asked)
            body = b"".join(b"data: " + line + b"\n\n" for line in lines)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()


def _answer(asked: dict[str, Any]) -> list[bytes]:
    made = sum(message["role"] == "assistant" for message in asked["messages"])
    if made < int(asked["model"]):
        call = {"name": TOOL, "arguments": json.dumps({"command": f"true {made}"})}
        delta: dict[str, Any] = {"tool_calls": [{"index": 0, "id": f"c{made}", "type": "function", "function": call}]}
        finish = "tool_calls"
    else:
        delta, finish = {"content": "done"}, "stop"
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}},
    ]
    return [*(json.dumps({"id": "x", "model": asked["model"], **chunk}).encode() for chunk in chunks), b"[DONE]"]


def _response(asked: dict[str, Any]) -> list[bytes]:
    made = sum(item.get("type", "").endswith("_output") for item in asked["input"])
    offered = {tool.get("name") for tool in asked["tools"]}
    if made < int(asked["model"]):
        name = next(name for name in SHELLS if name in offered)
        arguments = json.dumps(SHELLS[name])
        item = {"type": "function_call", "id": f"f{made}", "call_id": f"c{made}", "name": name, "arguments": arguments}
    else:
        item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r"}},
    ]
    return [json.dumps(event).encode() for event in events]


def surroundings(folder: str, url: str) -> dict[str, str]:
    """An environment with a home of its own that knows the server."""
    home = Path(folder) / "home"
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIGNOFF_", "XDG_", "OPENAI_"))}
    return {**kept, "HOME": str(home), "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-none"}
