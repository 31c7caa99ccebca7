"""The memory in a file: what goes in comes out ranked, aged and explained, and what was acknowledged stays."""

import pathlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.errors import MemoryBadRequest
from signoff.memory import embedding
from signoff.memory.admission import admitted
from signoff.memory.embedded import Embedded
from signoff.memory.interface import Candidate, Query, Reference, Reply, Validation
from signoff.memory.trust import DAY, Status
from signoff.memory.upkeep import edit, share, summary

NOW = 20_000 * DAY
TEXTS = [
    "Run make.",
    "def token(self): return self.next()",
    "Ask jane.roe@example.com about it.",
    "It lies in /home/jane/src, on 10.20.30.40.",
    "export GITHUB_TOKEN=ghp_" + "a8B2c9D4e1" * 4,
    "password: hunter2hunter2xK9",
    "password:",
    "hunter2hunter2xK9",
    '{"api_key": "kJ8s7dF6gH5jK4lZ3xC2vB1n"}',
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA" + "x7Kq" * 12,
    "x7Kq" * 12 + "\n-----END RSA PRIVATE KEY-----",
    "https://user:s3cr3tpassw0rd@example.com/x",
    "Authorization: Bearer",
]


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: pathlib.Path, clock: Clock) -> Embedded:
    return Embedded(tmp_path / "memory.db", clock=clock)


def ids(memory: Embedded, question: str, project: str = "p", limit: int = 6) -> list[str]:
    return [match.qa_id for match in memory.search(Query(project, question, limit)).value]


def test_what_is_told_twice_is_known_once(memory: Embedded) -> None:
    told = Candidate("p", "How to build?", "Run make.")
    first, second = memory.candidate(told), memory.candidate(told)
    assert first == second
    assert first.status == 202
    assert ids(memory, "build") == [first.value]


def test_a_find_explains_itself(memory: Embedded) -> None:
    memory.add((Candidate("p", "How to build the documentation?", "Run make docs.", tags=("make",)),), Status.ACTIVE)
    (match,) = memory.search(Query("p", "building documentation")).value
    assert match.why == pytest.approx({"words": match.relevance, "vector": 0.0, "trust": 0.12, "freshness": 0.15})
    assert match.score == pytest.approx(0.55 * match.relevance + 0.27)
    assert match.relevance == pytest.approx(1.0)
    assert (match.level, match.status, match.trust, match.tags) == ("L0", "active", 0.40, ("make",))


@pytest.mark.parametrize("question", ["", "?!", '"', "NEAR( AND OR NOT *", "a" * 5_000, "naïve café ☕", "\x00"])
def test_any_question_has_an_answer(memory: Embedded, question: str) -> None:
    memory.add((Candidate("p", "café", "naïve"),))
    assert memory.search(Query("p", question)).status == 200


def test_identifiers_are_found_by_their_parts(memory: Embedded) -> None:
    (camel,) = memory.add((Candidate("p", "loader", "Call parseSettingsFile first."),))
    assert ids(memory, "settings file") == [camel]
    assert ids(memory, "parseSettingsFile") == [camel]


def test_projects_see_themselves_the_global_one_and_what_is_shared(memory: Embedded) -> None:
    own, other, everywhere = memory.add(Candidate(name, "deploy", f"of {name}") for name in ("p", "other", "global"))
    assert set(ids(memory, "deploy")) == {own, everywhere}
    assert set(ids(memory, "deploy", "stranger")) == {everywhere}
    assert other not in ids(memory, "deploy")


def test_neighbours_in_a_thread_help_each_other(memory: Embedded) -> None:
    story = ["What shall we do about the flaky socket test?", "Raise its timeout.", "Fine by me.", "Lunch?"]
    told = memory.add(Candidate("p", "talk", text, thread="t", position=place) for place, text in enumerate(story))
    found = ids(memory, "flaky socket test")
    assert found[:2] == [told[0], told[1]]
    assert told[3] not in found


