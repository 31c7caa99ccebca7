"""signoff grants, as a person uses it: what an approval saved is seen, taken back, and asked about again."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from signoff.config import amendments
from signoff.config.project import project_id
from signoff.config.rules import Places
from signoff.domain.review import ToolRule
from tests.cli.program import signoff

HAND_WRITTEN = 'prefix_rule(\n    pattern=["cargo", ["test", "check"]],\n    decision="allow",\n)\n'
YEAR_2100 = 4_102_444_800_000


@pytest.fixture
def places(home: Path) -> Places:
    project = home / "shop"
    project.mkdir()
    return Places({"HOME": str(home)}, project, project_id(project))


@pytest.fixture
def granted(places: Places) -> Places:
    """One of every kind, and a rule that a person wrote into the same file."""
    places.user_rules.mkdir(parents=True)
    (places.user_rules / "default.rules").write_text(HAND_WRITTEN, encoding="utf-8")
    amendments.remember(places.user_rules, ("npm", "test"))
    amendments.remember(places.project_rules, ("make", "it's"))
    amendments.grant(places.user_grants, ("git", "push"), YEAR_2100, now_ms=0)
    amendments.grant(places.project_grants, ("rm", "\x1b[2J"), 1_000, now_ms=0)
    return places


def test_golden_list(granted: Places, golden: Callable[[str, str], None]) -> None:
    listed = signoff("grants", "list", cwd=granted.project)
    assert (listed.status, listed.err) == (0, "")
    without_ids = "".join(f"{'id':8}{line[8:]}\n" for line in listed.out.splitlines())
    golden("grants/list.txt", without_ids)
    found = json.loads(signoff("grants", "list", "--json", cwd=granted.project).out)
    for one in found["grants"]:
        one["id"], one["file"] = "…", Path(one["file"]).name
    golden("grants/list.json", json.dumps(found, indent=2) + "\n")


def test_nothing_granted_is_no_error(places: Places) -> None:
    assert signoff("grants", "list", cwd=places.project) == (0, "", "Nothing is granted beyond the moment.\n")
    assert signoff("grants", "list", "--json", cwd=places.project).out == '{\n  "grants": []\n}\n'


def test_what_is_revoked_is_gone_and_the_rest_stays(granted: Places) -> None:
    listed = signoff("grants", "list", cwd=granted.project).out
    for line in listed.splitlines():
        revoked = signoff("grants", "revoke", line.split()[0][:6], cwd=granted.project)
        assert (revoked.status, revoked.out) == (0, "")
        assert revoked.err.startswith("revoked: ")
    assert signoff("grants", "list", cwd=granted.project).out == ""
    assert (granted.user_rules / "default.rules").read_text(encoding="utf-8") == HAND_WRITTEN


@pytest.mark.parametrize(("name", "said"), [("zzzz", "no grant has"), ("", "no grant has")])
def test_an_id_that_fits_none_is_refused(name: str, said: str, granted: Places) -> None:
    ended = signoff("grants", "revoke", name, cwd=granted.project)
    assert ended.status == 2
    assert said in ended.err


def test_what_a_tool_was_allowed_is_listed_and_revoked_and_the_policy_is_as_before(places: Places) -> None:
    places.user_policy.parent.mkdir(parents=True)
    mine = '# mine\n[[rule]]\ntool = "x"\ndecision = "ask"\n'
    places.user_policy.write_text(mine, encoding="utf-8")
    amendments.allow_tool(places.user_policy, ToolRule("calendar.create", paths=("/srv/\x1b[2J",)), None)
    (line,) = signoff("grants", "list", cwd=places.project).out.splitlines()
    assert line.endswith("every project  until revoked            the tool calendar.create for /srv/‹ESC›[2J")
    (one,) = json.loads(signoff("grants", "list", "--json", cwd=places.project).out)["grants"]
    assert one["rule"] == {"tool": "calendar.create", "paths": ["/srv/\x1b[2J"]}
    assert signoff("grants", "revoke", line.split()[0], cwd=places.project).status == 0
    assert places.user_policy.read_text(encoding="utf-8") == mine
