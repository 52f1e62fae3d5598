"""Compares how people are found by name with Lucene's ICU folding, over the name lists of the package Faker.

Usage: compare.py FIND_NAMES ROLECALL

FIND_NAMES is the built example of the crate `shared`, and ROLECALL the local service. Each list has first and last names of a
locale as people. A query is a person's name as somebody else types it: with another keyboard, without the marks that people
leave out, in capitals, with other digits. A person who isn't found is a miss. Whoever else is found is a wrong person, unless
the query's words begin the words of that name, as somebody types it, too. Fails if Rolecall has more of either than Lucene in
a locale, or not fewer in all. Then asks the API 300 of the queries, and compares its answers with those of the example.
"""

import collections
import importlib
import json
import random
import subprocess
import sys
import unicodedata
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Source-file mode needs no step of its own for the compiler.
LUCENE = ["java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", f"{HERE}/jars/*", str(HERE / "FindNames.java")]
# The names of one kind are combined with this number of the other kind, so that a pair often differs in one name only.
PARTNERS = 5
MOST_NAMES = 600

# Letters with a built-in stroke, as people type them without.
LIGATURES = {"æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ß": "ss", "þ": "th", "Þ": "Th"}
STROKES = str.maketrans(dict(zip("łŁøØđĐħĦŧŦıƏəðÐ", "lLoOdDhHtTiEedD", strict=True)) | LIGATURES)


def without_marks(text):
    """Returns the text without combining marks and strokes, as on a keyboard without them."""
    return "".join(c for c in unicodedata.normalize("NFD", text.translate(STROKES)) if not unicodedata.combining(c))


def replaced(letters, others):
    """Returns a rule that replaces letters by others."""
    table = str.maketrans(dict(zip(letters, others, strict=True)))
    return lambda text: text.translate(table)


def without(characters):
    """Returns a rule that leaves out characters."""
    table = str.maketrans(dict.fromkeys(characters))
    return lambda text: unicodedata.normalize("NFD", text).translate(table)


def with_digits(digits):
    """Returns a rule that writes digits in another script."""
    return replaced("0123456789", digits)


def german(text):
    """Returns the text with its umlauts written as two letters."""
    pairs = {letter: unicodedata.normalize("NFD", letter)[0] + "e" for letter in "äöüÄÖÜ"}
    return text.translate(str.maketrans(pairs | {"ß": "ss"}))


def nordic(text):
    """Returns the text as in an e-mail address or a passport."""
    return text.translate(str.maketrans({"å": "aa", "ø": "oe", "æ": "ae", "Å": "Aa", "Ø": "Oe", "Æ": "Ae"}))


def turkish_capitals(text):
    """Returns the text in capitals as in Turkish and Azerbaijani."""
    return text.replace("i", "İ").replace("ı", "I").upper()


def composed(text):
    return unicodedata.normalize("NFC", text)


def decomposed(text):
    return unicodedata.normalize("NFD", text)


ARABIC_MARKS = "".join(map(chr, [*range(0x64B, 0x660), 0x670, 0x640]))
NUKTA = "\u093c\u09bc\u0a3c\u0abc\u0b3c"
JOINERS = "\u200c\u200d"
PERSIAN_KEYBOARD = replaced("يىك", "ییک")
ARABIC_KEYBOARD = replaced("یکہ", "يكه")
USUAL_ARABIC = [without(ARABIC_MARKS), replaced("أإآٱ", "اااا"), replaced("ى", "ي"), replaced("ة", "ه")]
LATIN = [without_marks, str.upper, decomposed, str.lower, without("-'’")]
INDIC = [without(NUKTA), without(JOINERS), composed, decomposed]

