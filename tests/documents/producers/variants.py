"""Variants of real files that no producer makes by itself. Usage: variants.py FOLDER, in which the others' folders are."""

import io
import pathlib
import sys
import zipfile
import zlib

from resume import DATA, Files

everything = pathlib.Path(sys.argv[1])
files = Files(everything / "variants")
HAND = "by hand"


def add(name, rows, verdict, content, made_of=HAND):
    files.add(name, made_of, rows, verdict, content)


def changed(archive, replace=lambda name, content: content, more=()):
    """An archive with other entries."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(result, "w") as new:
        for entry in old.infolist():
            content = replace(entry.filename, old.read(entry))
            new.writestr(zipfile.ZipInfo(entry.filename), content, entry.compress_type, 9)
        for name, content in more:
            new.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 9)
    return result.getvalue()


# PDF: an object stream whose dictionary has the word that ends streams. The script only shows a message.
objects = b"1 0 3 74 << /Type /Catalog /Pages 2 0 R /OpenAction 3 0 R /Names << >> >>        << /S /JavaScript /JS (app.alert\\(1\\)) >>"
packed = zlib.compress(objects)


def pdf(dictionary, data=packed, keyword=b"stream\n"):
    head = b"%PDF-1.7\n2 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\n7 0 obj\n<< /Type /ObjStm /N 2 /First 9 "
    body = head + dictionary + b" /Length " + str(len(data)).encode() + b" >>\n" + keyword + data
    return body + b"\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"


flate = b"/Filter /FlateDecode"
add("hidden-plain.pdf", "object streams", "PdfScript", pdf(flate))
add("hidden-comment.pdf", "object streams", "PdfScript", pdf(flate + b" % endstream\n"))
add("hidden-string.pdf", "object streams", "PdfScript", pdf(flate + b" /X (endstream)"))
add("hidden-name.pdf", "object streams", "PdfScript", pdf(flate + b" /endstream 1"))
add("hidden-keyword-comment.pdf", "object streams", "Damaged", pdf(flate, keyword=b"stream %\n"))
add("hidden-keyword-null.pdf", "object streams", "Damaged", pdf(flate, keyword=b"stream\0\n"))
add("hidden-uncompressed.pdf", "object streams", "PdfScript", pdf(b"", objects))
add("hidden-in-string.pdf", "hidden objects", "PdfScript", b"%PDF-1.7\n1 0 obj (\n3 0 obj << /S /JavaScript /JS (1) >> endobj\n) endobj\n%%EOF\n")
add("hidden-in-comment.pdf", "hidden objects", "PdfScript", b"%PDF-1.7\n% 3 0 obj << /S /JavaScript /JS (1) >> endobj\n%%EOF\n")
add("escaped-name.pdf", "hidden objects", "PdfScript", b"%PDF-1.7\n3 0 obj << /S /J#61vaScript /JS (1) >> endobj\n%%EOF\n")
add("other-filter.pdf", "object streams", "Damaged", pdf(b"/Filter /LZWDecode"))
external = b"%PDF-1.7\n3 0 obj << /Type /XObject /F (//server.example/x) /Length 0 >> stream\n\nendstream endobj\n%%EOF\n"
add("external-stream.pdf", "hidden objects", "PdfRemote", external)
chromium = (everything / "debian" / "libreoffice.pdf").read_bytes()
add("text-after-the-end.pdf", "rare variants", "pdf", chromium + b"% padding\n" * 320, "LibreOffice, changed")
add("cut.pdf", "causes", "Damaged", chromium[: len(chromium) // 2], "LibreOffice, changed")

# DOCX: Word on the web, Word for Mac, and what no program writes.
word = (everything / "npm" / "docx.docx").read_bytes()
made_of = "docx, changed"
MAIN = "word/document.xml"


def text(old, new):
    return lambda name, content: content.replace(old.encode(), new.encode())


def renamed(number):
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(word)) as old, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name).replace(b"word/document.xml", f"word/document{number}.xml".encode())
            new.writestr(zipfile.ZipInfo(name.replace("document.xml", f"document{number}.xml")), content)
    return result.getvalue()


for number in (2, 22):
    add(f"word-online-{number}.docx", "main part", "docx", renamed(number), made_of)
settings = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate" Target="{}" '
    'TargetMode="External"{}/></Relationships>'
)


def template(target, more=""):
    def replace(name, content):
        return settings.format(target, more).encode() if name == "word/_rels/settings.xml.rels" else content

    with zipfile.ZipFile(io.BytesIO(word)) as archive:
        has = "word/_rels/settings.xml.rels" in archive.namelist()
    return changed(word, replace, () if has else [("word/_rels/settings.xml.rels", settings.format(target, more))])


for name, target, verdict in [
    ("mac", "file:////Users/mira/Library/Resume.dotx", "docx"),
    ("mac-path", "/Users/mira/Resume.dotx", "docx"),
    ("mac-disk", "Macintosh%20HD:Users:mira:Resume.dotx", "docx"),
    ("windows", "C:\\Users\\mira\\Resume.dotx", "docx"),
    ("plain", "Resume.dotx", "docx"),
    ("profile", "file:///\\\\fileserver.example\\home$\\Resume.dotx", "Remote"),
    ("web", "https://mira.example/Resume.dotx", "Remote"),
]:
    add(f"template-{name}.docx", "templates", verdict, template(target), made_of)
odd = ' x:Target="Resume.dotx" xmlns:x="https://mira.example"'
add("template-prefixed.docx", "relationships", "Damaged", template("https://mira.example/Resume.dotx", odd), made_of)
document = "wordprocessingml.document.main+xml"
macro = text(f"application/vnd.openxmlformats-officedocument.{document}", "application/vnd.ms-word.document.macroEnabled.main+xml")
add("without-macros.docm", "rare variants", "docm", changed(word, macro), made_of)
add("with-macros.docm", "rare variants", "Macros", changed(word, macro, [("word/vbaProject.bin", b"harmless")]), made_of)
add("template.dotx", "rare variants", "docx", changed(word, text(document, "wordprocessingml.template.main+xml")), made_of)
ascii_rels = lambda name, content: content.replace(b"UTF-8", b"us-ascii") if name.endswith(".rels") else content
add("us-ascii.docx", "rare variants", "docx", changed(word, ascii_rels), made_of)
utf16 = lambda name, content: (
    b"\xff\xfe" + content.decode().replace("UTF-8", "UTF-16").encode("utf-16-le") if name.endswith(".rels") else content
)
add("utf-16.docx", "rare variants", "docx", changed(word, utf16), made_of)
add("cut.docx", "causes", "Damaged", word[:-100], made_of)

# ODT and DOC: passwords, macros and names.
odt = (everything / "debian" / "libreoffice.odt").read_bytes()
made_of = "LibreOffice, changed"
entry = lambda name, content: content.replace(
    b"</manifest:manifest>",
    b'<manifest:file-entry manifest:full-path="x.xml" manifest:media-type="text/xml"><manifest:encryption-data/></manifest:file-entry></manifest:manifest>',
)
add("password.odt", "passwords of DOC and ODT", "Password", changed(odt, entry), made_of)
add("with-macros.odt", "references in ODT", "Macros", changed(odt, more=[("Basic/script-lc.xml", b"<x/>")]), made_of)
listener = (
    "<office:event-listeners><script:event-listener script:language='ooo:script' script:event-name='dom:load' "
    "xlink:href='vnd.sun.star.script:x?language=Basic'/></office:event-listeners></office:text>"
)
add("script.odt", "references in ODT", "Script", changed(odt, text("</office:text>", listener)), made_of)
doc = (everything / "debian" / "libreoffice.doc").read_bytes()
at = doc.index(b"\xec\xa5")
add("password.doc", "passwords of DOC and ODT", "Password", doc[: at + 11] + bytes([doc[at + 11] | 1]) + doc[at + 12 :], made_of)
name = "WordDocument".encode("utf-16-le")
add("lower-case.doc", "names in DOC", "doc", doc.replace(name, "worddocument".encode("utf-16-le")), made_of)

# RTF and text.
add("object.rtf", "rare variants", "Object", b"{\\rtf1 {\\object\\objemb{\\*\\objdata 00}}}")
add("remote-template.rtf", "rare variants", "Remote", b"{\\rtf1 {\\*\\template https://mira.example/x.dotm}}")
add("dde.rtf", "fields", "DataLink", b"{\\rtf1 {\\field{\\*\\fldinst {DDE}{AUTO x y}}}}")
add("windows-1252.txt", "encodings", "txt", "Zoë Müster, Straße 5 – 10 €\r\n".encode("windows-1252"))
add("utf-16.txt", "encodings", "txt", "Zoë Müster".encode("utf-16"))
add("shift-jis.txt", "encodings", "Encoding", "履歴書 レジュメ".encode("shift_jis"))
add("dos.txt", "encodings", "txt", b"Mira Okonski\x0b\r\nResume\r\n\x1a")
add("markdown.md", "encodings", "txt", "# Mira Okonski\n\n[page](https://mira.example)\n".encode())
add("program.exe", "causes", "Type", b"MZ\x90\x00\x03\x00")
add("empty.pdf", "causes", "Empty", b"")

# Photos and archives.
add("photo.heic", "causes", "Picture", b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic")
pages = io.BytesIO()
with zipfile.ZipFile(pages, "w") as archive:
    for entry_name in ("Index/Document.iwa", "Metadata/BuildVersionHistory.plist", "preview.jpg"):
        archive.writestr(zipfile.ZipInfo(entry_name), b"x")
add("resume.pages", "causes", "IWork", pages.getvalue())
archived = io.BytesIO()
with zipfile.ZipFile(archived, "w") as archive:
    archive.writestr(zipfile.ZipInfo("candidate.xml"), DATA)
add("resume.zip", "causes", "Archive", archived.getvalue())
