"""The proxy with real sockets on the loopback interface; nothing here leaves the machine."""

import contextlib
import http.client
import http.server
import os
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from signoff.domain.errors import ParseError
from signoff.sandbox.http_request import Forward, Tunnel, parse
from signoff.sandbox.proxy import Bounds, Connection, Proxy, _is_public

LIMIT = 120.0


class Origin(http.server.BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(body)

    def _answer(self, body: bytes) -> None:
        seen = f"{self.command} {self.path} host={self.headers['Host']} auth={self.headers['Proxy-Authorization']} ".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(seen + body)))
        self.end_headers()
        self.wfile.write(seen + body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def origin() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join(LIMIT)


class Recorder:
    def __init__(self) -> None:
        self.seen: list[Connection] = []
        self._changed = threading.Condition()

    def __call__(self, connection: Connection) -> None:
        with self._changed:
            self.seen.append(connection)
            self._changed.notify_all()

    def wait(self, count: int = 1) -> list[Connection]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.seen) >= count, LIMIT)
            return self.seen


@contextlib.contextmanager
def running(clear: Callable[[str, int], bool], bounds: Bounds = Bounds()) -> Iterator[tuple[tuple[str, int], Recorder]]:  # noqa: B008
    recorder = Recorder()
    with Proxy(clear, recorder, bounds=bounds) as proxy:
        host, _, port = proxy.url.removeprefix("http://").partition(":")
        yield (host, int(port)), recorder


def ask(place: tuple[str, int], data: bytes) -> bytes:
    with socket.create_connection(place, LIMIT) as client:
        client.sendall(data)
        parts = []
        with contextlib.suppress(ConnectionResetError):
            while part := client.recv(65_536):
                parts.append(part)
        return b"".join(parts)


def yes(host: str, port: int) -> bool:
    return True


def no(host: str, port: int) -> bool:
    return False


def test_a_cleared_request_is_passed_on_and_recorded(origin: int) -> None:
    with running(yes) as (place, recorder):
        proxy = http.client.HTTPConnection(*place, timeout=LIMIT)
        proxy.request("GET", f"http://127.0.0.1:{origin}/path?x=1", headers={"Proxy-Authorization": "Basic eA=="})
        answer = proxy.getresponse()
        assert answer.read() == f"GET /path?x=1 host=127.0.0.1:{origin} auth=None ".encode()
        proxy.close()
        (connection,) = recorder.wait()
        assert (connection.host, connection.port, connection.address) == ("127.0.0.1", origin, "127.0.0.1")
        assert connection.refused is None
        assert connection.received > 0


def test_a_tunnel_carries_bytes_both_ways_until_both_ends_are_done(origin: int) -> None:
    with running(yes) as (place, recorder):
        tunnel = http.client.HTTPConnection(*place, timeout=LIMIT)
        tunnel.set_tunnel("127.0.0.1", origin)
        tunnel.request("POST", "/upload", body=b"x" * 300_000)
        assert tunnel.getresponse().read().endswith(b"x" * 300_000)
        tunnel.close()
        (connection,) = recorder.wait()
        assert connection.sent > 300_000
        assert connection.received > 300_000


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_is_passed_on_whole(origin: int, chunked: bool) -> None:
    with running(yes) as (place, _):
        proxy = http.client.HTTPConnection(*place, timeout=LIMIT)
        body = iter([b"one ", b"two " * 50_000]) if chunked else b"one " + b"two " * 50_000
        proxy.request("POST", f"http://127.0.0.1:{origin}/", body=body, encode_chunked=chunked)
        assert proxy.getresponse().read().endswith(b"one " + b"two " * 50_000)
        proxy.close()


