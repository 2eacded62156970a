"""Which terms does a text consist of? The same question for a page that is indexed and for a word that is looked for.

Words are runs of letters and digits, in lower case and without accents. Chinese, Japanese and Korean have no spaces to
cut at, so that every two neighbours are a term. Stems are made by the language of the page.
"""

import re
import unicodedata
from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LONGEST_TERM_BYTES = 100  # longer ones are data, not words; they would only fill the dictionary

# As pages state their language, and as the stemmers are called.
STEMMERS = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
SAME_LANGUAGE = {"nb": "no", "nn": "no"}

CJK = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0002fa1f]+"
)


def language_of(text: str) -> str:
    """``de-AT`` is German."""
    code = text.strip().lower().replace("_", "-").partition("-")[0][:8]
    return SAME_LANGUAGE.get(code, code)


def separate(text: str) -> str:
    """With spaces where the tokenizer has to cut. Accents that stand by themselves are joined to their letters."""
    if text.isascii():
        return text
    # The Turkish capital would become an i and a dot that stands by itself, and be found by nobody.
    return CJK.sub(_pairs, unicodedata.normalize("NFC", text).replace("\u0130", "I"))


def _pairs(match: re.Match[str]) -> str:
    run = unicodedata.normalize("NFKC", match[0])  # ｶﾅ is カナ
    if len(run) == 1:
        return f" {run} "
    return f" {' '.join(run[at : at + 2] for at in range(len(run) - 1))} "


@cache
def plain_analyzer() -> TextAnalyzer:
    return _words().filter(Filter.ascii_fold()).build()


@cache
def stem_analyzer(language: str) -> TextAnalyzer:
    # Stemmers know the accents of their language, so that these go after it.
    return _words().filter(Filter.stemmer(STEMMERS[language])).filter(Filter.ascii_fold()).build()


@cache
def title_analyzer() -> TextAnalyzer:
    """A whole title as one term: what begins like what somebody types."""
    whole = TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.lowercase())
    return whole.filter(Filter.ascii_fold()).build()


def _words() -> TextAnalyzerBuilder:
    simple = TextAnalyzerBuilder(Tokenizer.simple())
    return simple.filter(Filter.remove_long(LONGEST_TERM_BYTES)).filter(Filter.lowercase())


def terms_of(text: str, language: str = "") -> list[str]:
    """With a language: stems."""
    analyzer = stem_analyzer(language) if language else plain_analyzer()
    return analyzer.analyze(separate(text))


def fold(literal: str) -> str:
    """The one term that this is, or "" if it is several or none."""
    literal = unicodedata.normalize("NFC", literal)  # an accent that stands by itself is no letter
    terms = terms_of(literal)
    return terms[0] if len(terms) == 1 and literal.isalnum() else ""
