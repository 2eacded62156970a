"""Is this a page, or a file that nobody can read as one? Asked of a link by its name, and of a response by its type.

The name is a guess that saves a request; the type is what the server says, and decides: see
``middlewares/content_type.py``.
"""

from collections.abc import Collection

from crawler.urls import Url

# Where a page about a file bears the file's name: /wiki/File:Tree.jpg, /wiki/Cmd.exe, /a/b/blob/main/logo.png.
_PAGES_ABOUT_FILES = ("/wiki/", "/blob/")


def is_file(url: Url, extensions: Collection[str]) -> bool:
    """Whether the URL ends as a file of these kinds does. ``extensions`` are in lower case and without their dot."""
    path = url.text.partition("?")[0]
    dot = path.rfind(".")
    slash = path.rfind("/")
    if dot < slash or slash < 8 or path[dot + 1 :].lower() not in extensions:
        return False
    return ":" not in path[slash:] and not any(place in path for place in _PAGES_ABOUT_FILES)


def media_type(content_type: str) -> str:
    """``text/html`` of ``Text/HTML; charset=utf-8``; empty when the header says nothing that can be understood."""
    found = content_type.partition(";")[0].strip().lower()
    return found if "/" in found else ""


def is_allowed_type(media: str, allowed: Collection[str]) -> bool:
    """``allowed`` has types as they are, or whole families: ``text/*``. An unnamed type is read: it may be a page."""
    return not media or media in allowed or f"{media.partition('/')[0]}/*" in allowed
