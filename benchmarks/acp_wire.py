"""A raw client for the ACP figures: it costs next to nothing beside the agent it drives, and shares its core."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

from benchmarks.figure import Unavailable

CHUNK = 1 << 16  # what a pipe holds; a buffer of a megabyte, made anew, took as long as some of the agents
ALL_CORES = os.sched_getaffinity(0)  # what the figures after these run on, in whatever order agents end
REFERENCE = [sys.executable, "-m", "benchmarks.acp_reference"]


def ours(home: str) -> tuple[list[str], dict[str, str]]:
    """Our agent with the echo model, everything it keeps under `home`, and the environment for it."""
    program = pathlib.Path(sys.executable).with_name("signoff")
    if not program.exists():
        raise Unavailable("signoff is not installed beside this interpreter")
    places = {
        name: f"{home}/{name}" for name in ("HOME", "SIGNOFF_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
    }
    return [str(program), "acp", "serve", "--model", "echo/echo"], dict(os.environ) | places


def own_core() -> int:
    return max(os.sched_getaffinity(0))


class Agent:
    """An agent over its pipes, pinned to the core of the client."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        os.sched_setaffinity(0, {own_core()})
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._rest = b""

    def initialize(self) -> Any:
        params = {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}}}
        return self.ask("initialize", params)

    def new_session(self, cwd: str) -> Any:
        return self.ask("session/new", {"cwd": cwd, "mcpServers": []})

    def ask(self, method: str, params: object) -> Any:
        frame = json.dumps({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}).encode()
        return json.loads(self.round_trip(frame + b"\n", b'"id":0'))["result"]

    def round_trip(self, frame: bytes, mark: bytes) -> bytes:
        """Send a frame, read until the answer that bears `mark`."""
        os.write(self._in, frame)
        while chunk := os.read(self._out, CHUNK):
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                if mark in line and b'"method"' not in line:
                    return line
        raise EOFError("the agent ended")

    def kill(self) -> None:
        """Without a goodbye."""
        self._process.kill()
        self.end()

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        os.sched_setaffinity(0, ALL_CORES)


def frame_of(method: str, params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode() + b"\n"
