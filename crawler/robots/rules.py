"""May this agent fetch this URL, and which line of robots.txt says so?

RFC 9309, read as Google's published parser reads it, wherever Protego reads it otherwise. Google and the RFC differ in
one place: Google compares "%7E" and "~" as they are written, the RFC calls them the same. Where that matters a URL is
allowed only if both readings allow it: no site owner is surprised by a fetch.

``parse`` is called once per host, ``decide`` for every page; what an agent may do is compiled when it first asks.
"""

import re
from typing import NamedTuple

from protego import Protego

from crawler.robots.lines import Directive, Kind, read_directives
from crawler.robots.patterns import Decision, Matcher, read_pattern, spell_pattern, spell_url
from crawler.urls import MAX_URL_LENGTH

__all__ = ["Decision", "Rules", "find_token", "parse"]

MAX_SITEMAPS = 1000
MAX_SHOWN = 500  # characters of a line that a Decision carries
_AGENTS_IN_MEMORY = 64
_EVERYBODY = "*"
_ITSELF = Decision(True)  # RFC 9309 section 2.2.2: /robots.txt is implicitly allowed


class _Group(NamedTuple):
    """What one agent has to obey."""

    as_written: Matcher
    spelled: Matcher  # the same object, when there is no difference
    crawl_delay: float | None


class _Named:
    """The places where one agent is named. Several agents share a list of rules, and later get more of their own."""

    __slots__ = ("delays", "rules")

    def __init__(self) -> None:
        self.rules: list[list[Directive]] = []
        self.delays: list[list[bytes]] = []


class Rules:
    def __init__(self, body: bytes) -> None:
        self.sitemaps: list[str] = []
        self._named: dict[str, _Named] = {}
        self._groups: dict[str, _Group] = {}
        self._read(body)

    def decide(self, url: str, user_agent: str) -> Decision:
        group = self._groups.get(user_agent) or self._choose(user_agent)
        path, spelled = spell_url(url)
        if path == "/robots.txt":
            return _ITSELF
        decision = group.as_written.find(path)
        if decision.allowed and (group.spelled is not group.as_written or spelled is not path):
            second = group.spelled.find(spelled)
            return decision if second.allowed else second
        return decision

    def crawl_delay(self, user_agent: str) -> float | None:
        """In seconds, finite and not negative, of the same group that ``decide`` obeys. It may still be absurd."""
        return (self._groups.get(user_agent) or self._choose(user_agent)).crawl_delay

    # --- Reading ---------------------------------------------------------------------------------

    def _read(self, body: bytes) -> None:
        rules: list[Directive] = []
        delays: list[bytes] = []
        agents: dict[str, None] = {}
        sitemaps: dict[str, None] = {}
        for directive in read_directives(body):
            match directive.kind:
                case Kind.AGENT:
                    if rules:  # Only rules end a list of agents: RFC 9309 section 2.2.1. Nothing else does.
                        rules, delays, agents = [], [], {}
                    elif delays:  # But a delay is for those who were named before it, as Protego has it.
                        delays = []
                    self._name(_read_token(directive.value), agents, rules, delays)
                case Kind.SITEMAP:
                    if len(sitemaps) < MAX_SITEMAPS and 0 < len(directive.value) <= MAX_URL_LENGTH:
                        sitemaps[directive.value.decode("utf-8", "replace")] = None
                case Kind.DELAY:
                    delays.append(directive.value)
                case _:
                    rules.append(directive)
        self.sitemaps = list(sitemaps)

    def _name(self, token: str, agents: dict[str, None], rules: list[Directive], delays: list[bytes]) -> None:
        named = self._named.setdefault(token, _Named())
        if token not in agents:
            agents[token] = None
            named.rules.append(rules)
        if not any(known is delays for known in named.delays[-1:]):
            named.delays.append(delays)

    # --- Choosing --------------------------------------------------------------------------------

    def _choose(self, user_agent: str) -> _Group:
        named = self._named.get(find_token(user_agent)) or self._named.get(_EVERYBODY) or _Named()
        rules = [
            (read_pattern(directive.value), _show(directive))
            for block in named.rules
            for directive in block
            if directive.value  # an empty Disallow forbids nothing, an empty Allow adds nothing
        ]
        rules += [
            (folder, decision) for pattern, decision in rules if decision.allowed and (folder := _find_folder(pattern))
        ]
        spelled = [(spell_pattern(pattern), decision) for pattern, decision in rules]
        as_written = Matcher(rules)
        if len(self._groups) >= _AGENTS_IN_MEMORY:
            self._groups.clear()
        group = self._groups[user_agent] = _Group(
            as_written, as_written if spelled == rules else Matcher(spelled), _read_delay(named.delays)
        )
        return group


def parse(text: str | bytes) -> Rules:
    """Never raises, whatever the text is."""
    return Rules(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)


def find_token(user_agent: str) -> str:
    """The product token that site owners know an agent by: ``orbweaver`` of "Orbweaver/0.1 (+https://…)".

    What is not one token ("Foo Bar") is nobody's name: Google lets only the rules for everybody apply to it.
    """
    disguised = re.search(r"\(compatible; *+([^\s/;()]++)", user_agent, re.IGNORECASE)
    product = disguised[1] if disguised else re.split(r"[/(]", user_agent, maxsplit=1)[0].strip()
    token = re.match(r"[A-Za-z_-]+", product)
    # A digit ends a token in robots.txt, so "Foobot2" has to listen to what is said to "Foobot".
    return token[0].lower() if token and " " not in product else product.lower()


def _read_token(value: bytes) -> str:
    """Of a User-agent line, Google reads the letters at its beginning, and "* and more" still means everybody."""
    if value[:1] == b"*" and not value[1:2].strip():
        return _EVERYBODY
    letters = re.match(rb"[A-Za-z_-]*", value)
    return letters[0].decode().lower() if letters else ""


def _find_folder(pattern: str) -> str | None:
    """Google: who allows /folder/index.html means /folder/ too."""
    folder, slash, page = pattern.rpartition("/")
    return f"{folder}/$" if slash and page.startswith("index.htm") else None


def _read_delay(blocks: list[list[bytes]]) -> float | None:
    values = [value.decode("ascii", "replace") for block in blocks for value in block]
    lines = [f"Crawl-delay: {value}" for value in values if value.isprintable()]  # at others Protego might split
    return Protego.parse("\n".join(["User-agent: *", *lines])).crawl_delay(_EVERYBODY) if lines else None


def _show(directive: Directive) -> Decision:
    """A line is shown in terminals: no control character of a stranger goes there."""
    text = directive.line[: MAX_SHOWN * 4].replace(b"\t", b" ").decode("utf-8", "replace")[:MAX_SHOWN]
    if not text.isprintable():
        text = "".join(character if character.isprintable() else "�" for character in text)
    return Decision(directive.kind is Kind.ALLOW, directive.line_number, text)
