"""Which pages does the sample site have, and what HTML are they?

Beside ordinary pages it has one of each thing a crawler must cope with: a link to nowhere, a redirect, a section that
robots.txt closes, a slow page, and a page linked twice with its query in a different order. `site` serves the result.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape

from crawler.demo.content import DRAFTS, GENERA, NOTES, REGIONS, SPECIES, TOPICS, Note, Species

ENCYCLOPEDIA, LABORATORY, NOTEBOOK = SECTIONS = ("encyclopedia", "laboratory", "notebook")
TITLES = dict(zip(SECTIONS, ("The Orb Weaver Encyclopedia", "The Silk Laboratory", "Field Notebook"), strict=True))
SLOW_SECONDS = 2.0  # longer than any other answer, shorter than any timeout

# The absolute URL of a path of a section: sections are hosts of their own where the machine has several.
Locate = Callable[[str, str], str]


@dataclass(frozen=True)
class Page:
    body: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0


def build_pages(locate: Locate) -> dict[str, Page]:
    """Every page by its URL, robots.txt aside. A query stands in its sorted form."""
    writer = _Writer(locate)
    writer.write_encyclopedia()
    writer.write_laboratory()
    writer.write_notebook()
    return writer.pages


class _Writer:
    def __init__(self, locate: Locate) -> None:
        self.pages: dict[str, Page] = {}
        self._locate = locate

    def _link(self, section: str, path: str, text: str) -> str:
        return f'<a href="{escape(self._locate(section, path))}">{escape(text)}</a>'

    def _species(self, species: Species) -> str:
        link = self._link(ENCYCLOPEDIA, f"/species/{species.slug}", species.name)
        return f"<i>{link}</i>, {escape(species.common)}"

    def _add(
        self,
        section: str,
        path: str,
        title: str,
        summary: str,
        *parts: str,
        delay_seconds: float = 0.0,
    ) -> None:
        sections = " · ".join(self._link(other, "/", TITLES[other]) for other in SECTIONS)
        html = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{escape(title)} – {TITLES[section]}</title>
<meta name="description" content="{escape(summary)}">
<style>body {{ font: 1.1em/1.5 Georgia, serif; margin: 2em auto; max-width: 40em; padding: 0 1em }}</style>
</head>
<body>
<nav>{sections}</nav>
<main>
<h1>{escape(title)}</h1>
<p>{escape(summary)}</p>
{chr(10).join(parts)}
</main>
</body>
</html>
"""
        headers = {"Content-Type": "text/html; charset=utf-8"}
        self.pages[self._locate(section, path)] = Page(html, headers=headers, delay_seconds=delay_seconds)

    def write_encyclopedia(self) -> None:
        add, link = self._add, self._link
        add(
            ENCYCLOPEDIA, "/", "Orb weavers of the world",
            f"{len(SPECIES)} spiders that catch flying insects with a wheel of silk, and a few that found another way.",
            _list([
                link(ENCYCLOPEDIA, "/species/", "All species"),
                link(ENCYCLOPEDIA, "/genera/", "All genera"),
                # People know this one by its everyday address, which moved long ago.
                link(ENCYCLOPEDIA, "/garden-spider", "The garden spider, our most read article"),
            ]),
            "<h2>By region</h2>",
            _list(link(ENCYCLOPEDIA, f"/regions/{slug}", name) for slug, (name, _) in REGIONS.items()),
        )  # fmt: skip
        moved = {"Location": self._locate(ENCYCLOPEDIA, "/species/araneus-diadematus")}
        self.pages[self._locate(ENCYCLOPEDIA, "/garden-spider")] = Page("", 301, moved)

        by_size = "European species by size"
        add(
            ENCYCLOPEDIA, "/species/", "All species", "In the order of their genera.",
            _list(map(self._species, SPECIES)),
            "<p>Also: "
            # The same page twice, for whoever does not sort queries.
            + link(ENCYCLOPEDIA, "/species/?order=size&region=europe", by_size)
            + " ("
            + link(ENCYCLOPEDIA, "/species/?region=europe&order=size", "permanent link")
            + ").</p>",
        )  # fmt: skip
        european = sorted((one for one in SPECIES if "europe" in one.regions), key=lambda one: -one.female_mm)
        add(
            ENCYCLOPEDIA, "/species/?order=size&region=europe", by_size,
            f"From the {european[0].common} down to the {european[-1].common}.",
            _list(f"{self._species(one)}: {one.female_mm} mm" for one in european),
        )  # fmt: skip
        for number, species in enumerate(SPECIES):
            self._write_species(number, species)

        add(
            ENCYCLOPEDIA, "/genera/", "All genera", f"{len(GENERA)} genera, from the familiar to the odd.",
            _list(link(ENCYCLOPEDIA, f"/genera/{genus.lower()}", genus) for genus in sorted(GENERA)),
        )  # fmt: skip
        for genus, summary in GENERA.items():
            members = [one for one in SPECIES if one.genus == genus]
            add(
                ENCYCLOPEDIA, f"/genera/{genus.lower()}", f"The genus {genus}", summary,
                f"<p>{_count(len(members), 'species is', 'species are')} described here.</p>",
                _list(map(self._species, members)),
            )  # fmt: skip
        for slug, (name, summary) in REGIONS.items():
            found = [one for one in SPECIES if slug in one.regions]
            largest = max(found, key=lambda one: one.female_mm)
            add(
                ENCYCLOPEDIA, f"/regions/{slug}", f"Orb weavers of {name}", summary,
                f"<p>The largest of the {len(found)} listed here is the {escape(largest.common)}.</p>",
                _list(f"{self._species(one)}: {escape(one.habitat)}" for one in found),
            )  # fmt: skip

    def _write_species(self, number: int, species: Species) -> None:
        regions = ", ".join(self._link(ENCYCLOPEDIA, f"/regions/{slug}", REGIONS[slug][0]) for slug in species.regions)
        genus = self._link(ENCYCLOPEDIA, f"/genera/{species.genus.lower()}", species.genus)
        notes = [
            self._link(NOTEBOOK, f"/notes/{note.slug}", note.title) for note in NOTES if note.species == species.slug
        ]
        slugs = list(TOPICS)
        topic = slugs[number % len(slugs)]
        neighbour = SPECIES[(number + 1) % len(SPECIES)]
        self._add(
            ENCYCLOPEDIA, f"/species/{species.slug}", species.name,
            f"The {species.common}, a spider of {species.habitat}.",
            f"<p>{escape(species.text)}</p>",
            "<h2>Web and size</h2>",
            f"<p>Its trap: {escape(species.web)}. A grown female measures about {species.female_mm} mm.</p>",
            "<h2>Where</h2>",
            f"<p>{regions}; genus {genus}.</p>",
            f"<h2>From the notebook</h2>{_list(notes)}" if notes else "",
            "<h2>See also</h2>",
            _list([self._species(neighbour), self._link(LABORATORY, f"/topics/{topic}", TOPICS[topic][0])]),
        )  # fmt: skip

    def write_laboratory(self) -> None:
        add, link = self._add, self._link
        add(
            LABORATORY, "/", "What webs are made of", f"{len(TOPICS)} short articles on silk, glue and building.",
            _list(link(LABORATORY, f"/topics/{slug}", title) for slug, (title, _) in TOPICS.items()),
            f"<p>{link(LABORATORY, '/plates', 'The plates')} are kept in the cellar and take a while to fetch.</p>",
        )  # fmt: skip
        add(
            LABORATORY, "/plates", "The plates", "Drawings of webs, one for every species that builds one.",
            _list(f"Plate {number}: {self._species(one)}; {escape(one.web)}" for number, one in enumerate(SPECIES, 1)),
            delay_seconds=SLOW_SECONDS,
        )  # fmt: skip
        slugs = list(TOPICS)
        for number, (slug, (title, text)) in enumerate(TOPICS.items()):
            first, *rest = text.split(". ", 1)
            following = slugs[(number + 1) % len(slugs)]
            examples = [SPECIES[number], SPECIES[(number * 5 + 3) % len(SPECIES)]]
            add(
                LABORATORY, f"/topics/{slug}", title, first if first.endswith(("?", ".")) else f"{first}.",
                *(f"<p>{escape(part)}</p>" for part in rest),
                "<h2>Species to look at</h2>",
                _list(map(self._species, dict.fromkeys(examples))),
                f"<p>Next: {link(LABORATORY, f'/topics/{following}', TOPICS[following][0])}</p>",
            )  # fmt: skip

    def write_notebook(self) -> None:
        add, link = self._add, self._link
        notes = sorted(NOTES, key=lambda note: note.date, reverse=True)
        observers = sorted({note.observer for note in notes})
        add(
            NOTEBOOK, "/", "A year with orb weavers", f"{len(notes)} notes by {_count(len(observers), 'observer')}.",
            _list(f"{note.date}: {link(NOTEBOOK, f'/notes/{note.slug}', note.title)}" for note in notes),
            "<h2>Observers</h2>",
            _list(link(NOTEBOOK, f"/observers/{_slug(name)}", name) for name in observers),
            "<h2>Not for the public yet</h2>",
            _list(link(NOTEBOOK, f"/drafts/{slug}", title) for slug, (title, _) in DRAFTS.items()),
        )  # fmt: skip
        for name in observers:
            own = [note for note in notes if note.observer == name]
            add(
                NOTEBOOK, f"/observers/{_slug(name)}", f"Notes by {name}",
                f"{_count(len(own), 'entry', 'entries')}, most recently from {own[0].place}.",
                _list(link(NOTEBOOK, f"/notes/{note.slug}", f"{note.title}, {note.place}") for note in own),
            )  # fmt: skip
        for newer, note in zip([None, *notes], notes, strict=False):
            self._write_note(note, newer)
        for slug, (title, text) in DRAFTS.items():
            add(NOTEBOOK, f"/drafts/{slug}", title, text)

    def _write_note(self, note: Note, newer: Note | None) -> None:
        species = next(one for one in SPECIES if one.slug == note.species)
        # An article that nobody has written: the one dead link of the site.
        missing = self._link(ENCYCLOPEDIA, "/species/araneus-imaginarius", "Araneus imaginarius")
        self._add(
            NOTEBOOK, f"/notes/{note.slug}", note.title,
            f"{note.observer} at {note.place}, {note.date}: {species.common}.",
            f"<p>{escape(note.text)}</p>",
            f"<p>Species: {self._species(species)}.</p>",
            f"<p>The brewer swears he has also seen {missing}.</p>" if note.slug == "cellar-lamps" else "",
            "<p>" + self._link(NOTEBOOK, f"/observers/{_slug(note.observer)}", f"More by {note.observer}") + "</p>",
            f"<p>Newer: {self._link(NOTEBOOK, f'/notes/{newer.slug}', newer.title)}</p>" if newer else "",
        )  # fmt: skip


def _list(items: Iterable[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{item}</li>" for item in items) + "\n</ul>"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")
