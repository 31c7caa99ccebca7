"""While a question stands there, others wait; nothing is lost and nothing changes its order."""

import os
import threading

from signoff.approvals.silence import Silence

LIMIT_S = 20.0


def test_what_is_said_during_a_question_comes_after_it_in_order() -> None:
    heard: list[str] = []
    silence = Silence()
    silence.say(lambda: heard.append("before"))
    with silence.kept():
        for number in range(3):
            silence.say(lambda number=number: heard.append(f"during {number}"))  # type: ignore[misc]
        with silence.kept():  # two questions that overlap
            silence.say(lambda: heard.append("still during"))
        assert heard == ["before"]
    silence.say(lambda: heard.append("after"))
    assert heard == ["before", "during 0", "during 1", "during 2", "still during", "after"]


def test_who_says_too_much_waits_for_the_answer() -> None:
    silence = Silence(most=10)
    reading, writing = os.pipe()
    done = threading.Event()

    def talk() -> None:
        for piece in (b"12345678", b"abcdefgh", b"!"):
            silence.write(writing, piece)
        done.set()

    with silence.kept():
        talker = threading.Thread(target=talk)
        talker.start()
        assert not done.wait(0.05)  # held back, and nothing was written
        assert os.get_blocking(reading)
    assert done.wait(LIMIT_S)
    talker.join(LIMIT_S)
    os.close(writing)
    assert os.read(reading, 100) == b"12345678abcdefgh!"
    os.close(reading)


def test_one_piece_of_any_size_is_kept() -> None:
    silence = Silence(most=10)
    reading, writing = os.pipe()
    with silence.kept():
        silence.write(writing, bytearray(b"x" * 1_000))
    assert len(os.read(reading, 2_000)) == 1_000


def test_a_writer_that_fails_does_not_keep_the_others_quiet() -> None:
    silence = Silence()
    heard: list[str] = []
    with silence.kept():
        silence.say(lambda: os.write(-1, b""))
        silence.say(lambda: heard.append("next"))
    silence.say(lambda: heard.append("later"))
    assert heard == ["next", "later"]


def test_who_cannot_wait_is_not_kept_beyond_measure_and_what_was_missed_is_said() -> None:
    heard: list[object] = []
    silence = Silence(most=10)
    with silence.kept():
        for number in range(100):
            silence.mention(lambda number=number: heard.append(number), heard.append, 5)  # type: ignore[misc]
        assert heard == []
    silence.mention(lambda: heard.append("after"), heard.append)
    assert heard == [0, 1, 98, "after"]
