"""What memory did in a run, from its ledger, in words. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from signoff.ledger.records import Event


def story(events: Sequence[Event]) -> Iterator[tuple[str, list[str]]]:
    """A label and what there is to say under it, in the order of the run."""
    questions: dict[str, str] = {}
    for event in events:
        data = event.data
        match event.name:
            case "memory.search.result":
                questions |= {found["qa_id"]: found["question"] for found in data.get("matches", ())}
                yield "asked", [str(data.get("query", ""))]
                yield "found", [_match(found) for found in data.get("matches", ())] or ["nothing"]
            case "memory.selected":
                yield "chosen", list(data.get("reasons", ())) or ["nothing"]
            case "memory.injected":
                yield "told", [_answer(qa_id, questions) for qa_id in data.get("qa_ids", ())] or ["nothing"]
            case "memory.hit":
                yield "used", [_answer(qa_id, questions) for qa_id in data.get("used", ())] or ["nothing"]
            case "gatekeeper.decision":
                yield "ended", [_signals(data.get("signals", {}))]
                if not data.get("write_candidate"):
                    yield "kept", ["nothing: " + "; ".join(data.get("reasons", ()))]
            case "memory.candidate":
                yield "kept", [f"{data.get('qa_id')}  {data.get('question')}"]
            case "memory.validate":
                strength, result = data.get("signal_strength"), data.get("result")
                yield "judged", [f"{_answer(str(data.get('qa_id')), questions)}: {result}, {strength}"]
            case "memory.failed":
                yield "failed", [f"{data.get('step')}: {data.get('error.message')}"]
            case _:
                yield event.name, [str(data)]


def _match(found: dict[str, Any]) -> str:
    return f"{found['qa_id']}  {found['score']:.2f}  {found['question']}"


def _answer(qa_id: str, questions: dict[str, str]) -> str:
    return f"{qa_id}  {questions.get(qa_id, '')}".rstrip()


def _signals(signals: dict[str, Any]) -> str:
    calls, failed = signals.get("calls", 0), signals.get("failed_calls", 0)
    proofs = {True: "the last test, build or check passed", False: "the last test, build or check failed"}
    proof = proofs.get(signals.get("last_proof"), "no test, build or check")  # type: ignore[arg-type]
    return f"exit status {signals.get('exit_code')}; calls {calls}, failed {failed}; {proof}"
