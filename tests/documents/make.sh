#!/usr/bin/env bash
# Makes the table of real documents again: `tests/documents/make.sh`, as root on Debian 12, with Python 3.11, Node.js 20 and
# npm, Go 1.25, and Maven with Java 17.
#
# It installs the producers, which takes several gigabytes, writes one folder for each registry into target/documents, and
# packs them into tests/documents. No check runs it. Review the diff of verdicts.tsv: the verdicts are what the producers'
# scripts expect, and `cargo test --test api documents::` compares them with the check.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD producers=$PWD/tests/documents/producers work=$PWD/target/documents
out=$work/out
export SOURCE_DATE_EPOCH=1763631000 DEBIAN_FRONTEND=noninteractive
rm -rf "$out"
mkdir -p "$out" "$work/npm" "$work/go" "$work/java"

apt-get update
apt-get install -y --no-install-recommends abiword chromium ghostscript groff libreoffice-writer-nogui lmodern pandoc \
  python3-uno python3-venv qpdf texlive-fonts-recommended texlive-latex-recommended texlive-xetex wkhtmltopdf
python3 -m venv "$work/pypi"
"$work/pypi/bin/pip" install --quiet --requirement "$producers/requirements.txt"

# The others change some of the files from Debian.
PATH=$work/pypi/bin:$PATH "$producers/debian.sh" "$out/debian"
cp "$producers/package.json" "$work/npm"
(cd "$work/npm" && npm install --no-audit --no-fund --silent && node "$producers/npm.mjs" "$out/npm" "$out/debian")
cp "$producers"/go/* "$work/go"
(cd "$work/go" && go run . "$out/go")
cp "$producers"/java/* "$work/java"
(cd "$work/java" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib && java -cp 'lib/*' Make.java "$out/maven" "$out/debian")
"$work/pypi/bin/python" "$producers/pypi.py" "$out/pypi"
"$work/pypi/bin/python" "$producers/variants.py" "$out"
"$work/pypi/bin/python" "$producers/pack.py" "$out" "$root/tests/documents"
