"""What is known of languages: their codes, the letters that give one away, and the words that no text is without.

Data for ``language``. Where two languages have a word both count it; the others decide.
"""

_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka "
    "kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng "
    "nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st "
    "su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
CODES = frozenset(_CODES.split())
# Three letters, codes of long ago, and common mistakes.
OTHER_CODES = {
    "eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt",
    "nld": "nl", "dut": "nl", "rus": "ru", "ukr": "uk", "pol": "pl", "ces": "cs", "cze": "cs", "slk": "sk",
    "slo": "sk", "hun": "hu", "ron": "ro", "rum": "ro", "swe": "sv", "dan": "da", "nor": "no", "nob": "nb",
    "fin": "fi", "tur": "tr", "ell": "el", "gre": "el", "heb": "he", "ara": "ar", "fas": "fa", "per": "fa",
    "jpn": "ja", "kor": "ko", "zho": "zh", "chi": "zh", "cmn": "zh", "vie": "vi", "tha": "th", "ind": "id",
    "cat": "ca", "hin": "hi", "iw": "he", "in": "id", "ji": "yi", "jp": "ja", "cn": "zh", "gr": "el", "cz": "cs",
}  # fmt: skip

# Scripts, by their first and last character, and the language that most texts in them are in.
SCRIPTS = [
    ("\u0370", "\u03ff", "el"), ("\u0400", "\u052f", "ru"), ("\u0530", "\u058f", "hy"), ("\u0590", "\u05ff", "he"),
    ("\u0600", "\u06ff", "ar"), ("\u0900", "\u097f", "hi"), ("\u0980", "\u09ff", "bn"), ("\u0a00", "\u0a7f", "pa"),
    ("\u0a80", "\u0aff", "gu"), ("\u0b80", "\u0bff", "ta"), ("\u0c00", "\u0c7f", "te"), ("\u0c80", "\u0cff", "kn"),
    ("\u0d00", "\u0d7f", "ml"), ("\u0d80", "\u0dff", "si"), ("\u0e00", "\u0e7f", "th"), ("\u0e80", "\u0eff", "lo"),
    ("\u1000", "\u109f", "my"), ("\u10a0", "\u10ff", "ka"), ("\u1200", "\u137f", "am"), ("\u1780", "\u17ff", "km"),
    ("\u3040", "\u30ff", "ja"), ("\u4e00", "\u9fff", "zh"), ("\uac00", "\ud7a3", "ko"),
]  # fmt: skip
# Letters that another language of the same script has and the first one has not.
LETTERS = {
    "ru": [("іїєґ", "uk"), ("ўі", "be"), ("јљњћђџ", "sr"), ("ѓќѕ", "mk"), ("әғқңөұүһ", "kk")],
    "ar": [("ٹڈڑےںھ", "ur"), ("پچژگکی", "fa")],
}

_STOP_WORDS = {
    "en": "the of and to in is that for it with as was on are be this by not have from or you at which an we can will "
    "if has but all when there use your",
    "de": "der die und das ist nicht den von zu mit auf dem für ein eine sich des auch im es als wird sie bei oder "
    "werden aus nach wie einen sind",
    "fr": "le la les des et est une un du que dans pour qui pas sur au avec par ce plus se ne sont il nous vous cette "
    "ou être aux",
    "es": "el la los de que y en un una por con para es las del se no al lo como más su pero sus este son está ha o "
    "también",
    "it": "il di che la e è un una per non sono con del le si della nel i da come più anche al dei gli questo alla ma",
    "pt": "o a os as de que e do da em um uma para com não é por no na se mais dos das ao como foi são mas pelo",
    "nl": "de het een en van is dat niet op te voor met zijn aan die ook er als bij wordt naar om door maar deze kan",
    "sv": "och att det som en på är av för med den till inte har om ett men jag var kan från eller vi",
    "da": "og at det er en den til af for på med som ikke der de et har kan var fra eller vi jeg blev ved",
    "no": "og i det er en på til av for med som ikke den at de et har kan var fra eller jeg ble etter men også",
    "fi": "ja on ei se että oli hän mutta ovat kun myös tai niin kuin joka voi sen mitä olla jos tämä ole",
    "pl": "i w na się nie z do jest że to o jak po co ale tak za od przez są dla oraz lub był być które",
    "cs": "a se v je na že to s z do o i jako za pro by jsou ale ve které jeho nebo jsem byl však při může",
    "sk": "a sa v je na že to s z do o aj ako za pre by sú ale vo ktoré jeho alebo som bol však pri môže",
    "hu": "a az és hogy nem egy is van meg de ez csak volt mint már még ki el ha vagy lehet nagyon azt minden",
    "ro": "de și în a la cu nu pe că este un o din care mai pentru sunt să ce se prin sau fost au fi",
    "hr": "i je u na se da za od su s ne to kao koji o iz što biti ili te bi može nije samo također",
    "sl": "in je v na se da za so z ki ne pa tudi ali kot pri po od bi to iz še bil kar lahko",
    "tr": "ve bir bu için ile de da çok olarak daha gibi olan ne kadar en sonra var ama veya değil her ise",
    "id": "yang dan di dengan untuk ini dari pada tidak dalam adalah itu akan ke oleh atau juga sebagai dapat telah",
    "vi": "và của là có cho được không trong các một với người những này đã khi để về từ như đến",
    "ca": "el la de que i a en un una per amb és les del els no al com més es aquest són ha dels o també",
    "lt": "ir yra į iš kad su tai bei ar kaip už bet apie buvo jos jo nuo prie taip",
    "lv": "un ir no ar ka par uz kas kā to pie bet arī gada vai tika viņa",
    "et": "ja on ei et see ta oma kui ka oli või mis aga ning selle olema kes siis",
    "bg": "на и в за да се от е не с по са като че до към или при което има това което също може",
    "eu": "eta da ez bat dira izan zen duen ere egin baina hau dute bere",
    "gl": "o a de que e do da en un unha para con non é por no na se máis dos das ao como foi son ou pola",
    "el": "και το να του η της με που την από για είναι στο",
}

# Of every word, the languages that have it.
WORDS: dict[str, list[str]] = {}
for _language, _words in _STOP_WORDS.items():
    for _word in _words.split():
        WORDS.setdefault(_word, []).append(_language)
