"""What did the benchmarks find? One JSON file each, a table of them all, and a picture of the comparison."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from crawler.embedded.redis import find_server

RESULTS = Path(__file__).parent / "results"


def describe_machine() -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    version = subprocess.run([find_server(), "--version"], capture_output=True, text=True, check=True).stdout
    words = dict(word.split("=", 1) for word in version.split() if "=" in word)
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "ram_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "redis": words.get("v", version.strip()),
    }


def save(name: str, result: dict[str, Any], directory: Path, *, note: str = "") -> None:
    load = round(psutil.getloadavg()[1] / (os.cpu_count() or 1), 1)
    record = {
        "benchmark": name,
        "measured": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "load_per_core_at_end": load,  # well above 1: others used the machine too, and wall times mean little
        **({"note": note} if note else {}),
        "result": result,
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def write(directory: Path) -> None:
    """The table and the picture, from the JSON files that are there."""
    records = {path.stem: json.loads(path.read_text()) for path in sorted(directory.glob("*.json"))}
    (directory / "README.md").write_text("\n".join(_table(records)) + "\n")
    for name, draw in _PICTURES.items():
        if name in records:
            draw(records[name]["result"], directory / f"{name}.svg")


def _table(records: dict[str, Any]) -> list[str]:
    lines = ["# Results", "", "Written by `./run bench`; each JSON file has every single run.", ""]
    for name, record in records.items():
        machine = record["machine"]
        lines += [
            f"## {name}",
            "",
            f"{record['measured']}: {machine['cpu']}, {machine['cores']} cores, {machine['ram_gb']} GB, "
            f"{machine['kernel']}, Python {machine['python']}, Redis {machine['redis']}; "
            f"load {record['load_per_core_at_end']} per core at the end.",
            *(["", record["note"]] if "note" in record else []),
            "",
            *_TABLES.get(name, _plain)(record["result"]),
            "",
        ]
        if name in _PICTURES:
            lines += [f"![{name}]({name}.svg)", ""]
    return lines[:-1]


def _crawl(result: dict[str, Any]) -> list[str]:
    rounds = max(run["round"] for run in result["runs"])
    lines = [
        f"{result['pages']:,} pages of 40 links, medians of {rounds} rounds in turn; every round fetched every page.",
        "",
        "| | pages per CPU-second | the same with Redis's CPU | pages per second | Redis CPU, s |",
        "| --- | --- | --- | --- | --- |",
    ]
    for who, row in result["medians"].items():
        lines.append(
            f"| {who} | {row['pages_per_cpu_second']:.0f} | {row['pages_per_cpu_second_with_redis']:.0f} "
            f"| {row['pages_per_second']:.0f} | {row['redis_cpu']:.2f} |"
        )
    lines += ["", "| ratio | per CPU-second | the same with Redis's CPU | per second |", "| --- | --- | --- | --- |"]
    for pair, row in result["ratios"].items():
        values = [row[key] for key in ("pages_per_cpu_second", "pages_per_cpu_second_with_redis", "pages_per_second")]
        lines.append(f"| {pair} | " + " | ".join(f"{value:.1f}" for value in values) + " |")
    start_up = ", ".join(f"{who} {seconds:.2f} s" for who, seconds in result["start_up_cpu"].items())
    return [*lines, "", f"Part of it is the start of the process, in CPU seconds: {start_up}."]


def _fetch(result: dict[str, Any]) -> list[str]:
    lines = [
        f"CPU of the whole process, in ms a page: Scrapy's engine with one handler or the other; {result['pages']:,} "
        f"pages, medians of {result['rounds']} rounds in turn.",
        "",
        "| pages | ours | stock Scrapy | ours / stock |",
        "| --- | --- | --- | --- |",
    ]
    for kind, row in result["medians"].items():
        lines.append(f"| {kind} | {row['ours']:.2f} | {row['stock']:.2f} | {row['ratio']:.2f} |")
    return lines


def _frontier(result: dict[str, Any]) -> list[str]:
    sizes = [int(size) for size in result["medians"]]
    lines = [
        f"URLs per second of Redis CPU, by the number of URLs queued; medians of {result['rounds']} rounds in turn.",
        "",
        "| | " + " | ".join(f"{size:,}" for size in sizes) + " | last to first |",
        "| --- |" + " --- |" * (len(sizes) + 1),
    ]
    for question, ratio in result["largest_to_smallest"].items():
        cells = [rows[question]["per_redis_cpu_second"] for rows in result["medians"].values()]
        lines.append(f"| {question} | " + " | ".join(f"{cell:,}" for cell in cells) + f" | {ratio:g} |")
    return lines


def _memory(result: dict[str, Any]) -> list[str]:
    lines = [
        f"Bytes of Redis for a URL of {result['url_length']} characters, {result['urls_per_host']} of each host.",
        "",
        "| | | URLs | bytes per URL |",
        "| --- | --- | --- | --- |",
    ]
    return lines + [f"| {r['what']} | {r['who']} | {r['urls']:,} | {r['bytes_per_url']:g} |" for r in result["rows"]]


def _pages(result: dict[str, Any]) -> list[str]:
    lines = [f"CPU of the process, in ms a page; medians of {result['rounds']} rounds in turn."]
    for kind, steps in result["medians"].items():
        known = result["sets"][kind]
        peers = list(dict.fromkeys(who for row in steps.values() for who in row if f"ratio {who}" in row))
        lines += [
            "",
            f"| {known['pages']} pages: {kind}, {known['mean_bytes'] / 1000:.0f} kB | this project | "
            + " | ".join(f"{peer} | times ours" for peer in peers)
            + " |",
            "| --- |" + " --- |" * (1 + 2 * len(peers)),
        ]
        for step, row in steps.items():
            cells = [f"{row['this project']:.2f}"]
            for peer in peers:
                cells += [f"{row[peer]:.2f}", f"{row[f'ratio {peer}']:.1f}"] if peer in row else ["", ""]
            lines.append(f"| {step} | " + " | ".join(cells) + " |")
    return lines


def _search(result: dict[str, Any]) -> list[str]:
    lines = [
        result["corpus"],
        "",
        "| | documents | documents per second | CPU ms a document | size, MB |",
        "| --- | --- | --- | --- | --- |",
    ]
    for who, row in result["indexing"].items():
        cpu = "" if row["cpu_ms"] is None else f"{row['cpu_ms']:.2f}"
        size = row["bytes"] / 1e6
        lines.append(f"| {who} | {row['documents']:,} | {row['per_second']:,.0f} | {cpu} | {size:.0f} |")
    for title, kind in (("with snippets", "with_snippets"), ("without snippets", "without_snippets")):
        lines += [
            "",
            f"| top ten, {title}: p50, p99 in ms | " + " | ".join(result["indexing"]) + " |",
            "| --- |" + " --- |" * len(result["indexing"]),
        ]
        for question, row in result[kind].items():
            cells = [
                f"{row[who]['p50']:.2f}, {row[who]['p99']:.2f}" if who in row else "" for who in result["indexing"]
            ]
            lines.append(f"| {question} | " + " | ".join(cells) + " |")
    return lines


def _recovery(result: dict[str, Any]) -> list[str]:
    lines = [
        f"{result['workers']} workers, one killed; lock of {result['lock_seconds']} s. Seconds from the kill until "
        "the last URL it held was fetched by another.",
        "",
        "| | URLs held | seconds | slowest |",
        "| --- | --- | --- | --- |",
    ]
    for kind, slowest in sorted(result["slowest_seconds"].items()):
        runs = [run for run in result["runs"] if run["kind"] == kind]
        held, seconds = (", ".join(f"{run[key]:g}" for run in runs) for key in ("held", "seconds"))
        lines.append(f"| {kind} | {held} | {seconds} | {slowest:g} |")
    return lines


def _worker(result: dict[str, Any]) -> list[str]:
    return [
        f"A worker that knows {result['urls']:,} URLs and crawls {result['pages']:,} pages: "
        f"at most {result['peak_rss_mb']} MB resident."
    ]


def _plain(result: dict[str, Any]) -> list[str]:
    return ["```json", json.dumps(result, indent=1), "```"]


_TABLES = {
    "crawl": _crawl,
    "fetch": _fetch,
    "frontier": _frontier,
    "memory": _memory,
    "pages": _pages,
    "recovery": _recovery,
    "search": _search,
    "worker": _worker,
}


def _axes(width: float, height: float) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _draw_crawl(result: dict[str, Any], path: Path) -> None:
    figure, axes = _axes(8, 2.6)
    names = list(result["medians"])[::-1]
    values = [result["medians"][name]["pages_per_cpu_second"] for name in names]
    bars = axes.barh(names, values, color=["#2a6f97" if name.startswith("this") else "#b8b8b8" for name in names])
    axes.bar_label(bars, fmt="%.0f", padding=4)
    axes.set_xlabel("pages per CPU-second of the crawler (more is better)")
    figure.savefig(path, metadata={"Date": None})


def _draw_recovery(result: dict[str, Any], path: Path) -> None:
    figure, axes = _axes(8, 2.2)
    kinds = sorted(result["slowest_seconds"])
    for place, kind in enumerate(kinds):
        seconds = [run["seconds"] for run in result["runs"] if run["kind"] == kind]
        axes.plot(seconds, [place] * len(seconds), "o", color="#2a6f97", alpha=0.6)
    axes.axvline(15, color="#c1121f", linestyle="--", linewidth=1)
    axes.text(15.1, len(kinds) - 0.55, "target", color="#c1121f")
    axes.set(yticks=range(len(kinds)), yticklabels=kinds, ylim=(-0.5, len(kinds) - 0.3), xlim=(0, None))
    axes.set_xlabel("seconds from kill -9 to the last URL fetched elsewhere, one dot a repeat")
    figure.savefig(path, metadata={"Date": None})


def _draw_frontier(result: dict[str, Any], path: Path) -> None:
    figure, axes = _axes(8, 3.2)
    sizes = [int(size) for size in result["medians"]]
    for question in result["largest_to_smallest"]:
        rates = [rows[question]["per_redis_cpu_second"] / 1000 for rows in result["medians"].values()]
        axes.plot(sizes, rates, "o-", label=question)
    axes.set(xscale="log", ylim=(0, None), xlabel="URLs queued", ylabel="thousand URLs\nper second of Redis CPU")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, metadata={"Date": None})


def _draw_memory(result: dict[str, Any], path: Path) -> None:
    rows = result["rows"][::-1]
    figure, axes = _axes(8, 0.4 * len(rows) + 0.8)
    colours = ["#2a6f97" if row["who"].startswith("this") else "#b8b8b8" for row in rows]
    bars = axes.barh(range(len(rows)), [row["bytes_per_url"] for row in rows], color=colours)
    axes.bar_label(bars, fmt="%.0f", padding=4)
    axes.set(yticks=range(len(rows)), yticklabels=[f"{row['what']}: {row['who']}" for row in rows])
    axes.set_xlabel("bytes of Redis per URL (less is better)")
    figure.savefig(path, metadata={"Date": None})


_PICTURES = {"crawl": _draw_crawl, "frontier": _draw_frontier, "memory": _draw_memory, "recovery": _draw_recovery}
