"""What any bytes at all must not do to a parser: one function for each, which raises only where a promise is broken.

Hypothesis feeds them in the test run, atheris for as long as one likes (`make fuzz`). Each says what it promises.
"""

import io
import sqlite3
from collections.abc import Callable, Iterator

import msgspec

from signoff.domain.errors import InvalidArguments, ParseError, RulesInvalid, ToolConflict
from signoff.domain.intent import Command, Opaque
from signoff.domain.settings import Redact, Source
from signoff.ledger import reading
from signoff.ledger.canonical import encode
from signoff.ledger.chain import Chain
from signoff.ledger.records import Close, Genesis
from signoff.ledger.redact.redactor import Redactor
from signoff.ledger.verify import verify
from signoff.memory import query, words
from signoff.policy.commands import classify, unusual_options
from signoff.policy.execpolicy.language import read_rules
from signoff.policy.rules.written import read_policy
from signoff.policy.shell import read_argv, read_script
from signoff.providers.anthropic import Anthropic
from signoff.providers.dialect import Dialect, Trouble
from signoff.providers.openai_chat import OpenAIChat
from signoff.providers.openai_responses import OpenAIResponses
from signoff.providers.over_loopback import Lines
from signoff.tools.patch_apply import updated
from signoff.tools.patch_format import Update
from signoff.tools.patch_unified import parse_patch, paths
from signoff.wire import acp, control, jsonrpc, tool_events
from signoff.wire.jsonl import Found, Modes, Scanner, Text, Trust

PLACE = {"cwd": "/srv/project", "home": "/home/someone"}
TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA2bC4"
FILE = "one\ntwo\r\nthree\n\nfour {\n  five\n}\nsix\n"


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def cut(data: bytes) -> Iterator[bytes]:
    """The same bytes in pieces whose lengths the bytes themselves decide."""
    at = 0
    while at < len(data):
        step = 1 + data[at] % 7
        yield data[at : at + step]
        at += step


def shell(data: bytes) -> None:
    """A reading always comes; a plain one has no opaque part; a command behind a plain script is seen."""
    script = text_of(data)
    found = read_script(script, **PLACE)
    for aspect in found.aspects:
        if isinstance(aspect, Command):
            classify(aspect.words)
            unusual_options(aspect.words)
    if not found.plain:
        return
    assert not any(isinstance(aspect, Opaque) for aspect in found.aspects)
    behind = read_script(f"{script}\nforbidden now", **PLACE).aspects
    assert any(
        isinstance(aspect, Opaque) or (isinstance(aspect, Command) and aspect.words[0] == "forbidden")
        for aspect in behind
    )


def arguments(data: bytes) -> None:
    """Words that never went through a shell are read too, whatever they hold."""
    argv = [text_of(word) for word in data.split(b"\0")]
    for aspect in read_argv(argv, **PLACE).aspects:
        if isinstance(aspect, Command):
            classify(aspect.words)
            unusual_options(aspect.words)


def patch(data: bytes) -> None:
    """A patch is refused with a reason, or it is a list of changes that fit or do not."""
    try:
        for change in parse_patch(text_of(data)):
            assert all(paths(change))
            if isinstance(change, Update):
                updated(change.path, FILE, change.chunks)
    except (InvalidArguments, ToolConflict):
        pass


def events(data: bytes) -> None:
    """Text and events are the same for every way of cutting the stream."""
    assert _scanned([data]) == _scanned(list(cut(data)))


def _scanned(pieces: list[bytes]) -> tuple[bytes, bytes]:
    scanner = Scanner(Modes(), Trust("nonce"))
    text, seen, held = bytearray(), [], bytearray()
    for number in range(len(pieces) + 1):
        held += pieces[number] if number < len(pieces) else b""
        scan = scanner.scan(held, len(held), final=number == len(pieces))
        for piece in scan.pieces:
            match piece:
                case Text(start, stop):
                    text += held[start:stop]
                case Found(events=found):
                    seen += found
        del held[: scan.keep]
    return bytes(text), b"".join(tool_events.encode(event) for event in seen)