# The ways in which other people type the names of each locale.
RULES = {
    "ar_AA": [*USUAL_ARABIC, PERSIAN_KEYBOARD, with_digits("٠١٢٣٤٥٦٧٨٩")],
    "fa_IR": [ARABIC_KEYBOARD, PERSIAN_KEYBOARD, without(ARABIC_MARKS), without("\u200c"), with_digits("۰۱۲۳۴۵۶۷۸۹")],
    "he_IL": [replaced("'\"", "׳״"), without("'"), without(map(chr, range(0x591, 0x5C8))), decomposed],
    "hi_IN": [*INDIC, with_digits("०१२३४५६७८९")],
    "mr_IN": [*INDIC, with_digits("०१२३४५६७८९")],
    "ne_NP": [*INDIC, with_digits("०१२३४५६७८९")],
    "bn_BD": [*INDIC, with_digits("০১২৩৪৫৬৭৮৯")],
    "gu_IN": [*INDIC, with_digits("૦૧૨૩૪૫૬૭૮૯")],
    "or_IN": [*INDIC, with_digits("୦୧୨୩୪୫୬୭୮୯")],
    "ta_IN": [*INDIC, with_digits("௦௧௨௩௪௫௬௭௮௯")],
    "si_LK": [without(JOINERS), composed, decomposed],
    "th_TH": [decomposed, composed, with_digits("๐๑๒๓๔๕๖๗๘๙")],
    "ja_JP": [decomposed, with_digits("０１２３４５６７８９")],
    "ko_KR": [decomposed, with_digits("０１２３４５６７８９")],
    "zh_CN": [composed, with_digits("０１２３４５６７８９")],
    "el_GR": [without_marks, str.upper, lambda text: without_marks(text).upper(), decomposed, str.lower],
    "ru_RU": [str.upper, replaced("ёЁ", "еЕ"), decomposed],
    "uk_UA": [str.upper, replaced("ґҐ", "гГ"), replaced("'", "’"), replaced("'", "ʼ"), decomposed],
    "bg_BG": [str.upper, decomposed],
    "hy_AM": [str.upper, replaced("և", ["եւ"]), str.lower],
    "ka_GE": [str.upper],
    "tr_TR": [without_marks, turkish_capitals, decomposed],
    "az_AZ": [without_marks, turkish_capitals, decomposed],
    "de_DE": [*LATIN, german],
    "da_DK": [*LATIN, nordic],
    "no_NO": [*LATIN, nordic],
    "is_IS": LATIN,
    "cs_CZ": LATIN,
    "hr_HR": LATIN,
    "ro_RO": LATIN,
    "hu_HU": LATIN,
    "vi_VN": LATIN,
    "fr_FR": LATIN,
    "es_ES": LATIN,
}
# Locales whose names are written without a space between them, the last name first.
WITHOUT_SPACES = {"ja_JP", "ko_KR", "zh_CN"}
# Of these, a name is found from each of its characters on.
FROM_EACH_CHARACTER = {"ja_JP", "zh_CN"}
THROUGH_THE_API = 300


def names(locale, kind):
    """Returns the distinct names of a kind in a locale's lists."""
    provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
    found = set()
    for attribute in dir(provider):
        values = getattr(provider, attribute)
        if attribute.startswith(kind) and isinstance(values, (tuple, list, dict)):
            # Japanese names have their readings beside them.
            found.update(value if isinstance(value, str) else value[0] for value in values)
    return sorted(found)[:MOST_NAMES]


def people(locale):
    """Returns people with the locale's names, some of them with a number."""
    first, last = names(locale, "first_name"), names(locale, "last_name")
    pairs = [(one, last[at % PARTNERS % len(last)]) for at, one in enumerate(first)]
    pairs += [(first[at % PARTNERS], one) for at, one in enumerate(last)]
    joined = [b + a if locale in WITHOUT_SPACES else f"{a} {b}" for a, b in pairs]
    return list(dict.fromkeys(joined + [f"{name} {at}" for at, name in enumerate(first[::20], 10)]))


def searches(locale):
    """Returns the ways in which each of a locale's people is written, and the queries with the people whom each means.

    A name that others write like another one is that name, too: `Jürgen` and `Juergen`.
    """
    written = [dict.fromkeys(rule(name) for rule in [str, *RULES[locale]]) for name in people(locale)]
    people_of = collections.defaultdict(set)
    for at, texts in enumerate(written):
        for text in texts:
            people_of[text.casefold()].add(at)
    alike = [set().union(*(people_of[text.casefold()] for text in texts)) for texts in written]
    texts = dict.fromkeys(text for texts in written for text in texts)
    return written, {text: set().union(*(alike[at] for at in people_of[text.casefold()])) for text in texts}


def first(written):
    """Returns a name as the person writes it, which is the first of the ways in which it is written."""
    return next(iter(written))


