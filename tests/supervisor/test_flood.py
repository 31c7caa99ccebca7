"""A hundred thousand requests of a real child: each judged, recorded and answered once, and nothing left behind."""

import json
import os
import pathlib
import subprocess
import sys

from signoff.ledger.verify import verify
from tests.clauses import requirement

REQUESTS, WINDOW = 100_000, 500
LIMIT = 1_500  # seconds; only so that a hang ends

CHILD = """
import json, sys
sys.stdin.readline()
answered = set()
for first in range(0, REQUESTS, WINDOW):
    for number in range(first, first + WINDOW):
        command = "rm -rf /" if number % 10 == 0 else "ls src"
        args = json.dumps({"command": command})
        sys.stdout.write('{"v":1,"type":"tool.request","ts":1,"id":"%d","tool":"shell","action":"exec","args":%s,"requires_policy":true}\\n' % (number, args))
    sys.stdout.flush()
    for _ in range(WINDOW):
        answer = json.loads(sys.stdin.readline())
        assert (answer["decision"] == "deny") == (int(answer["id"]) % 10 == 0), answer
        answered.add(answer["id"])
        ok = json.dumps(answer["decision"] == "allow")
        sys.stdout.write('{"v":1,"type":"tool.result","ts":1,"id":"%s","ok":%s,"output":null}\\n' % (answer["id"], ok))
print(json.dumps(len(answered)))
"""


@requirement("MEM-041", "MEM-044")
def test_a_hundred_thousand_requests_are_answered_once_and_recorded(tmp_path: pathlib.Path) -> None:
    program = pathlib.Path(sys.executable).with_name("signoff")
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    child = f"REQUESTS, WINDOW = {REQUESTS}, {WINDOW}\n{CHILD}"
    command = [str(program), "wrap", "--deny-exit", "child", "--", sys.executable, "-c", child]
    done = subprocess.run(command, capture_output=True, env=environ, cwd=tmp_path, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout.splitlines()[-1]) == REQUESTS
    (ledger,) = (tmp_path / "state/signoff/runs").glob("*.jsonl")
    with ledger.open("rb") as file:
        assert verify(file).finding is None
    records = ledger.read_bytes()
    assert {kind: records.count(b'"type":"%b"' % kind) for kind in (b"request", b"decision", b"result")} == {
        b"request": REQUESTS,
        b"decision": REQUESTS,
        b"result": REQUESTS,
    }
