"""What does a PDF say? Its text and what it states about itself, within bounds of bytes, pages, memory and time.

PDFium reads them: what a browser trusts with hostile files. It may still crash, and any reader, in C or in Python, may
hang or take all memory with a file made for that. So a process of its own reads each file (see ``pdf_reader.py``). That
costs a tenth of a second, for files that are few.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from crawler.parsing.dates import read_ms
from crawler.parsing.page import Page
from crawler.parsing.plain import build_text_page, is_noindex
from crawler.parsing.text import MAX_TEXT_LENGTH
from crawler.robots.directives import Obedience

MAX_PDF_BYTES = 50 << 20
MAX_PDF_PAGES = 500
MAX_PDF_SECONDS = 20.0
MAX_PDF_MEGABYTES = 1024  # of address space
MAX_TOLD_LENGTH = 1000

_MOMENT = re.compile(r"D?:?(\d{4})(\d{2})?(\d{2})?(?:(\d{2})(\d{2})(\d{2})?)?(Z|[+-]\d{2}'?\d{2})?", re.ASCII)
_KEPT_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "SYSTEMROOT")


def parse_pdf(
    body: bytes,
    x_robots_tag: Sequence[str] = (),
    obey: Obedience | None = None,
    *,
    content_language: str = "",
    max_seconds: float = MAX_PDF_SECONDS,
    max_pages: int = MAX_PDF_PAGES,
) -> Page:
    """Never raises: ``trouble`` says why nothing could be read. Blocks until the file is read, and so belongs into a
    thread (``asyncio.to_thread``).
    """
    found = _read(body, max_seconds, max_pages)
    if trouble := found.get("trouble"):
        return Page(trouble=str(trouble)[:500])
    told = found.get("told") or {}
    text = str(found.get("text", "")).encode("utf-8", "replace").decode("utf-8", "replace")
    page = build_text_page(text, content_language)
    page.title = _tell(told, "Title") or page.title
    page.description = _tell(told, "Subject")
    page.keywords = [word.strip() for word in _tell(told, "Keywords").replace(";", ",").split(",") if word.strip()]
    page.published_at, page.modified_at = (_read_moment(_tell(told, name)) for name in ("CreationDate", "ModDate"))
    page.is_cut |= bool(found.get("is_cut"))
    page.noindex = is_noindex(x_robots_tag, obey or Obedience())
    return page


def _read(body: bytes, max_seconds: float, max_pages: int) -> dict[str, Any]:
    if len(body) > MAX_PDF_BYTES:
        return {"trouble": f"this PDF has {len(body)} bytes; at most {MAX_PDF_BYTES} are read"}
    limits = (MAX_PDF_MEGABYTES, int(max_seconds) + 1, max_pages, MAX_TEXT_LENGTH)
    # A fault in the reader must not be worth anything: secrets may be in our environment.
    environment = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    try:
        reader = subprocess.run(
            [sys.executable, "-c", _reader_source(), *map(str, limits)],
            input=body,
            capture_output=True,
            timeout=max_seconds,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"trouble": f"this PDF was not read within {max_seconds:g} s"}
    except OSError as error:
        return {"trouble": f"the process that reads PDF could not be started: {error}"}
    try:
        found = json.loads(reader.stdout)
    except ValueError:
        found = None
    if reader.returncode or not isinstance(found, dict):
        return {
            "trouble": f"the process that reads PDF ended with {reader.returncode}: a fault in the file, most likely"
        }
    return found


@cache
def _reader_source() -> str:
    """As text, so that it can be run from within a zipped egg as well."""
    return files(__package__).joinpath("pdf_reader.py").read_text()


def _tell(told: Mapping[str, Any], name: str) -> str:
    text = str(told.get(name, ""))[:MAX_TOLD_LENGTH].encode("utf-8", "replace").decode("utf-8", "replace")
    return " ".join(text.replace("\x00", " ").split())


def _read_moment(text: str) -> int:
    """``D:20240506070809+02'00'``, of which all but the year may be missing."""
    found = _MOMENT.match(text)
    if found is None:
        return 0
    year, month, day, hour, minute, second, zone = found.groups()
    date = f"{year}-{month or '01'}-{day or '01'}"
    return read_ms(f"{date}T{hour}:{minute}:{second or '00'}{(zone or 'Z').replace(chr(39), '')}" if hour else date)
