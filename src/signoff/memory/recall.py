"""Memory around one run: what helps is put before the prompt, what was learnt is kept afterwards.

Whatever goes wrong with the memory, the run goes on and its exit code stays; a person is told once.
"""

import datetime
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, TypeVar

import msgspec

from signoff.domain.errors import SignoffError
from signoff.domain.settings import Inject, MemorySettings, Source
from signoff.ledger.records import Event
from signoff.ledger.spans import (
    CandidateSpan,
    ContextSpan,
    GatekeeperDecision,
    GatekeeperSpan,
    HitSpan,
    InjectSpan,
    SearchResult,
    SearchSpan,
    ValidateSpan,
)
from signoff.ledger.tracing import Tracing
from signoff.memory import gatekeeper, inject
from signoff.memory.admission import holds_secret
from signoff.memory.draft import draft
from signoff.memory.gatekeeper import Decision
from signoff.memory.inject import Prompt
from signoff.memory.interface import Candidate, Match, Memory, Query, Validation
from signoff.memory.query import Built, build
from signoff.memory.signals import Observed

T = TypeVar("T")

_TARGETS: Mapping[Inject, Literal["system", "user", "both"]] = {
    Inject.SYSTEM: "system",
    Inject.USER: "user",
    Inject.BOTH: "both",
}


class Recall:
    """`before` once, then the run, then `after` once. `record` takes ledger events, `say` one sentence for a person."""

    def __init__(
        self,
        memory: Memory,
        settings: MemorySettings,
        project_id: str,
        *,
        tracing: Tracing | None = None,
        record: Callable[[Event], object] = lambda _event: None,
        say: Callable[[str], object] = lambda _line: None,
    ) -> None:
        self._memory = memory
        self._settings = settings
        self._project_id = project_id
        self._tracing = tracing or Tracing()
        self._record = record
        self._say = say
        self._complained = False
        self._prompt = ""
        self._matches: tuple[Match, ...] = ()
        self._shown: tuple[str, ...] = ()

    def before(self, prompt: str, texts: Mapping[Source, str] | None = None) -> Prompt:
        """The prompt with what is remembered about it. `texts` is what other sources say, as far as they are wanted."""
        self._prompt = prompt
        unchanged = Prompt(system="", user=prompt)
        if not self._settings.enabled:
            return unchanged
        result = self._guarded("search", lambda: self._before(prompt, texts or {}))
        return result or unchanged

    def after(self, run: Observed) -> Decision | None:
        """Tell the memory what came of the run. None: it could not be told."""
        if not self._settings.enabled:
            return None
        decision = self._guarded("gatekeeper", lambda: self._evaluate(run))
        if decision is None:
            return None
        if decision.references:
            self._guarded("hit", lambda: self._hit(decision))
        for candidate in decision.candidates:
            self._guarded("candidate", partial(self._candidate, candidate))
        for validation in decision.validations:
            self._guarded("validate", partial(self._validate, validation))
        return decision

    def _before(self, prompt: str, texts: Mapping[Source, str]) -> Prompt:
        built = self._build({Source.PROMPT: prompt, **texts})
        if not built.text:
            return Prompt(system="", user=prompt)
        self._matches = self._search(built)
        chosen = gatekeeper.select(self._matches, datetime.datetime.now(datetime.UTC).isoformat())
        self._note("memory.selected", inject=[match.qa_id for match in chosen.inject], reasons=chosen.reasons)
        return self._inject(chosen.inject, prompt)

    def _build(self, texts: Mapping[Source, str]) -> Built:
        wanted = {source: text for source, text in texts.items() if source in self._settings.query_sources}
        with self._tracing.span(ContextSpan(session_file=self._settings.session_file)) as span:
            built = build(wanted)
            span.fields.query_len = len(built.text)
            span.fields.query_sources = built.sources
        return built

    def _search(self, built: Built) -> tuple[Match, ...]:
        limit, min_score = self._settings.limit, self._settings.min_score
        with self._tracing.span(SearchSpan(limit=limit, min_score=min_score)) as span:
            reply = self._memory.search(Query(self._project_id, built.text, limit, min_score))
            span.fields.http_status = reply.status
            top = max((match.score for match in reply.value), default=None)
            span.event(SearchResult(items=len(reply.value), top1_score=top))
        matches = [
            {"qa_id": match.qa_id, "score": round(match.score, 4), "question": match.question} for match in reply.value
        ]
        self._note("memory.search.result", query=built.text, items=len(matches), top1_score=top, matches=matches)
        return reply.value

    def _inject(self, chosen: tuple[Match, ...], prompt: str) -> Prompt:
        mode = self._settings.inject_mode
        target = _TARGETS.get(mode)
        if target is None:
            return Prompt(system="", user=prompt)
        with self._tracing.span(InjectSpan(target=target)) as span:
            merged = inject.merge(inject.render(chosen), prompt, mode)
            span.fields.inject_items = merged.items
            span.fields.inject_chars = merged.characters
        self._shown = tuple(match.qa_id for match in chosen[: merged.items])
        self._note("memory.injected", qa_ids=self._shown, target=target, characters=merged.characters)
        return merged

    def _evaluate(self, run: Observed) -> Decision:
        with self._tracing.span(GatekeeperSpan(stdout_len=len(run.stdout), stderr_len=len(run.stderr))) as span:
            decision = gatekeeper.decide(
                self._settings.gatekeeper,
                run,
                self._project_id,
                self._matches,
                self._shown,
                inject.used(f"{run.stdout}\n{run.stderr}", self._shown),
                draft(self._prompt, run, self._project_id),
                holds_secret,
            )
            span.event(GatekeeperDecision(write_candidate=decision.write_candidate, reason_count=len(decision.reasons)))
        self._note(
            "gatekeeper.decision",
            write_candidate=decision.write_candidate,
            reasons=decision.reasons,
            signals=msgspec.to_builtins(decision.signals),
        )
        return decision

    def _hit(self, decision: Decision) -> None:
        references = decision.references
        counts = {"used_count": sum(r.used for r in references), "shown_count": sum(r.shown for r in references)}
        with self._tracing.span(HitSpan(refs=len(references), **counts)) as span:
            span.fields.http_status = self._memory.hit(self._project_id, references).status
        used = [reference.qa_id for reference in references if reference.used]
        self._note("memory.hit", qa_ids=[reference.qa_id for reference in references], used=used)

    def _candidate(self, candidate: Candidate) -> None:
        sizes = {"question_len": len(candidate.question), "answer_len": len(candidate.answer)}
        with self._tracing.span(CandidateSpan(tags_count=len(candidate.tags), **sizes)) as span:
            reply = self._memory.candidate(candidate)
            span.fields.http_status = reply.status
        self._note("memory.candidate", qa_id=reply.value, question=candidate.question)

    def _validate(self, validation: Validation) -> None:
        strength = validation.signal_strength
        with self._tracing.span(ValidateSpan(strong_signal=strength == "strong", signal_strength=strength)) as span:
            span.fields.http_status = self._memory.validate(validation).status
        self._note("memory.validate", qa_id=validation.qa_id, result=validation.result, signal_strength=strength)

    def _note(self, name: str, **data: object) -> None:
        self._record(Event(name, data))

    def _guarded(self, step: str, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except Exception as error:  # the one promise of this room to a run: whatever happens here, it goes on
            kind = error.code if isinstance(error, SignoffError) else "memory.failed"
            self._record(
                Event("memory.failed", {"step": step, "error.kind": kind, "error.message": str(error)}, "warning")
            )
            if not self._complained:
                self._complained = True
                self._say(f"memory: {error}; the run goes on without it")
            return None
