"""No clause is forgotten and none is invented."""

from tests.clauses import clauses, proofs


def test_every_clause_is_proved_or_listed_open_and_every_proof_names_a_known_clause() -> None:
    known, proved = clauses(), proofs()
    unknown = sorted(set(proved) - set(known))
    forgotten = sorted(name for name, clause in known.items() if name not in proved and clause.open is None)
    stale = sorted(name for name, clause in known.items() if name in proved and clause.open is not None)
    print(f"{sum(name in proved for name in known)} proved, {sum(c.open is not None for c in known.values())} open")
    assert not unknown, f"tests name clauses nobody knows: {unknown}"
    assert not forgotten, f"neither proved nor listed open: {forgotten}"
    assert not stale, f"proved, so no longer open; take `open` out of requirements.toml: {stale}"
