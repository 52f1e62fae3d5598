#!/usr/bin/env bash
# Files by producers from Debian. Usage: debian.sh FOLDER, after resume.py can be imported by `python3`.
set -euo pipefail
out=$1 here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$out"
: >"$out/table.tsv"
work=$(mktemp -d)
mkdir "$work/office"
trap 'rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH=1763631000
cd "$work"
PYTHONPATH=$here python3 -c 'import resume; print(resume.html())' >resume.html
PYTHONPATH=$here python3 - >resume.md <<'MD'
import pathlib
import resume
pathlib.Path("photo.png").write_bytes(resume.picture())
print(f"# {resume.NAME}\n\n[{resume.TITLE}](https://mira.example/Launch)\n\n![photo](photo.png)\n")
for title, lines in resume.SECTIONS.items():
    print(f"## {title}\n\n" + "\n\n".join(lines) + "\n")
print("## References\n\nOn request.\n")
MD

version() { dpkg-query --showformat='${Version}' --show "$1" | sed 's/^[0-9]*://; s/[-+~].*//'; }

# Adds a file: name, package, what it shows, verdict.
add() {
  printf '%s\t%s %s\t%s\t%s\n' "$1" "$2" "$(version "$2")" "$3" "$4" >>"$out/table.tsv"
}

office() {
  soffice -env:UserInstallation="file://$work/profile" --headless --convert-to "$1" --outdir "$work/office" "$2" >/dev/null 2>&1
}

pandoc resume.md -s -o source.odt
# What only LibreOffice's API can make: a second page, passwords that are no option of a filter, and forms.
soffice -env:UserInstallation="file://$work/profile" --headless --accept='pipe,name=documents;urp' >/dev/null 2>&1 &
/usr/bin/python3 "$here/libreoffice.py" source.odt office
wait
mv office/resume.odt source.odt
cp source.odt resume.odt

# LibreOffice: every format that it writes, with and without passwords.
office pdf resume.odt
cp office/resume.pdf "$out/libreoffice.pdf"
add libreoffice.pdf libreoffice-common "words that look like actions" pdf
office odt resume.odt
cp office/resume.odt "$out/libreoffice.odt"
add libreoffice.odt libreoffice-common "references in ODT" odt
office docx resume.odt
cp office/resume.docx "$out/libreoffice.docx"
add libreoffice.docx libreoffice-common "relationships" docx
office doc resume.odt
cp office/resume.doc "$out/libreoffice.doc"
add libreoffice.doc libreoffice-common "names in DOC" doc
office rtf resume.odt
cp office/resume.rtf "$out/libreoffice.rtf"
add libreoffice.rtf libreoffice-common "rare variants" rtf
office ott resume.odt
cp office/resume.ott "$out/libreoffice.ott"
add libreoffice.ott libreoffice-common "rare variants" odt
office 'txt:Text (encoded):UNICODE' resume.odt
cp office/resume.txt "$out/libreoffice-utf-16.txt"
add libreoffice-utf-16.txt libreoffice-common "encodings" txt
office 'txt:Text (encoded):MS_1252' resume.odt
cp office/resume.txt "$out/libreoffice-windows-1252.txt"
add libreoffice-windows-1252.txt libreoffice-common "encodings" txt
pdf() {
  office "pdf:writer_pdf_Export:$3" resume.odt
  cp office/resume.pdf "$out/$1"
  add "$1" libreoffice-common "$2" "$4"
}
pdf libreoffice-tagged-bookmarks.pdf "words that look like actions" '{"UseTaggedPDF":{"type":"boolean","value":"true"},"ExportBookmarks":{"type":"boolean","value":"true"}}' pdf
pdf libreoffice-restricted.pdf "protection" '{"RestrictPermissions":{"type":"boolean","value":"true"},"PermissionPassword":{"type":"string","value":"x"},"Changes":{"type":"long","value":"0"}}' pdf
pdf libreoffice-password.pdf "protection" '{"EncryptFile":{"type":"boolean","value":"true"},"DocumentOpenPassword":{"type":"string","value":"secret"}}' Password
# Larger files have less text.
printf '# Mira Okonski\n\n## Skills (HTML/CSS/JavaScript)\n' | pandoc -s -o resume.odt
pdf libreoffice-pdf-a.pdf "words that look like actions" '{"SelectPdfVersion":{"type":"long","value":"2"}}' pdf
pdf libreoffice-hybrid.pdf "attached files" '{"IsAddStream":{"type":"boolean","value":"true"}}' pdf
cp source.odt resume.odt

