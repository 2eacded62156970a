"""Is a page's language the one that it declares, else the one that it is in?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.parsing import parse_page
from crawler.parsing.language import detect_language, find_language

URL = "https://example.com/"
TEXTS = {
    "en": "The web is rebuilt every night, and the spider that lives in it eats the old one before it begins again.",
    "de": "Das Netz wird jede Nacht neu gebaut, und die Spinne frisst das alte auf, bevor sie mit dem neuen beginnt.",
    "fr": "La toile est reconstruite chaque nuit, et l'araignée mange l'ancienne avant de commencer la nouvelle.",
    "es": "La tela se reconstruye cada noche y la araña se come la vieja antes de que empiece con la nueva.",
    "it": "La tela viene ricostruita ogni notte e il ragno mangia quella vecchia prima che cominci con la nuova.",
    "pt": "A teia é reconstruída todas as noites e a aranha come a velha antes de começar com uma nova, não é.",
    "nl": "Het web wordt elke nacht opnieuw gebouwd en de spin eet het oude op voordat zij met het nieuwe begint.",
    "sv": "Nätet byggs om varje natt och spindeln äter upp det gamla innan den börjar med det nya som är av silke.",
    "pl": "Sieć jest odbudowywana co noc, a pająk zjada starą, zanim zacznie nową, i nie jest to dla niego trudne.",
    "cs": "Síť se každou noc staví znovu a pavouk starou sní, než začne s novou, protože je to pro něj jako jídlo.",
    "tr": "Ağ her gece yeniden kurulur ve örümcek yenisine başlamadan önce eskisini yer, bu onun için çok kolay.",
    "ru": "Паутина строится каждую ночь заново, и паук съедает старую, прежде чем начать новую.",
    "uk": "Павутина будується щоночі заново, і павук з'їдає стару, перш ніж почати нову; її нитки міцні, ґрунт є.",
    "bg": "Мрежата се строи всяка нощ отново и паякът изяжда старата, преди да започне с новата, за да не е гладен.",
    "el": "Ο ιστός ξαναχτίζεται κάθε νύχτα και η αράχνη τρώει τον παλιό πριν αρχίσει τον καινούργιο.",
    "he": "הרשת נבנית מחדש בכל לילה, והעכביש אוכל את הישנה לפני שהוא מתחיל בחדשה.",
    "ar": "تعاد بناء الشبكة كل ليلة، ويأكل العنكبوت القديمة قبل أن يبدأ بالجديدة.",
    "fa": "تار هر شب دوباره ساخته می‌شود و عنکبوت پیش از آغاز تار تازه، تار کهنه را می‌خورد؛ چه گونه کاری بزرگ پژوهش.",
    "hi": "जाल हर रात फिर से बनाया जाता है और मकड़ी नया शुरू करने से पहले पुराना खा जाती है।",
    "th": "ใยแมงมุมถูกสร้างขึ้นใหม่ทุกคืน และแมงมุมกินใยเก่าก่อนเริ่มใยใหม่",
    "ja": "網は毎晩作り直され、蜘蛛は新しい網を始める前に古い網を食べてしまう。",
    "zh": "蜘蛛网每天晚上都要重新编织，蜘蛛在开始织新网之前会吃掉旧网，这样可以节省材料。",
    "ko": "거미줄은 매일 밤 다시 지어지며 거미는 새 줄을 시작하기 전에 옛 줄을 먹는다.",
}  # fmt: skip


@pytest.mark.parametrize("language", TEXTS)
def test_a_language_that_is_not_declared_is_detected(language):
    html = f"<title>x</title><ul><li><a href=/>Home</a></ul><p>{TEXTS[language]}</p>"
    assert parse_page(html.encode(), URL, "text/html; charset=utf-8").lang == language


@pytest.mark.parametrize(
    ("html", "header", "language"),
    [
        ("<html lang=de>", "fr", "de"),
        ("<html lang='de-AT'>", "", "de"),
        ("<html lang='zh_Hant'>", "", "zh"),
        ("<html LANG=' EN-us '>", "", "en"),
        ("<html xml:lang=it>", "", "it"),
        ("<html lang=deu>", "", "de"),
        ("<html lang=iw>", "", "he"),
        ("<html lang=''>", "fr-CA", "fr"),
        ("<html lang=xx>", "es", "es"),
        ("<meta http-equiv=Content-Language content=nl>", "", "nl"),
        ("<meta http-equiv=Content-Language content=nl>", "sv", "sv"),
        ("", "en, fr", "de"),
        ("<html lang=nonsense>", "*", "de"),
        ("<html lang=\x01>", "\ud800", "de"),
    ],
)
def test_a_declared_language_counts(html, header, language):
    body = f"{html}<p>{TEXTS['de']}".encode()
    assert parse_page(body, URL, content_language=header).lang == language


@pytest.mark.parametrize("text", ["", "1234 5678", "Lorem", "foo bar baz qux", "!?", "x" * 10_000, "а", "😀" * 100])
def test_too_little_to_tell_is_no_language(text):
    assert detect_language(text) == ""


@given(st.text(), st.text(), st.text())
def test_a_language_is_two_letters_or_none(lang, header, text):
    found = find_language(lang, header, text=text)
    assert found == "" or (len(found) == 2 and found.isascii() and found.islower())