def messages(data: bytes) -> None:
    """A control message is refused, or reads the same after it was written."""
    try:
        message = control.decode(data)
    except ParseError:
        return
    assert control.decode(control.encode(message)) == message


def frames(data: bytes) -> None:
    """A frame is something, if only malformed; parameters of a known method are read or refused."""
    frame = jsonrpc.read(data)
    if not isinstance(frame, jsonrpc.Request | jsonrpc.Notification):
        return
    for side in acp.TABLES:
        if frame.method in acp.TABLES[side]:
            try:
                acp.encode(acp.read_params(side, frame.method, frame.params))
            except ParseError:
                pass


def redaction(data: bytes) -> None:
    """A token on a line of its own is masked whatever stands around it; a stream's cutting changes nothing."""
    redactor = Redactor(Redact.STRICT)
    whole = redactor.text(f"{text_of(data)}\n{TOKEN}\n")
    assert TOKEN not in whole
    streams = redactor.stream(), redactor.stream()
    one = streams[0].feed(data) + streams[0].finish()
    assert one == b"".join(streams[1].feed(piece) for piece in cut(data)) + streams[1].finish()
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    redactor.value(value)


def rules(data: bytes) -> None:
    """A rule file is read or refused with its place."""
    for read in (read_rules, read_policy):
        try:
            read(text_of(data), "fuzz")
        except RulesInvalid:
            pass


def _book() -> bytes:
    chain = Chain("0190c7a0-0000-7000-8000-000000000000")
    first = chain.link(encode(Genesis(("x",), "/w", "p", "0", Redact.STRICT)), "2030-01-01T00:00:00Z", 1)
    return first + chain.link(encode(Close(0, "ended", 1, chain.head)), "2030-01-01T00:00:00Z", 2)


BOOK = _book()


def ledger(data: bytes) -> None:
    """No bytes break the reader, and no change of a closed book is called whole."""
    edited = bytearray(BOOK)
    if len(data) >= 3:  # two bytes say where, the rest is what stands there now
        at = int.from_bytes(data[:2], "big") % len(BOOK)
        edited[at : at + len(data) - 2] = data[2:]
    for book in (data, bytes(edited)):
        report = verify(io.BytesIO(book))
        list(reading.read(io.BytesIO(book)))
        assert (report.finding is None) <= (book == BOOK) or _is_another_book(book), report


def _is_another_book(book: bytes) -> bool:
    """Whoever writes the whole file anew can write a good one: that takes another head."""
    return book.splitlines()[-1] != BOOK.splitlines()[-1]


def answers(data: bytes) -> None:
    """Events come out the same for every cutting; a vendor's answer is read or is trouble, nothing else."""
    whole = Lines().feed(data)
    lines = Lines()
    assert whole == [event for piece in cut(data) for event in lines.feed(piece)]
    dialects: tuple[Dialect, ...] = (OpenAIChat(), OpenAIResponses(), Anthropic())
    for dialect in dialects:
        answer = dialect.reading()
        try:
            for event in whole:
                list(answer.feed(event.name, event.data))
            list(answer.finish())
        except Trouble:
            pass


INDEX = sqlite3.connect(":memory:", check_same_thread=False)
INDEX.execute("CREATE VIRTUAL TABLE kept USING fts5(text)")
INDEX.execute("INSERT INTO kept VALUES ('one two three')")


def memory(data: bytes) -> None:
    """Any question is a question: bounded, and in words that the index takes for words."""
    text = text_of(data)
    built = query.build({Source.PROMPT: text, Source.REPOSITORY: text[::-1]})
    assert len(built.text) <= query.LONGEST
    words.indexed(text)
    words.signature(text)
    for word in words.wanted(built.text):
        INDEX.execute("SELECT count(*) FROM kept WHERE kept MATCH ?", (f'"{word}"',)).fetchone()


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (shell, arguments, patch, events, messages, frames, redaction, rules, ledger, answers, memory)
}
