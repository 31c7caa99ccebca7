"""What failed beside thousands of other tests, three times more by itself: broken, or only not at ease under load?

A test that fails here once is broken. One that never does is named, loudly, as something to mend; it does not hold up the rest,
since a red run nobody believes teaches people to ignore red runs. More than a few at once are never an accident.
"""

import json
import pathlib
import subprocess
import sys

FAILED = pathlib.Path(".venv/pytest/v/cache/lastfailed")
MOST = 3
TIMES = 3
TESTS_FAILED = 1  # pytest's own status for it; every other one means that the run itself went wrong


def main(status: int) -> int:
    failed = sorted(json.loads(FAILED.read_text())) if status == TESTS_FAILED and FAILED.exists() else []
    if not 0 < len(failed) <= MOST:
        return status
    print(f"\nagain, by themselves, {TIMES} times: {' '.join(failed)}", flush=True)
    for _ in range(TIMES):
        if subprocess.run([sys.executable, "-m", "pytest", *failed], check=False).returncode:
            return status
    print("\nUNSTEADY: failed beside the others, passed alone; mend them:", *failed, sep="\n  ", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
