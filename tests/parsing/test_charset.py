"""Is a page read in the right characters, and does it say in which?"""

import pytest

from crawler.parsing import parse_page, parse_plain

URL = "https://example.com/"
RUSSIAN = "Московский университет был основан в восемнадцатом веке, и сегодня в нём учатся сорок тысяч студентов."
SAMPLES = {
    "cp1251": RUSSIAN,
    "koi8-r": RUSSIAN,
    "cp932": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗い所で泣いていた。",
    "euc_jp": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗い所で泣いていた。",
    "iso2022_jp": "吾輩は猫である。名前はまだ無い。",
    "gb18030": "中华人民共和国位于亚洲东部，太平洋西岸，是世界上人口最多的国家之一。中国历史悠久，文化灿烂。",
    "big5": "中華民國位於東亞，首都為臺北市。臺灣的歷史與文化非常豐富，歡迎大家來旅遊。",
    "cp949": "대한민국은 동아시아의 한반도 남부에 위치한 나라이다. 수도는 서울이며 공용어는 한국어이다.",
    "cp1252": "Die Größe der Stadt überrascht viele Besucher: schöne Häuser, große Plätze und grüne Wälder.",
    "cp1250": "Zażółć gęślą jaźń. Wszystkie języki świata są piękne, ale polski jest wyjątkowy. Łódź leży w środku.",
    "cp1253": "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και μία από τις αρχαιότερες πόλεις του κόσμου.",
    "cp1255": "ירושלים היא עיר הבירה של מדינת ישראל והעיר הגדולה ביותר בה.",
}


@pytest.mark.parametrize("codec", SAMPLES)
def test_what_nobody_declares_is_detected(codec):
    sample = SAMPLES[codec]
    html = f"<title>{sample[:9]}</title><script>if (a < b) x()</script><ul class=menu><li><a href=/>home</a></ul>"
    page = parse_page(f"{html}<p>{sample}</p><p>and so on</p>".encode(codec), URL, "text/html")
    assert page.text == f"home\n{sample}\nand so on"
    assert page.title == sample[:9].strip()
    assert parse_plain(sample.encode(codec), "text/plain").text == sample


def test_detection_needs_no_more_than_the_beginning():
    page = parse_page(RUSSIAN.encode("cp1251") * 20_000, URL)
    assert page.charset == "cp1251"


@pytest.mark.parametrize(
    ("body", "content_type", "charset"),
    [
        ("Grüße".encode(), "", "utf-8"),
        (b"plain", "", "utf-8"),
        (b"", "", "utf-8"),
        ("Grüße".encode(), "text/html; charset=UTF8", "utf-8"),
        ("Grüße".encode("latin-1"), "text/html; charset=latin-1", "cp1252"),
        ("<meta charset=koi8-r>мир".encode("koi8-r"), "", "koi8-r"),
        ("<meta charset=koi8-r>мир".encode("cp1251"), "text/html; charset=windows-1251", "cp1251"),
        ("\ufeffмир".encode("utf-16-le"), "text/html; charset=koi8-r", "utf-16"),
        ("\ufeffмир".encode(), "text/html; charset=koi8-r", "utf-8"),
    ],
)
def test_a_page_says_which_charset_it_was_read_in(body, content_type, charset):
    assert parse_page(body, URL, content_type).charset == charset


@pytest.mark.parametrize(
    "body",
    [
        "Größe überall, schöne Häuser und grüne Wälder".encode()[:-1] + b"\xff",  # UTF-8 with a fault
        ("日本" * 1000).encode()[:-1],  # cut within a character
    ],
)
def test_what_cannot_be_told_is_utf_8(body):
    page = parse_page(body, URL)
    assert page.charset == "utf-8"
    assert page.text.count("\ufffd") <= 1


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Un café.", "cp1252"),
        ("It’s a “quoted” text – with dashes", "cp1252"),
        ("Déjà vu, café crème, à bientôt, à la carte", "cp1252"),
        ("El niño comió más de lo que debía; ¿qué pasó después?", "cp1252"),
        ("Привет, как дела у вас?", "cp1251"),
    ],
)
def test_short_texts(text, codec):
    page = parse_page(f"<p>{text}</p>".encode(codec), URL)
    assert (page.text, page.charset) == (text, codec)


def test_euc_jp_has_what_browsers_have_in_it():
    page = parse_page("<p>日本語 ".encode("euc_jp") + b"\xad\xa1", URL, "text/html; charset=euc-jp")
    assert page.text == "日本語 ①"


@pytest.mark.parametrize("declared", ["text/html; charset=utf-8", "text/html; charset=iso-8859-1"])
def test_a_declared_charset_is_not_second_guessed(declared):
    page = parse_page(RUSSIAN.encode("cp1251"), URL, declared)
    assert page.charset == ("utf-8" if "utf" in declared else "cp1252")
