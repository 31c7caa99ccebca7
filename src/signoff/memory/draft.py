"""A first version of something to remember, from what a run did. Pure; whether it is kept is the gatekeeper's decision."""

import re

from signoff.memory.interface import Candidate
from signoff.memory.signals import Observed

CONFIDENCE = 0.45
MOST_STEPS = 5
MOST_CONTEXT_LINES = 8
LONGEST_ANSWER = 20_000
LONGEST_QUESTION = 400
_TAGS = {
    "python": r"\b(?:python3?|pip|pytest|pyproject|uv|poetry)\b|\.py\b",
    "rust": r"\b(?:cargo|rustc|rust)\b|\.rs\b",
    "nodejs": r"\b(?:npm|pnpm|yarn|node|npx)\b|\.[jt]sx?\b",
    "go": r"\bgo (?:build|test|run|mod)\b|\.go\b",
    "docker": r"\b(?:docker|podman|Dockerfile)\b",
    "kubernetes": r"\b(?:kubectl|helm|k8s)\b",
    "git": r"\bgit\b",
    "make": r"\bmake\b|\bMakefile\b",
    "sql": r"\b(?:sqlite|postgres|psql|mysql)\b",
}


def draft(prompt: str, run: Observed, project_id: str, *, tags: tuple[str, ...] = ()) -> Candidate | None:
    """What this run could teach, or None if it did nothing that worked."""
    worked = [step for step in run.steps if step.ok and (step.command or step.files)]
    question = " ".join(prompt.split())
    if not worked or not question:
        return None
    lines = [
        "Steps:",
        *(f"{number}. {_told(step.command, step.files)}" for number, step in enumerate(worked[-MOST_STEPS:], 1)),
    ]
    said = _last_words(run.stdout)
    if said:
        lines += ["", "Answer:", *said]
    lines += _notes(run)
    answer = "\n".join(lines)[:LONGEST_ANSWER]
    return Candidate(
        project_id=project_id,
        question=f"How to: {question[:LONGEST_QUESTION]}",
        answer=answer,
        tags=tuple(dict.fromkeys((*tags, *(tag for tag, words in _TAGS.items() if re.search(words, answer))))),
        source="run",
        confidence=CONFIDENCE,
        run_id=run.run_id or None,
        calls=tuple(step.tool_call_id for step in worked[-MOST_STEPS:]),
    )


def _told(command: str, files: tuple[str, ...]) -> str:
    done = f"run `{command}`" if command else "change"
    return f"{done} ({', '.join(files)})" if files and command else f"{done} {', '.join(files)}".strip()


def _last_words(stdout: str) -> list[str]:
    lines = [line.rstrip() for line in stdout.splitlines() if line.strip()]
    return lines[-MOST_CONTEXT_LINES:]


def _notes(run: Observed) -> list[str]:
    """What failed on the way, so that nobody tries it again."""
    failed = [step for step in run.steps if not step.ok and step.command]
    if not failed:
        return []
    return [
        "",
        "Notes:",
        *(f"- `{step.command}` failed{': ' + step.error if step.error else ''}" for step in failed[:3]),
    ]
