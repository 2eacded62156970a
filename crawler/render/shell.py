"""Is a page empty without JavaScript? Asked in auto mode for every page, so that only such pages cost a browser."""

import re

from selectolax.lexbor import LexborHTMLParser

# Fewer letters of visible text than this, and a script: there is something that only the script shows.
FEW_LETTERS = 200
FEW_LINKS = 3
# What the frameworks of the last years call the element that they fill.
_MOUNT = re.compile(
    rb"""\bid=["']?(app|root|__next|__nuxt|svelte|q-app|main-app|react-root|ember-app)\b|<app-root\b""", re.I
)
_ASKS = re.compile(rb"enable javascript|requires javascript|javascript is (required|disabled)|turn on javascript", re.I)


def is_shell(body: bytes) -> bool:
    if b"<script" not in body and b"<SCRIPT" not in body:
        return False
    tree = LexborHTMLParser(body)
    links = len(tree.css("a[href]"))
    is_asking = any(_ASKS.search(node.html.encode()) for node in tree.css("noscript") if node.html)
    for node in tree.css("script, style, template, noscript"):
        node.decompose()
    text = tree.body.text(separator=" ", strip=True) if tree.body else ""
    letters = sum(map(str.isalnum, text[: 4 * FEW_LETTERS]))
    if letters >= FEW_LETTERS or links > FEW_LINKS:
        return False
    return is_asking or bool(_MOUNT.search(body)) or letters < FEW_LETTERS // 4
