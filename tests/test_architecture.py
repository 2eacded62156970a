"""Do imports in ``crawler/`` point one way, and are settings declared once?

Every arrow between two parts of the package is drawn from the source and looked up in ARROWS. A new one fails here:
either the code belongs elsewhere, or the table (and ARCHITECTURE.md) has to say why the arrow is right.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from scrapy.settings import default_settings

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "crawler" / "settings.py"

# "crawler" is the package itself: its version.
BOTTOM = {"addresses", "configuration", "crawler", "errors", "environment", "settings", "urls"}
# What may be judged without a frontier: of a URL, and of a host.
RULES = {"traps", "patterns", "host_lists", "file_types"}
FLOW = BOTTOM | RULES | {"robots", "frontier", "parsing", "storage", "search", "delivery"}
EVERYTHING = FLOW | {
    "embedded",
    "download",
    "render",
    "spiders",
    "middlewares",
    "pipelines",
    "progress",
    "items",
    "export",
    "backup",
    "console",
    "job",
    "demo",
    "guide",
    "snapshots",
    "api",
}

# A part, and what it may import besides itself. Nothing imports the commands.
ARROWS = {
    "crawler": set(),
    "errors": set(),
    "environment": {"errors"},
    "settings": {"environment"},
    "urls": {"errors"},
    "addresses": {"errors"},
    "configuration": {"errors"},
    "traps": BOTTOM,
    "patterns": BOTTOM,
    "host_lists": BOTTOM,
    "file_types": BOTTOM,
    "embedded": BOTTOM,
    "robots": BOTTOM,
    "frontier": BOTTOM | RULES | {"embedded", "robots"},
    "parsing": BOTTOM | {"robots"},
    "storage": BOTTOM,
    "search": BOTTOM,
    "delivery": BOTTOM,
    "download": BOTTOM | {"frontier"},
    "render": BOTTOM | {"download", "frontier", "middlewares"},
    "spiders": FLOW | {"items"},
    "middlewares": FLOW | {"download"},
    "items": {"parsing"},
    "pipelines": FLOW | {"items"},
    "export": BOTTOM | {"storage", "search", "parsing", "robots", "pipelines"},
    "backup": FLOW | {"pipelines"},
    "progress": BOTTOM | {"frontier"},
    "console": BOTTOM | {"frontier"},
    "job": BOTTOM | {"frontier", "patterns", "progress", "pipelines"},
    "demo": BOTTOM,
    "commands": EVERYTHING,
}

READERS = {"get", "getbool", "getint", "getfloat", "getlist", "getdict", "getdictorlist"}


# --- Import arrows ---------------------------------------------------------------------------


def read_sources() -> dict[str, tuple[str, bool]]:
    """Module name → its source, and whether it is a package."""
    sources = {}
    for path in sorted((ROOT / "crawler").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        sources[".".join(parts[:-1] if is_package else parts)] = (path.read_text(), is_package)
    return sources


def find_imports(module: str, source: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported, wherever in the file, type-checking blocks included."""
    for node in ast.walk(ast.parse(source, filename=module)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                kept = package[: len(package) - node.level + 1]
                base = ".".join([*kept, base] if base else kept)
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            yield from ((node.lineno, str(name.value)) for name in node.args[:1] if isinstance(name, ast.Constant))


def find_part(name: str, parts: set[str]) -> str:
    """``crawler.frontier.lease`` → ``frontier``; a name in the package itself → ``crawler``."""
    inner = name.split(".")[1:2]
    return inner[0] if inner and inner[0] in parts else "crawler"


def find_forbidden_arrows(sources: dict[str, tuple[str, bool]]) -> list[str]:
    parts = {name.split(".")[1] for name in sources if "." in name} | ARROWS.keys() | EVERYTHING
    complaints = []
    for module, (source, is_package) in sources.items():
        tail = find_part(module, parts)
        if tail not in ARROWS:
            complaints.append(f"{module}: the part {tail!r} has no row in ARROWS")
            continue
        for line, name in find_imports(module, source, is_package):
            head = find_part(name, parts)
            if name.split(".")[0] == "crawler" and head != tail and head not in ARROWS[tail]:
                complaints.append(f"{module}:{line} imports {name}: the arrow {tail} → {head} is not drawn")
    return complaints


def test_imports_point_one_way():
    complaints = find_forbidden_arrows(read_sources())
    assert not complaints, "\n" + "\n".join(complaints)


@pytest.mark.parametrize(
    ("module", "source", "arrow"),
    [
        ("crawler.frontier.lease", "from crawler.spiders.broad import BroadSpider", "frontier → spiders"),
        ("crawler.frontier.lease", "import crawler.middlewares.robots", "frontier → middlewares"),
        ("crawler.frontier.lease", "from crawler import progress", "frontier → progress"),
        ("crawler.frontier.lease", "from ..pipelines import pages", "frontier → pipelines"),
        ("crawler.frontier.lease", "from .. import commands", "frontier → commands"),
        ("crawler.frontier.lease", "def late():\n    import crawler.demo", "frontier → demo"),
        ("crawler.frontier.lease", "importlib.import_module('crawler.spiders')", "frontier → spiders"),
        ("crawler.parsing.links", "from crawler.frontier import keys", "parsing → frontier"),
        ("crawler.embedded", "from crawler.frontier import keys", "embedded → frontier"),
        ("crawler.spiders.broad", "from crawler.commands.seed import Command", "spiders → commands"),
        ("crawler.settings", "from crawler.urls import canonicalise", "settings → urls"),
        ("crawler.errors", "from crawler import __version__", "errors → crawler"),
        ("crawler.frontier.lease", "from crawler import __version__\nfrom crawler.errors import Refused", None),
        ("crawler.frontier.lease", "from . import keys\nfrom .keys import host_key\nimport crawlers.spiders", None),
        ("crawler.commands.crawl", "from crawler.spiders.broad import BroadSpider", None),
    ],
)
def test_the_checker_sees_an_arrow(module, source, arrow):
    complaints = find_forbidden_arrows({module: (source, False)})
    if arrow is None:
        assert complaints == []
    else:
        assert len(complaints) == 1
        assert complaints[0].startswith(f"{module}:")
        assert arrow in complaints[0]


def test_the_checker_reads_relative_imports_of_a_package():
    [complaint] = find_forbidden_arrows({"crawler.frontier": ("from ..spiders import broad", True)})
    assert "crawler.spiders.broad" in complaint


def test_a_new_part_needs_a_row():
    [complaint] = find_forbidden_arrows({"crawler.helpers": ("", False)})
    assert "'helpers' has no row" in complaint


# --- Settings --------------------------------------------------------------------------------


def find_settings(source: str) -> dict[str, ast.Assign | ast.AnnAssign]:
    return {
        target.id: node
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id.isupper()
    }


def find_unexplained(source: str) -> list[str]:
    """Our own settings with no comment beside them, nor above them in their block of lines."""
    lines = source.splitlines()
    commented = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    unexplained = []
    for name, node in find_settings(source).items():
        beside = commented & set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        above = node.lineno - 1
        while above and lines[above - 1].strip() and not lines[above - 1].startswith("#"):
            above -= 1
        explained = beside or (above and lines[above - 1].startswith("#"))
        if not explained and not hasattr(default_settings, name):
            unexplained.append(f"crawler/settings.py:{node.lineno} {name} does not say why")
    return unexplained


def find_second_defaults(module: str, source: str, names: set[str]) -> list[str]:
    """Settings of ours that are read with a fallback, which another place would not know."""
    found = []
    for node in ast.walk(ast.parse(source, filename=module)):
        if not isinstance(node, ast.Call):
            continue
        arguments = [*node.args, *(word.value for word in node.keywords)]
        if isinstance(node.func, ast.Attribute) and node.func.attr in READERS:
            key, has_fallback = arguments[:1], len(arguments) > 1
        elif isinstance(node.func, ast.Name) and node.func.id == "getattr":
            key, has_fallback = arguments[1:2], len(arguments) > 2
        else:
            continue
        if has_fallback and isinstance(key[0], ast.Constant) and key[0].value in names:
            found.append(f"{module}:{node.lineno} reads {key[0].value} with a second default")
    return found


def test_every_setting_of_ours_says_why():
    unexplained = find_unexplained(SETTINGS.read_text())
    assert not unexplained, "\n" + "\n".join(unexplained)


def test_no_setting_has_a_second_default():
    names = set(find_settings(SETTINGS.read_text()))
    found = [
        line for module, (source, _) in read_sources().items() for line in find_second_defaults(module, source, names)
    ]
    assert not found, "\n" + "\n".join(found)


def test_the_checker_sees_a_setting_that_does_not_say_why():
    source = "A = 1  # one\n\n# two\nB = 2\nC = {\n    1: 2,\n}\n\nD = 4\nBOT_NAME = 'x'\n"
    [complaint] = find_unexplained(source)
    assert " D does" in complaint


def test_the_checker_sees_a_second_default():
    source = (
        "settings.getint('MAX_DEPTH', 3)\n"
        "self.settings.get('MAX_DEPTH', default=3)\n"
        "getattr(settings, 'MAX_DEPTH', 3)\n"
        "settings.getint('MAX_DEPTH')\n"
        "headers.get('Retry-After', 0)\n"
    )
    assert [line.split()[0] for line in find_second_defaults("m", source, {"MAX_DEPTH"})] == ["m:1", "m:2", "m:3"]