def begins(text, written, locale):
    """Returns whether every word of the text begins a word of one of the ways in which a name is written."""
    if locale in FROM_EACH_CHARACTER and any(text in name for name in written):
        return True
    parts = text.casefold().split()
    return any(all(any(word.startswith(part) for word in name.casefold().split()) for part in parts) for name in written)


def ask(command, lists):
    """Returns the numbers of the people whom a program finds for each query of each list."""
    lines = []
    for names, queries in lists:
        lines += ["list\t", *(f"name\t{name}" for name in names), *(f"query\t{text}" for text in queries)]
    done = subprocess.run(command, input="\n".join(lines) + "\n", stdout=subprocess.PIPE, encoding="utf-8", check=True)
    answers = iter([{int(at) for at in line.split()} for line in done.stdout.split("\n")[:-1]])
    return [[next(answers) for _ in queries] for _, queries in lists]


def compare(find_names, lists):
    """Prints the misses and wrong persons of each locale. Fails if Lucene has fewer."""
    asked = [([first(ways) for ways in written], queries) for written, queries in lists.values()]
    answers = [ask(command, asked) for command in ([find_names], LUCENE)]
    worse, totals = [], collections.Counter()
    print(f"{'locale':8} {'people':>6} {'queries':>7}   misses: Rolecall Lucene   wrong: Rolecall Lucene")
    for locale, (written, queries), *found in zip(lists, lists.values(), *answers, strict=True):
        counts = collections.Counter()
        for engine, of_queries in enumerate(found):
            for (text, meant), people in zip(queries.items(), of_queries, strict=True):
                counts["misses", engine] += len(meant - people)
                counts["wrong", engine] += sum(not begins(text, written[at], locale) for at in people - meant)
        row = [counts[kind, engine] for kind in ("misses", "wrong") for engine in (0, 1)]
        print("{:8} {:6} {:7}   {:16} {:6}   {:15} {:6}".format(locale, len(written), len(queries), *row))
        if any(counts[kind, 0] > counts[kind, 1] for kind in ("misses", "wrong")):
            worse.append(locale)
        totals.update(counts)
    misses, their_misses, wrong, their_wrong = (totals[kind, engine] for kind in ("misses", "wrong") for engine in (0, 1))
    print(f"in all: misses {misses} and {their_misses}, wrong persons {wrong} and {their_wrong}")
    if worse or misses >= their_misses or wrong >= their_wrong:
        sys.exit(f"Lucene is better in {', '.join(worse) or 'all locales together'}")


def ask_the_api(find_names, rolecall, lists):
    """Creates a person for each of some queries of all locales, and searches for them through the API."""
    pairs = [(first(written[at]), text) for written, queries in lists.values() for text in queries for at in queries[text]]
    # The seed is fixed, so that a failure can be repeated.
    pairs = random.Random(1).sample(pairs, THROUGH_THE_API)
    names, queries = list(dict.fromkeys(name for name, _ in pairs)), list(dict.fromkeys(text for _, text in pairs))
    [expected] = ask([find_names], [(names, queries)])
    with subprocess.Popen(
        [rolecall, "--memory", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as service:
        try:
            base, key = (service.stdout.readline().split()[-1] for _ in range(2))
            numbers = {}
            for at, name in enumerate(names):
                # No query begins with a word of the address.
                person = request(base, key, {"name": name, "email": f"7777777{at}@777777.7777777"})
                numbers[person["id"]] = at
            for text, people in zip(queries, expected, strict=True):
                found, cursor = set(), ""
                while cursor is not None:
                    page = request(base, key, None, q=text, **({"cursor": cursor} if cursor else {}))
                    found.update(numbers[person["id"]] for person in page["data"])
                    cursor = page["next_cursor"]
                if found != people:
                    sys.exit(f"the API finds {[names[at] for at in found]} for {text!r}")
        finally:
            service.terminate()
    print(f"{len(queries)} queries through the API have the same answers")


def request(base, key, body, **query):
    """Sends a request to /candidates and returns the answer."""
    url = f"{base}/api/v1/candidates?{urllib.parse.urlencode(query)}"
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as answer:
        return json.load(answer)


def main():
    find_names, rolecall = sys.argv[1:]
    lists = {locale: searches(locale) for locale in RULES}
    compare(find_names, lists)
    ask_the_api(find_names, rolecall, lists)


if __name__ == "__main__":
    main()