def test_the_reply_to_a_question_is_found_by_the_question(memory: Embedded) -> None:
    """An answer often names nothing of what it answers."""
    story = ["Morning.", "Which port does the broker use?", "5671.", "Thanks."]
    told = memory.add(Candidate("p", "talk", text, thread="t", position=place) for place, text in enumerate(story))
    assert ids(memory, "port of the broker")[:2] == [told[1], told[2]]


def test_the_author_a_question_names_is_preferred(memory: Embedded) -> None:
    _, wanted = memory.add(
        Candidate("p", "note", f"The cache lives in {place}.", author=who)
        for who, place in (("Ann", "ram"), ("Bob", "disk"))
    )
    assert ids(memory, "where does Bob say the cache lives")[0] == wanted


def test_proof_raises_and_failure_removes(memory: Embedded) -> None:
    good, bad = memory.add(
        (Candidate("p", "cache size", "Use 64."), Candidate("p", "cache size limit", "Use 9000.")), Status.ACTIVE
    )
    for _ in range(2):
        assert memory.validate(Validation("p", good, "pass", "strong")) == Reply(200, None)
    assert ids(memory, "cache size") == [good]  # the unproved one stands back
    for _ in range(3):
        memory.validate(Validation("p", good, "fail", "strong"))
    assert ids(memory, "cache size") == [bad]
    assert memory.validate(Validation("p", "qa-unknown", "pass")) == Reply(404, None)


def test_showing_and_using_are_counted(memory: Embedded, clock: Clock) -> None:
    (qa_id,) = memory.add((Candidate("p", "cache", "Use 64."),))
    clock.now += 20 * DAY
    assert memory.search(Query("p", "cache")).value[0].freshness == pytest.approx(1 / 3)
    memory.hit("p", (Reference(qa_id, shown=True), Reference(qa_id, shown=False, used=True), Reference("qa-unknown")))
    item = memory.get(qa_id)
    assert item is not None
    assert (item.shown, item.used) == (1, 1)
    assert memory.search(Query("p", "cache")).value[0].freshness == 1.0


