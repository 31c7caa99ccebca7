"""web_fetch: real servers on loopback, names that lead there by an injected resolver, and everything it must not reach."""

import gzip
import http.server
import pathlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from signoff.domain.errors import InvalidArguments
from signoff.domain.review import Approved
from signoff.domain.settings import Network
from signoff.tools import web_request, web_text
from signoff.tools.web_address import is_public, target
from signoff.tools.web_fetch import MOST_REDIRECTS, WebFetch
from tests.clauses import requirement
from tests.tools.workbench import Workbench

LOOPBACK = "127.0.0.1"


class Site:
    """A server whose pages are a table: path -> (status, headers, body)."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[tuple[str, str]] = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.headers["Host"], self.path))
                status, headers, body = site.pages.get(self.path, (404, {"Content-Type": "text/plain"}, b"none"))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self.port = self.server.server_address[1]
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def put(self, path: str, body: bytes | str = b"", kind: str = "text/plain", status: int = 200, **more: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.pages[path] = (status, {"Content-Type": kind, **{k.replace("_", "-"): v for k, v in more.items()}}, data)

    def redirect(self, path: str, to: str) -> None:
        self.put(path, status=302, Location=to)

    def url(self, path: str, host: str = "pages.test") -> str:
        return f"http://{host}:{self.port}{path}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join(60)


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


def bench(
    directory: pathlib.Path,
    *,
    network: Network = Network.ON,
    resolve: Callable[[str, int], list[str]] = lambda host, port: [LOOPBACK],
    allowed: Callable[[str], bool] = lambda address: address == LOOPBACK,
    **more: Any,
) -> Workbench:
    fetch = WebFetch(resolve, allowed, more.pop("seconds", 20.0))
    return Workbench(directory, tools=[fetch], network=network, **more)


def fetched(workbench: Workbench, url: str) -> tuple[str | None, str]:
    """The code of the error and its words, or the content."""
    result = workbench.call("web_fetch", url=url)
    if result.error is not None:
        return result.error.code, result.error.message
    assert result.payload is not None
    return None, result.payload["content"]


@requirement("CLU-019")
def test_nothing_is_reached_unless_the_policy_opens_the_host(site: Site, tmp_path: pathlib.Path) -> None:
    site.put("/", "hello")

    code, words = fetched(bench(tmp_path, network=Network.OFF), site.url("/"))

    assert (code, "the network is off unless a rule names the host" in words) == ("policy.denied", True)
    assert site.asked == []


def test_a_limited_network_asks_host_by_host(site: Site, tmp_path: pathlib.Path) -> None:
    site.put("/", "hello")
    workbench = bench(tmp_path, network=Network.LIMITED, answers=[Approved()])

    assert fetched(workbench, site.url("/")) == (None, "hello")
    assert fetched(workbench, site.url("/", "other.test"))[0] == "review.denied"
    assert site.asked == [(f"pages.test:{site.port}", "/")]


def test_a_text_comes_in_its_character_set(site: Site, tmp_path: pathlib.Path) -> None:
    site.put("/latin", "grün".encode("latin-1"), "text/plain; charset=ISO-8859-1")
    site.put("/mark", "grün".encode("utf-16"), "text/plain; charset=utf-8")
    site.put("/meta", '<meta charset="koi8-r"><p>да'.encode("koi8-r"), "text/html")
    site.put("/odd", "grün", "text/plain; charset=rot13")
    site.put("/idna", "grün", "text/plain; charset=idna")
    site.put("/none", "grün", "application/vnd.x+json")
    workbench = bench(tmp_path)

    found = {
        path: fetched(workbench, site.url(path))[1] for path in ("/latin", "/mark", "/meta", "/odd", "/idna", "/none")
    }

    assert found == {"/latin": "grün", "/mark": "grün", "/meta": "да", "/odd": "grün", "/idna": "grün", "/none": "grün"}


def test_a_page_is_what_a_reader_sees(site: Site, tmp_path: pathlib.Path) -> None:
    page = """<html><head><title>A page</title><style>p {}</style><script>evil()</script></head>
    <body><h1>Head</h1><p>One &amp; <a href="https://example.org/x">two</a></p><p>three</body>"""
    site.put("/", page, "text/html; charset=utf-8")

    assert fetched(bench(tmp_path), site.url("/")) == (
        None,
        "A page\n\nHead\n\nOne & two <https://example.org/x>\n\nthree",
    )


def test_what_is_no_text_is_said_and_an_image_is_given(site: Site, tmp_path: pathlib.Path) -> None:
    site.put("/a.zip", b"PK" * 10, "application/zip")
    site.put("/a.png", b"\x89PNG", "image/png")
    workbench = bench(tmp_path)

    packed = workbench.call("web_fetch", url=site.url("/a.zip")).payload
    image = workbench.call("web_fetch", url=site.url("/a.png")).payload

    assert packed is not None and (packed["content"], "images" in packed) == ("application/zip: not text", False)
    assert image is not None and image["images"] == ({"media_type": "image/png", "data": "iVBORw=="},)


def test_a_body_ends_at_the_limit_also_when_it_comes_packed(
    site: Site, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_request, "LARGEST_BODY", 1_000)
    site.put("/long", b"x" * 5_000)
    site.put("/bomb", gzip.compress(b"y" * 5_000_000), "text/plain", Content_Encoding="gzip")
    site.put("/small", gzip.compress(b"z" * 10), "text/plain", Content_Encoding="gzip")
    workbench = bench(tmp_path)

    found = [workbench.call("web_fetch", url=site.url(path)).payload for path in ("/long", "/bomb", "/small")]

    assert [(one["content"], one.get("truncated", False)) for one in found if one] == [
        ("x" * 1_000, True),
        ("y" * 1_000, True),
        ("z" * 10, False),
    ]


def test_redirects_are_followed_on_the_same_host_and_counted(site: Site, tmp_path: pathlib.Path) -> None:
    for number in range(10):
        site.redirect(f"/{number}", f"/{number + 1}")
    site.put("/10", "arrived")
    workbench = bench(tmp_path)

    assert fetched(workbench, site.url(f"/{10 - MOST_REDIRECTS}")) == (None, "arrived")
    code, words = fetched(workbench, site.url("/0"))
    assert (code, "more than 5 redirects" in words) == ("upstream.failed", True)


@pytest.mark.parametrize("there", ["http://other.test:{port}/x", "http://127.0.0.1:{port}/x", "//other.test:{port}/x"])
def test_a_redirect_to_a_host_that_was_not_judged_is_refused(site: Site, tmp_path: pathlib.Path, there: str) -> None:
    """Even where the person said yes to the first host."""
    site.redirect("/", there.format(port=site.port))
    workbench = bench(tmp_path, network=Network.LIMITED, answers=[Approved(), Approved()])

    code, words = fetched(workbench, site.url("/"))

    assert (code, "redirects to" in words, len(site.asked)) == ("policy.denied", True, 1)


def test_a_redirect_that_leaves_the_web_is_refused(site: Site, tmp_path: pathlib.Path) -> None:
    for there in ("file:///etc/passwd", "ftp://x.test/", "http://user:pass@pages.test/"):
        site.redirect("/", there)
        assert fetched(bench(tmp_path / there[:3], network=Network.ON), site.url("/"))[0] == "tool.invalid_arguments"


def test_an_address_that_is_not_public_is_refused_also_behind_a_redirect(site: Site, tmp_path: pathlib.Path) -> None:
    site.redirect("/", site.url("/inner", "inner.test"))
    names = {"pages.test": [LOOPBACK], "inner.test": ["10.0.0.1"], "both.test": [LOOPBACK, "169.254.169.254"]}
    workbench = bench(tmp_path, resolve=lambda host, port: names[host])

    for url in (site.url("/"), site.url("/x", "inner.test"), site.url("/x", "both.test")):
        code, words = fetched(workbench, url)
        assert (code, "not an address on the open internet" in words) == ("policy.denied", True), url
    assert len(site.asked) == 1


def test_without_an_allowance_loopback_is_refused(site: Site, tmp_path: pathlib.Path) -> None:
    workbench = Workbench(tmp_path, network=Network.ON)

    for host in (LOOPBACK, "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0"):
        code, _ = fetched(workbench, f"http://{host}:{site.port}/")
        assert code == "policy.denied", host
    assert site.asked == []


def test_the_connection_goes_to_the_address_that_was_looked_at(site: Site, tmp_path: pathlib.Path) -> None:
    """The name changes its mind at the second look; nobody looks a second time."""
    answers = iter([[LOOPBACK], ["10.0.0.1"]])
    site.put("/", "hello")

    assert fetched(bench(tmp_path, resolve=lambda host, port: next(answers)), site.url("/")) == (None, "hello")
    assert next(answers) == ["10.0.0.1"]


def test_a_server_that_drips_is_cut_off(tmp_path: pathlib.Path) -> None:
    """One header every moment would keep a timeout per read from ever ending."""
    listener = socket.create_server((LOOPBACK, 0))
    over = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not over.wait(0.05):
                try:
                    connection.sendall(b"X-More: 1\r\n" if not over.is_set() else b"")
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    try:
        code, _ = fetched(bench(tmp_path, seconds=0.5), f"http://slow.test:{listener.getsockname()[1]}/")
        assert code == "tool.timeout"
    finally:
        over.set()
        thread.join(60)
        listener.close()


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "255.255.255.255"),
        *("192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "192.0.0.1", "::", "::1", "fe80::1", "fe80::1%eth0"),
        *("fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::10.0.0.1"),
        *("64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "2002:a00:1::1", "2001:db8::1", "nonsense", ""),
        "2001:0:a00:1::f5ff:fffe",
    ],
)  # fmt: skip
def test_addresses_that_are_never_connected_to(address: str) -> None:
    assert is_public(address) is False


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_addresses_on_the_open_internet(address: str) -> None:
    assert is_public(address) is True


@pytest.mark.parametrize(
    "url",
    [
        *("", "x", "ftp://a.test/", "file:///etc/passwd", "https://", "https:///x", "http://user@a.test/", "//a.test/"),
        *("http://a.test:0/", "http://a.test:99999/", "http://a.test:x/", "http://a.test\\@b.test/", "http://a test/"),
        *("http://a.test/\r\nX: y", "http://a.test/\0", "http://[::1/", "http://a.test%2f/", "javascript:alert(1)"),
    ],
)  # fmt: skip
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(InvalidArguments):
        target(url)


def test_an_address_is_read_as_it_is_judged() -> None:
    found = target("HTTPS://Bücher.Example.:8443/a b".replace(" ", "%20") + "?q=ü#part")

    assert (found.host, found.port, found.path) == ("xn--bcher-kva.example", 8443, "/a%20b?q=%C3%BC")
    assert found.url == "https://xn--bcher-kva.example:8443/a%20b?q=%C3%BC"


def test_a_type_is_read_with_its_character_set() -> None:
    assert web_text.media_type('Text/HTML; x=y; Charset="UTF-8"') == ("text/html", "UTF-8")
    assert web_text.media_type("") == ("application/octet-stream", None)
