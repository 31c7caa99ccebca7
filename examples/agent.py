"""A small agent that asks before it acts: the whole control protocol in use.

    signoff wrap -- python examples/agent.py "ls -l" "rm -rf build"

Each argument is a shell command. Every one of them is announced, waits for a decision, and runs only when it was allowed.
"""

import subprocess
import sys

from signoff.codecli import Aborted, Client


def main(commands: list[str]) -> int:
    client = Client()
    failed = 0
    for command in commands:
        try:
            with client.request("shell", "exec", {"command": command}, rationale="the user asked for it") as call:
                if not call.allowed:
                    print(f"not run: {command} ({call.reason})", flush=True)
                    failed += 1
                    continue
                done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
                print(done.stdout, end="", flush=True)
                call.succeed({"exit_code": done.returncode})
        except Aborted as stop:
            print(f"stopped: {stop}", flush=True)
            return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