def test_the_sweep_ages_what_nobody_proved(memory: Embedded, clock: Clock) -> None:
    active, candidate = (
        *memory.add((Candidate("p", "a", "b"),), Status.ACTIVE),
        *memory.add((Candidate("p", "c", "d"),)),
    )
    assert memory.expire() == 0
    clock.now += 15 * DAY
    assert memory.expire(1) + memory.expire() == 2
    assert [(item.status, item.expires_at) for item in (memory.get(active), memory.get(candidate)) if item] == [
        (Status.STALE, "2024-10-26T00:00:00.000+00:00"), (Status.DEPRECATED, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "told",
    [
        Candidate("p", "token?", "export GITHUB_TOKEN=ghp_" + "a8B2c9D4e1" * 4),
        Candidate("p", "AKIAIOSFODNN7EXAMPLQ", "that is the key"),
        Candidate("p", "q", "a", metadata={"password": "hunter2hunter2xK9"}),
        Candidate("p", " ", "a"),
    ],
)
def test_secrets_are_refused(memory: Embedded, told: Candidate) -> None:
    with pytest.raises(MemoryBadRequest):
        memory.candidate(told)
    with pytest.raises(MemoryBadRequest):
        memory.add((Candidate("p", "fine", "fine"), told))
    assert ids(memory, "fine token key q a") == []


def test_private_details_are_masked(memory: Embedded) -> None:
    (qa_id,) = memory.add((Candidate("p", "Who owns it?", "Ask jane.roe@example.com."),))
    item = memory.get(qa_id)
    assert item is not None
    assert "jane" not in item.answer


def test_the_file_is_private(memory: Embedded) -> None:
    assert memory.database.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "question", ["common", "common words", "common rare words", "rare", "common words everywhere note some", "nowhere"]
)
def test_no_question_ranks_more_than_the_bound(
    memory: Embedded, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """Counted: every statement that ranks is run again without its ranking, to see how many items it looked at."""
    monkeypatch.setattr("signoff.memory.retrieval.BOUND", 50)
    told = memory.add(
        Candidate("p", f"note {n}", "common words everywhere" + (" rare" if n == 3 else " some" * (n % 9 == 0)))
        for n in range(400)
    )
    statements: list[str] = []
    with memory.database.reading() as connection:
        connection.set_trace_callback(statements.append)
    found = ids(memory, question, limit=20)
    with memory.database.reading() as connection:
        connection.set_trace_callback(None)
        ranking = [sql for sql in statements if "bm25" in sql]
        counts = [
            connection.execute("SELECT count(*) " + re.sub(r"^.*?(?=FROM)|ORDER BY .*$", "", sql)).fetchone()[0]
            for sql in ranking
        ]
    assert len(ranking) == (question != "nowhere")
    assert all(0 < count <= 50 for count in counts)
    assert len(found) == {"rare": 1, "nowhere": 0}.get(question, len(found))
    if "rare" in question:
        assert found[0] == told[3]
    elif found and "some" not in question:
        assert set(found) <= set(told[350:])  # the newest


@pytest.mark.skipif(embedding.load() is None, reason="the extra for embeddings is not installed")
def test_meaning_finds_what_words_do_not(tmp_path: pathlib.Path) -> None:
    notes = [
        ("food", "We had soup and bread."),
        ("pets", "The puppy barks at night."),
        ("money", "Pay the invoice by Friday."),
    ]
    told = [Candidate("p", question, answer) for question, answer in notes]
    words = Embedded(tmp_path / "memory.db")
    pets = words.add(told)[1]
    assert ids(words, "dog") == []
    words.close()
    meaning = Embedded(tmp_path / "memory.db", embedding=embedding.load())  # vectors are made up for
    (first, *_) = meaning.search(Query("p", "dog")).value
    assert first.qa_id == pets
    assert first.why["vector"] > 0
    assert all(match.relevance >= 0.02 for match in meaning.search(Query("p", "dog")).value)  # trust alone is no answer
    (cat,) = meaning.add((Candidate("p", "cats", "A kitten sleeps."),))
    assert ids(meaning, "feline")[0] == cat


def test_a_project_says_nothing_about_what_it_does_not_see(memory: Embedded) -> None:
    """Neither use nor proof by a stranger counts; with sharing they do."""
    (qa_id,) = memory.add((Candidate("p", "cache size", "Use 64."),))
    memory.hit("stranger", (Reference(qa_id, used=True),))
    assert memory.validate(Validation("stranger", qa_id, "fail", "strong")) == Reply(404, None)
    assert memory.get(qa_id, "stranger") is None
    item = memory.get(qa_id, "p")
    assert item is not None
    assert (item.shown, item.used, item.stats.total) == (0, 0, 0)
    share(memory, "p", "friend")
    memory.hit("friend", (Reference(qa_id, used=True),))
    assert memory.validate(Validation("friend", qa_id, "pass", "strong")) == Reply(200, None)
    item = memory.get(qa_id, "friend")
    assert item is not None
    assert (item.shown, item.used, item.stats.strong_pass) == (1, 1, 1)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=9))
def test_many_are_admitted_as_each_would_be(texts: list[str]) -> None:
    """Reading a batch for secrets in one go finds what reading each by itself finds."""
    told = [Candidate("p", f"question {number}", text) for number, text in enumerate(texts)]
    alone: list[Candidate] | None = []
    for one in told:
        try:
            alone = None if alone is None else [*alone, *admitted((one,))]
        except MemoryBadRequest:
            alone = None
    try:
        assert admitted(told) == alone
    except MemoryBadRequest:
        assert alone is None


@pytest.mark.skipif(embedding.load() is None, reason="the extra for embeddings is not installed")
def test_vectors_are_made_up_for_however_many_are_missing(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signoff.memory.vectors._AT_ONCE", 100)
    words = Embedded(tmp_path / "memory.db")
    told = words.add(Candidate("p", f"note {n}", "The puppy barks." if n == 249 else f"Item {n}.") for n in range(250))
    words.close()
    meaning = Embedded(tmp_path / "memory.db", embedding=embedding.load())
    for _ in range(3):  # a hundred with each search
        found = ids(meaning, "dog")
    assert found[0] == told[249]
    edited = edit(meaning, told[0], {"answer": "A kitten sleeps."})
    assert ids(meaning, "feline")[0] == edited.qa_id
    assert summary(meaning).vectors == 250
