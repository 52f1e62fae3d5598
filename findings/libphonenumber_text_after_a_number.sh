#!/usr/bin/env bash
# phonenumbers (Python) 9.0.43 and libphonenumber-js 1.13.16: text behind a number.
#
# One expects text behind a number to end it, or to be refused. In Python (and in Java, of which it is a port), it becomes
# digits: pandas writes `4915112345678.0` behind a column with a gap, and the 0 makes another possible number; letters are
# those of a keypad, so `(mobile)` and `~ home` add six and four digits, and the last one gives a possible number, too. The
# library for JavaScript ends the number at the letters, but also reads the `.0`. What is not part of a number must go before.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check phonenumbers==9.0.43
npm install --silent --no-audit --no-fund libphonenumber-js@1.13.16
venv/bin/python - <<'END'
import phonenumbers as library

for typed, digits, possible in [
    ("+4915112345678.0", "+49151123456780", True),
    ("+49 151 12345678 ~ home", "+49151123456784663", True),
    ("+44 20 7946 0018 (mobile)", "+442079460018662453", False),
]:
    number = library.parse(typed)
    read = library.format_number(number, library.PhoneNumberFormat.E164), library.is_possible_number(number)
    print(typed, "is", *read)
    assert read == (digits, possible), "text behind a number is read in another way now"
END
node -e '
const { parsePhoneNumberFromString } = require("libphonenumber-js/max");
for (const [typed, digits] of [["+4915112345678.0", "+49151123456780"], ["+44 20 7946 0018 (mobile)", "+442079460018"]]) {
  const { number } = parsePhoneNumberFromString(typed);
  console.log(typed, "is", number, "in JavaScript");
  if (number !== digits) throw new Error("text behind a number is read in another way now");
}
'
