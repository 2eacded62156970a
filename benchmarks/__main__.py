"""Asks the questions that are named, or all, and keeps the answers: ``./run bench [NAME…] [--quick] [--note TEXT]``."""

import argparse
import importlib
import importlib.util
import tempfile
from pathlib import Path

from benchmarks import report

# Each a module with ``run(quick: bool) -> dict``, which must be JSON.
NAMES = [
    name
    for name in ("crawl", "fetch", "frontier", "memory", "pages", "recovery", "search", "worker")
    if importlib.util.find_spec(f"benchmarks.{name}")
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="./run bench", description="Measures this project, and its peers beside it.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="small and once: shows that it works, keeps no results")
    parser.add_argument("--note", default="", help="kept with the results: what was special about this machine or run")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    directory = Path(tempfile.mkdtemp(prefix="orbweaver-bench-")) if options.quick else report.RESULTS
    for name in options.names or NAMES:
        print(f"--- {name}", flush=True)
        result = importlib.import_module(f"benchmarks.{name}").run(quick=options.quick)
        report.save(name, result, directory, note=options.note)
    report.write(directory)
    print(f"Results: {directory}")


if __name__ == "__main__":
    main()
