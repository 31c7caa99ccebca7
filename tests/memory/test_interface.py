"""The memory of whoever wants none."""

from signoff.memory.interface import Candidate, Memory, NoMemory, Query, Reference, Reply, Validation


def test_no_memory_answers_everything_and_remembers_nothing() -> None:
    memory: Memory = NoMemory()
    assert memory.candidate(Candidate("p", "How to build?", "Run make.")) == Reply(202, "")
    assert memory.search(Query("p", "build")) == Reply(200, ())
    assert memory.hit("p", (Reference("q-1"),)) == Reply(200, None)
    assert memory.validate(Validation("p", "q-1", "pass")) == Reply(200, None)