# Passwords, and forms.
for format in doc odt; do
  cp "office/password.$format" "$out/libreoffice-password.$format"
  add "libreoffice-password.$format" libreoffice-common "passwords of DOC and ODT" Password
done
cp office/form.pdf "$out/libreoffice-form.pdf"
add libreoffice-form.pdf libreoffice-common "form scripts" pdf
cp office/date.pdf "$out/libreoffice-date.pdf"
add libreoffice-date.pdf libreoffice-common "form scripts" PdfScript

# pandoc.
for format in docx odt rtf; do
  pandoc resume.md -s -o "$out/pandoc.$format"
  add "pandoc.$format" pandoc "main part" "$format"
done

# AbiWord, which writes RTF into a file that is named like one of Word.
for format in rtf odt; do
  abiword --to="$format" --to-name="$out/abiword.$format" resume.html >/dev/null 2>&1
  add "abiword.$format" abiword "rare variants" "$format"
done
abiword --to=doc --to-name="$out/abiword.doc" resume.html >/dev/null 2>&1
add abiword.doc abiword "rare variants" rtf

# LaTeX: a link without a scheme opens another file.
cat >latex.tex <<'TEX'
\documentclass{article}
\usepackage[pdftitle={Java/JavaScript developer}]{hyperref}
\begin{document}
\section{Skills (HTML/CSS/JavaScript)} \href{linkedin.example/in/mira}{profile} \href{https://mira.example/Launch}{page}
\newpage \section{Product/Launch} References.
\end{document}
TEX
for engine in pdflatex xelatex; do
  "$engine" -interaction=batchmode latex.tex >/dev/null
  "$engine" -interaction=batchmode latex.tex >/dev/null
  cp latex.pdf "$out/$engine.pdf"
  add "$engine.pdf" texlive-base "links to files" pdf
done

# Ghostscript, qpdf, groff and iconv.
gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -o "$out/ghostscript.pdf" "$out/libreoffice.pdf"
add ghostscript.pdf ghostscript "words that look like actions" pdf
gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -sOwnerPassword=x -dEncryptionR=3 -dKeyLength=128 -dPermissions=-3904 \
  -o "$out/ghostscript-restricted.pdf" "$out/libreoffice.pdf"
add ghostscript-restricted.pdf ghostscript "protection" pdf
q=(--deterministic-id --object-streams=generate)
qpdf "${q[@]}" "$out/libreoffice.pdf" "$out/qpdf.pdf"
add qpdf.pdf qpdf "object streams" pdf
qpdf --object-streams=generate --encrypt "" x 256 --modify=none -- "$out/libreoffice.pdf" "$out/qpdf-restricted.pdf"
add qpdf-restricted.pdf qpdf "protection" pdf
printf '.TL\nMira Okonski\n.SH\nSkills (HTML/CSS/JavaScript)\n.PP\nJava/JavaScript developer\n.bp\nReferences\n' >resume.ms
groff -ms -Tpdf resume.ms >"$out/groff.pdf"
add groff.pdf groff-base "words that look like actions" pdf
qpdf --qdf --deterministic-id "$out/groff.pdf" "$out/qpdf-qdf.pdf"
add qpdf-qdf.pdf qpdf "words that look like actions" pdf
groff -K utf8 -ms -Tlatin1 -P-cbou <<<$'.PP\nZoë Müster, née Straße' >"$out/groff-latin-1.txt"
add groff-latin-1.txt groff-base "encodings" txt
iconv -t SHIFT_JIS <<<"履歴書 レジュメ" >"$out/iconv-shift-jis.txt"
add iconv-shift-jis.txt libc-bin "encodings" Encoding
groff -ms -Tascii -P-c resume.ms | col -bx >"$out/groff.txt"
add groff.txt groff-base "encodings" txt

# Chromium and wkhtmltopdf.
chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer --generate-pdf-document-outline \
  --user-data-dir="$work/chromium" --print-to-pdf="$out/chromium.pdf" "file://$work/resume.html" >/dev/null 2>&1
add chromium.pdf chromium "words that look like actions" pdf
QT_QPA_PLATFORM=offscreen wkhtmltopdf -q resume.html "$out/wkhtmltopdf.pdf"
add wkhtmltopdf.pdf wkhtmltopdf "words that look like actions" pdf
cp resume.html "$out/page.html"
add page.html pandoc "causes" WebPage
