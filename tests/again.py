"""What failed beside thousands of other tests, three times more by itself: broken, or only not at ease under load?

Only an answer for whoever mends it: the run stays red either way.
"""

import json
import pathlib
import subprocess
import sys

FAILED = pathlib.Path(".venv/pytest/v/cache/lastfailed")
MOST = 3  # more at once are never an accident
TIMES = 3
TESTS_FAILED = 1  # pytest's own status for it; every other one means that the run itself went wrong


def main(status: int) -> int:
    failed = sorted(json.loads(FAILED.read_text())) if status == TESTS_FAILED and FAILED.exists() else []
    if 0 < len(failed) <= MOST:
        print(f"\nagain, by themselves, {TIMES} times: {' '.join(failed)}", flush=True)
        command = [sys.executable, "-m", "pytest", *failed]
        passed = [subprocess.run(command, check=False).returncode == 0 for _ in range(TIMES)]
        print(
            f"\n{'UNSTEADY: passed alone' if all(passed) else 'BROKEN: failed alone too'}",
            *failed,
            sep="\n  ",
            flush=True,
        )
    return status


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
