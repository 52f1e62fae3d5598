#!/usr/bin/env bash
# phonenumbers (Python) 9.0.43 and libphonenumber-js 1.13.16: the domestic prefix after the country code.
#
# Many people write `+49 0151 ...`, with the 0 that only calls within Germany need. One expects a valid number to be the
# digits that were typed. The libraries leave the prefix out when they read, and only then judge: the number is valid, but a
# telephone network doesn't know the typed digits. Of the 144 regions that have such a prefix this is so in 143. So
# `is_valid` is no reason to store or dial what was typed; only the formatted number is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check phonenumbers==9.0.43
npm install --silent --no-audit --no-fund libphonenumber-js@1.13.16
venv/bin/python - <<'END'
import phonenumbers as library

with_prefix, alike = 0, 0
for region in sorted(library.SUPPORTED_REGIONS):
    prefix = library.PhoneMetadata.metadata_for_region(region).national_prefix
    number = library.example_number_for_type(region, library.PhoneNumberType.MOBILE) or library.example_number(region)
    if prefix is None or number is None:
        continue
    typed = f"+{number.country_code} {prefix}{library.national_significant_number(number)}"
    read = library.parse(typed)
    with_prefix += 1
    alike += library.is_valid_number(read) and read == number
print(f"{alike} of {with_prefix} regions: valid with the prefix, and the same number as without")
assert (alike, with_prefix) == (143, 144), "the prefix is read in another way now"
END
node -e '
const number = require("libphonenumber-js/max").parsePhoneNumberFromString("+49 0151 12345678");
console.log("+49 0151 12345678 is valid:", number.isValid(), "formatted:", number.number);
if (!number.isValid() || number.number !== "+4915112345678") throw new Error("the prefix is read in another way now");
'
