"""The stdio transport: only the protocol on stdout, an end at EOF, any cutting of the stream, bounded buffers."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.acp.peer import Peer
from signoff.acp.transports import loop
from signoff.acp.transports.lines import Lines
from signoff.acp.transports.pipes import PipeLimits, Pipes
from tests.clauses import requirement

ROOT = pathlib.Path(__file__).parents[2]
AGENT = [sys.executable, "-m", "tests.fakes.acp_agent"]
LIMIT = 120.0


def frame(request_id: object, method: str, params: object = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}).encode() + b"\n"


def ask(data: bytes, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(AGENT, input=data, capture_output=True, cwd=ROOT, timeout=LIMIT, check=False, **options)


@pytest.fixture
def agent() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        AGENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as child:
        yield child
        child.kill()


def test_nothing_but_the_protocol_reaches_stdout_whatever_prints() -> None:
    done = ask(frame(1, "_print", {"text": "from print"}) + frame(2, "initialize", {"protocolVersion": 1}))
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert json.loads(done.stdout.splitlines()[0])["result"] == {"stdin": ""}
    for words in (b"from print", b"straight to the descriptor", b"from a child"):
        assert words in done.stderr


@requirement("ACP-081")
def test_requests_are_answered_while_one_waits_for_us_and_the_end_of_stdin_ends_the_process(
    agent: subprocess.Popen[bytes],
) -> None:
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(frame("slow", "_ask", {"q": 1}))
    agent.stdin.flush()
    question = json.loads(agent.stdout.readline())
    assert question["method"] == "_question"
    agent.stdin.write(frame("quick", "initialize", {"protocolVersion": 1}))
    agent.stdin.flush()
    assert json.loads(agent.stdout.readline())["id"] == "quick"
    agent.stdin.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {"a": 2}}).encode() + b"\n")
    agent.stdin.flush()
    assert json.loads(agent.stdout.readline()) == {"jsonrpc": "2.0", "id": "slow", "result": {"answer": {"a": 2}}}
    agent.stdin.write(frame("open", "_ask", {}) + frame("forever", "_wait"))
    agent.stdin.close()
    assert agent.wait(LIMIT) == 0


def test_a_file_as_stdin_and_a_last_line_without_newline_are_answered(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "requests"
    path.write_bytes(frame(1, "initialize", {"protocolVersion": 1}) + b"\r\n\n" + frame(2, "_nothing")[:-1])
    with path.open("rb") as stdin:
        done = subprocess.run(AGENT, stdin=stdin, capture_output=True, cwd=ROOT, timeout=LIMIT, check=True)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]


def test_a_client_that_reads_no_more_ends_the_process(agent: subprocess.Popen[bytes]) -> None:
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(frame(1, "initialize", {"protocolVersion": 1}))
    agent.stdin.flush()
    agent.stdout.readline()
    agent.stdout.close()
    agent.stdin.write(frame(2, "initialize", {"protocolVersion": 1}))
    agent.stdin.flush()
    assert agent.wait(LIMIT) == 0


def test_half_a_megabyte_goes_there_and_back() -> None:
    text = "x" * 600_000
    prompt = {"sessionId": "session-1", "prompt": [{"type": "text", "text": text}]}
    done = ask(frame(1, "session/new", {"cwd": "/", "mcpServers": []}) + frame(2, "session/prompt", prompt))
    new, update, result = [json.loads(line) for line in done.stdout.splitlines()]
    assert (new["id"], result["result"]) == (1, {"stopReason": "end_turn"})
    assert update["params"]["update"]["content"]["text"] == text


@given(st.lists(st.sampled_from([b"", b"a", b"\n", b"bb\n", b"\r\n", b"cccc", b"\n\nd\n"])), st.integers(1, 4))
def test_lines_are_the_same_however_the_stream_is_cut(pieces: list[bytes], step: int) -> None:
    whole = b"".join(pieces)
    cut = Lines(3)
    found = [line for at in range(0, len(whole), step) for line in cut.feed(whole[at : at + step])]
    expected = [line for line in whole.split(b"\n")[:-1] if line.strip()]
    assert found == [line for line in expected if len(line) <= 3]
    assert cut.overlong == len([line for line in whole.split(b"\n") if len(line) > 3])


def test_an_overlong_frame_is_refused_and_the_next_one_is_read() -> None:
    async def work() -> None:
        async with asyncio.timeout(LIMIT):
            (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
            pipes = Pipes(in_read, out_write, PipeLimits(frame=100))
            pipes.start(Peer(pipes, "agent", {"_a": lambda _call, _params: {}}))
            os.write(in_write, b"[" * 60)
            await asyncio.sleep(0)
            os.write(in_write, b"[" * 60 + b"\n" + frame(7, "_a"))
            os.close(in_write)
            await pipes.ended.wait()
            pipes.close()
            answers = [json.loads(line) for line in os.read(out_read, 10_000).splitlines()]
            assert sorted((answer["id"] or 0, "error" in answer) for answer in answers) == [(0, True), (7, False)]
            os.close(out_read)

    loop.run(work())


def test_senders_wait_for_a_slow_reader_and_nothing_is_lost() -> None:
    async def work() -> None:
        async with asyncio.timeout(LIMIT):
            (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
            pipes = Pipes(in_read, out_write, PipeLimits(congested=100_000))
            peer = Peer(pipes, "agent", {})
            pipes.start(peer)
            sent = 0

            async def send() -> None:
                nonlocal sent
                for number in range(2_000):
                    await peer.notify("_n", {"n": number, "pad": "x" * 1_000})
                    sent += 1

            sender = asyncio.create_task(send())
            while not pipes.congested:
                await asyncio.sleep(0)
            for _ in range(50):
                await asyncio.sleep(0)
            assert sent < 400  # the pipe, the mark, and no more
            data = b""
            while data.count(b"\n") < 2_000:
                data += await asyncio.to_thread(os.read, out_read, 65_536)
            await sender
            assert [json.loads(line)["params"]["n"] for line in data.splitlines()] == list(range(2_000))
            peer.end("done")
            for fd in (in_write, out_read):
                os.close(fd)

    loop.run(work())
