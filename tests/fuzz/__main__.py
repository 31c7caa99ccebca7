"""Fuzz targets with atheris: python -m tests.fuzz TARGET SECONDS DIRECTORY. `make fuzz` brings what it needs.

What breaks a promise is left in DIRECTORY as `crash-…`; once it is fixed, its shortest form goes to `corpus/`.
"""

import pathlib
import sys

import atheris  # type: ignore[import-not-found, unused-ignore]

with atheris.instrument_imports(include=["signoff"]):
    from tests.fuzz.seeds import SEEDS
    from tests.fuzz.targets import TARGETS


def main(name: str, seconds: str, directory: str) -> None:
    seeds = pathlib.Path(directory) / name
    seeds.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]):
        (seeds / f"seed-{number}").write_bytes(seed)
    limits = [
        f"-max_total_time={seconds}",
        "-max_len=2000",
        "-timeout=20",
        "-rss_limit_mb=1500",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], str(seeds), *limits, f"-artifact_prefix={seeds.parent}/{name}-"], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:4])