@pytest.mark.parametrize("method", ["GET http://127.0.0.1:{}/ HTTP/1.1", "CONNECT 127.0.0.1:{} HTTP/1.1"])
def test_what_is_not_cleared_is_refused_and_recorded_and_never_reaches_the_server(method: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as untouched, running(no) as (place, recorder):
        port = untouched.getsockname()[1]
        answer = ask(place, method.format(port).encode() + b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
        assert f"127.0.0.1:{port} is not permitted".encode() in answer
        assert recorder.wait() == [Connection("127.0.0.1", port, None, f"127.0.0.1:{port} is not permitted")]
        untouched.setblocking(False)
        with pytest.raises(BlockingIOError):
            untouched.accept()


def test_an_error_while_asking_is_a_no(origin: int) -> None:
    def broken(host: str, port: int) -> bool:
        raise RuntimeError("the door is gone")

    with running(broken) as (place, _):
        assert ask(place, f"CONNECT 127.0.0.1:{origin} HTTP/1.1\r\n\r\n".encode()).startswith(b"HTTP/1.1 403")


def test_a_name_that_leads_to_this_machine_needs_the_address_cleared_too(origin: int) -> None:
    request = f"GET http://localhost:{origin}/ HTTP/1.1\r\n\r\n".encode()
    with running(lambda host, port: host == "localhost") as (place, recorder):
        assert b"which is not permitted by itself" in ask(place, request)
        assert recorder.wait()[0].address in ("127.0.0.1", "::1")
    with running(lambda host, port: host in ("localhost", "127.0.0.1", "::1")) as (place, _):
        assert ask(place, request).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("10.1.2.3", False),
        ("192.168.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("2002:7f00:1::", False),
        ("64:ff9b::7f00:1", False),
    ],
)
def test_addresses_behind_the_wall_are_known_in_every_disguise(address: str, public: bool) -> None:
    assert _is_public(address) is public


def test_a_second_request_on_the_same_connection_goes_nowhere(origin: int) -> None:
    asked: list[tuple[str, int]] = []

    def clear(host: str, port: int) -> bool:
        asked.append((host, port))
        return True

    two = f"GET http://127.0.0.1:{origin}/one HTTP/1.1\r\n\r\nGET http://other.example/two HTTP/1.1\r\nHost: other.example\r\n\r\n"
    with running(clear) as (place, _):
        answer = ask(place, two.encode())
    assert b"/one" in answer
    assert b"/two" not in answer
    assert asked == [("127.0.0.1", origin)]


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1",
        b"GET https://example.org/ HTTP/1.1",
        b"GET file:///etc/passwd HTTP/1.1",
        b"CONNECT example.org HTTP/1.1",
        b"CONNECT example.org:0 HTTP/1.1",
        b"CONNECT example.org:70000 HTTP/1.1",
        b"CONNECT user@example.org:443 HTTP/1.1",
        b"GET http://user:pass@example.org/ HTTP/1.1",
        b"GET http://example.org@evil.example/ HTTP/1.1",
        b"GET http://evil.example\\@example.org/ HTTP/1.1",
        b"CONNECT 2130706433:80 HTTP/1.1",
        b"CONNECT 0x7f.1:80 HTTP/1.1",
        b"CONNECT 127.1:80 HTTP/1.1",
        b"CONNECT 127.0.0.1.:80 HTTP/2",
        b"CONNECT [::1:80 HTTP/1.1",
        b"CONNECT [localhost]:80 HTTP/1.1",
        "CONNECT exämple.org:443 HTTP/1.1".encode(),
        b"CONNECT exa mple.org:443 HTTP/1.1",
        b"CONNECT -bad.example:443 HTTP/1.1",
        b"POST http://a.example/ HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
        b"POST http://a.example/ HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6",
        b"POST http://a.example/ HTTP/1.1\r\nContent-Length: +5",
        b"POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked",
        b"GET http://a.example/\nX HTTP/1.1",
        b"G(T http://a.example/ HTTP/1.1",
        b"GET http://a.example/ HTTP/1.1\r\nX : y",
        b"GET http://a.example/ HTTP/1.1\r\n folded",
        b"GET http://a.example/ HTTP/1.1\r\nX: a\nb",
        b"\x16\x03\x01\x02\x00",
        b"",
    ],
)
def test_what_is_ambiguous_or_no_proxy_request_is_refused(head: bytes) -> None:
    with pytest.raises(ParseError):
        parse(head + b"\r\n\r\n")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"CONNECT Example.ORG.:443 HTTP/1.1", Tunnel("example.org", 443)),
        (b"CONNECT [2001:DB8::1]:443 HTTP/1.1", Tunnel("2001:db8::1", 443)),
        (
            b"GET HTTP://example.org?q=1/2 HTTP/1.0\r\nHost: evil.example\r\nX: y\r\nProxy-Connection: keep-alive",
            Forward(
                "example.org", 80, b"GET /?q=1/2 HTTP/1.1\r\nHost: example.org\r\nX: y\r\nConnection: close\r\n\r\n", 0
            ),
        ),
    ],
)
def test_requests_are_read_and_rewritten_for_the_host_that_was_cleared(head: bytes, expected: Tunnel | Forward) -> None:
    assert parse(head + b"\r\n\r\n") == expected


def test_a_malformed_request_is_answered_and_recorded() -> None:
    with running(yes) as (place, recorder):
        assert ask(place, b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert (
            recorder.wait() == [Connection("", 0, None, "this is not a request to a proxy")] or recorder.seen[0].refused
        )


@pytest.mark.parametrize(
    ("data", "seconds", "status"),
    [(b"GET http://a/ HTTP/1.1\r\nX: " + b"y" * 70_000, LIMIT, b"431"), (b"GET http", 0.3, b"408")],
)
def test_an_endless_or_unfinished_head_is_cut_off(data: bytes, seconds: float, status: bytes) -> None:
    with running(yes, Bounds(head_seconds=seconds)) as (place, _):
        assert ask(place, data).startswith(b"HTTP/1.1 " + status)


def test_a_server_that_is_not_there_is_a_bad_gateway() -> None:
    with socket.socket() as deaf, running(yes) as (place, recorder):
        deaf.bind(("127.0.0.1", 0))  # ours, so that nobody else answers there
        port = deaf.getsockname()[1]
        assert ask(place, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode()).startswith(b"HTTP/1.1 502")
        assert "cannot be reached" in (recorder.wait()[0].refused or "")


def test_connections_at_once_are_bounded() -> None:
    with (
        running(yes, Bounds(connections=2)) as (place, _),
        socket.create_connection(place, LIMIT),
        socket.create_connection(place, LIMIT),
    ):
        assert ask(place, b"").startswith(b"HTTP/1.1 503")


def test_leaving_cuts_silent_connections_and_leaks_nothing() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with running(yes) as (place, _):
            client = socket.create_connection(place, LIMIT)
            client.sendall(f"CONNECT 127.0.0.1:{silent.getsockname()[1]} HTTP/1.1\r\n\r\n".encode())
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        assert client.recv(1) == b""
        client.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "signoff-proxy"]
    assert len(os.listdir("/proc/self/fd")) <= before  # fewer where an earlier test left something to be collected


def test_a_listener_made_elsewhere_is_served(origin: int) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    recorder = Recorder()
    with Proxy(yes, recorder, listener=listener) as proxy:
        assert proxy.url == f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert ask(listener.getsockname(), f"GET http://127.0.0.1:{origin}/ HTTP/1.1\r\n\r\n".encode()).startswith(
            b"HTTP/1.1 200"
        )
