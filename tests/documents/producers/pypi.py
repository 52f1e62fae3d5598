"""Files by producers from PyPI. Usage: pypi.py FOLDER"""

import io
import sys
import zipfile
from importlib.metadata import version

from resume import DATA, JSON, LINK, NAME, SECTIONS, TITLE, Files, html, picture

CONTENT_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
files = Files(sys.argv[1])


def reportlab(name, rows, verdict, more=(), **options):
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    page = Canvas(buffer, pagesize=A4, invariant=True, **options)
    page.setTitle(TITLE)
    page.setKeywords("HTML/CSS/JavaScript")
    y = 780
    page.drawString(60, y, f"{NAME}: {TITLE}")
    page.linkURL(LINK, (60, y, 300, y + 12))
    page.drawImage(ImageReader(io.BytesIO(picture())), 480, 760)
    for number, (section, lines) in enumerate(SECTIONS.items()):
        y -= 40
        page.bookmarkPage(f"JavaScript{number}")
        page.addOutlineEntry(section, f"JavaScript{number}")
        for line in [section, *lines]:
            y -= 16
            page.drawString(60, y, line)
    page.showPage()
    page.drawString(60, 780, "References on request (/JavaScript)")
    for line in more:
        page.drawString(60, 760, line)
    page.save()
    files.add(name, f"reportlab {version('reportlab')}", rows, verdict, buffer.getvalue())


def reportlabs():
    from reportlab.lib.pdfencrypt import StandardEncryption

    reportlab("reportlab.pdf", "words that look like actions", "pdf")
    reportlab("reportlab-uncompressed.pdf", "words that look like actions", "pdf", pageCompression=0)
    reportlab("reportlab-streams.pdf", "work", "pdf", more=["stream"] * 300, pageCompression=0)
    for strength in (40, 128, 256):
        if strength == 256:
            continue
        locked = StandardEncryption("", ownerPassword="x", canModify=0, strength=strength)
        reportlab(f"reportlab-restricted-{strength}.pdf", "protection", "pdf", encrypt=locked)
    secret = StandardEncryption("secret", ownerPassword="x", strength=128)
    reportlab("reportlab-password.pdf", "protection", "Password", encrypt=secret)


def fpdf2():
    from fpdf import FPDF
    from fpdf.enums import EncryptionMethod

    def write(name, rows, verdict, change=lambda pdf: None):
        pdf = FPDF()
        pdf.set_title(TITLE)
        pdf.set_keywords("HTML/CSS/JavaScript")
        change(pdf)
        pdf.add_page()
        pdf.set_font("Helvetica", size=12)
        pdf.cell(text=f"{NAME}: {TITLE}", link=LINK, new_x="LMARGIN", new_y="NEXT")
        pdf.image(io.BytesIO(picture()), x=180, y=10, w=10)
        for section, lines in SECTIONS.items():
            pdf.start_section(section)
            pdf.multi_cell(0, text="\n".join([section, *lines]), new_x="LMARGIN", new_y="NEXT")
        pdf.add_page()
        pdf.cell(text="References on request.")
        files.add(name, f"fpdf2 {version('fpdf2')}", rows, verdict, bytes(pdf.output()))

    write("fpdf2.pdf", "words that look like actions", "pdf")
    write("fpdf2-uncompressed.pdf", "words that look like actions", "pdf", lambda pdf: pdf.set_compression(False))
    for method in EncryptionMethod:
        if method is not EncryptionMethod.NO_ENCRYPTION:
            write(
                f"fpdf2-restricted-{method.name.lower()}.pdf".replace("_", "-"),
                "protection",
                "pdf",
                lambda pdf, method=method: pdf.set_encryption("x", "", encryption_method=method),
            )
    write("fpdf2-password.pdf", "protection", "Password", lambda pdf: pdf.set_encryption("x", "secret"))

    def attach(name, content):
        return lambda pdf: pdf.embed_file(basename=name, bytes=content)

    write("fpdf2-xml.pdf", "attached files", "pdf", attach("candidate.xml", DATA))
    write("fpdf2-program.pdf", "attached files", "Attachment", attach("resume.exe", b"harmless"))
    write("fpdf2-web-page.pdf", "attached files", "Attachment", attach("resume.xml", b"<html><script>1</script></html>"))


def weasyprint():
    from weasyprint import HTML, Attachment

    producer = f"weasyprint {version('weasyprint')}"
    page = HTML(string=html())
    files.add("weasyprint.pdf", producer, "words that look like actions", "pdf", page.write_pdf())
    files.add("weasyprint-uncompressed.pdf", producer, "words that look like actions", "pdf", page.write_pdf(uncompressed_pdf=True))
    files.add("weasyprint-pdf-a.pdf", producer, "words that look like actions", "pdf", page.write_pdf(pdf_variant="pdf/a-3u"))
    resume = Attachment(string=JSON.decode(), name="resume.json")
    files.add("weasyprint-json.pdf", producer, "attached files", "pdf", page.write_pdf(attachments=[resume]))
    page = Attachment(string="<b>Resume</b>", name="resume.html")
    files.add("weasyprint-web-page.pdf", producer, "attached files", "Attachment", HTML(string=html()).write_pdf(attachments=[page]))


def borb():
    import borb.pdf as b

    document, page = b.Document(), b.Page()
    document.append_page(page)
    layout = b.SingleColumnLayout(page)
    for line in [NAME, TITLE, *SECTIONS]:
        layout.append_layout_element(b.Paragraph(line))
    b.PDF.write(where_to=files.path("borb.pdf"), what=document)
    files.add("borb.pdf", f"borb {version('borb')}", "words that look like actions", "pdf")


def base():
    """A resume that other programs change."""
    return (files.folder / "weasyprint.pdf").read_bytes()


def pikepdf():
    import pikepdf as p

    producer = f"pikepdf {version('pikepdf')}"

    def write(name, rows, verdict, change=lambda pdf: None, **options):
        buffer = io.BytesIO()
        with p.open(io.BytesIO(base())) as pdf:
            change(pdf)
            pdf.save(buffer, deterministic_id="encryption" not in options, **options)
        files.add(name, producer, rows, verdict, buffer.getvalue())

    packed = {"object_stream_mode": p.ObjectStreamMode.generate}
    write("pikepdf-object-streams.pdf", "object streams", "pdf", **packed)
    write("pikepdf-linearized.pdf", "object streams", "pdf", linearize=True, **packed)
    for revision in (2, 3, 4, 6):
        for mode in ("disable", "generate"):
            write(
                f"pikepdf-restricted-{revision}-{mode}.pdf",
                "protection",
                "pdf",
                object_stream_mode=p.ObjectStreamMode[mode],
                encryption=p.Encryption(owner="x", user="", R=revision, aes=revision >= 4, metadata=revision >= 4),
            )
    plain_metadata = p.Encryption(owner="x", user="", R=4, aes=True, metadata=False)
    write("pikepdf-restricted-plain-metadata.pdf", "protection", "pdf", encryption=plain_metadata, **packed)
    write("pikepdf-password.pdf", "protection", "Password", encryption=p.Encryption(owner="x", user="y"), **packed)

    script = p.Dictionary(S=p.Name.JavaScript, JS="app.alert('harmless')")

    def opens(action):
        def change(pdf):
            pdf.Root.OpenAction = action

        return change

    def names(**trees):
        def change(pdf):
            pdf.Root.Names = p.Dictionary(**{key: p.Dictionary(Names=p.Array(tree)) for key, tree in trees.items()})

        return change

    write("pikepdf-script.pdf", "object streams", "PdfScript", opens(script), **packed)
    write("pikepdf-script-in-names.pdf", "object streams", "PdfScript", names(JavaScript=["x", script]), **packed)
    hidden = p.Encryption(owner="x", user="", R=6)
    write("pikepdf-script-restricted.pdf", "object streams, protection", "PdfScript", opens(script), encryption=hidden, **packed)
    hidden = p.Encryption(owner="x", user="", R=4, aes=False, metadata=False)
    write("pikepdf-script-rc4.pdf", "object streams, protection", "PdfScript", opens(script), encryption=hidden, **packed)
    write("pikepdf-launch.pdf", "acts on opening", "Launch", opens(p.Dictionary(S=p.Name.Launch, F="notes.txt")))
    web = p.Dictionary(S=p.Name.URI, URI="https://mira.example")
    write("pikepdf-opens-page.pdf", "acts on opening", "OpensByItself", opens(web), **packed)
    then = p.Dictionary(S=p.Name.GoTo, D=p.Array([0, p.Name.Fit]), Next=p.Array([web]))
    write("pikepdf-opens-page-then.pdf", "acts on opening", "OpensByItself", opens(then))
    write("pikepdf-print.pdf", "acts on opening", "pdf", opens(p.Dictionary(S=p.Name.Named, N=p.Name.Print)))

    def acts(pdf):
        pdf.pages[0].obj.AA = p.Dictionary(O=pdf.make_indirect(web))

    write("pikepdf-page-opens-page.pdf", "acts on opening", "OpensByItself", acts, **packed)

    def thread(pdf):
        action = p.Dictionary(S=p.Name.Thread, F="//server.example/x.pdf", D=0)
        pdf.pages[0].obj.Annots = p.Array([p.Dictionary(Subtype=p.Name.Link, Rect=[0, 0, 9, 9], A=action)])

    write("pikepdf-thread.pdf", "acts on opening", "PdfRemote", thread)

    def media(subtype):
        def change(pdf):
            annotation = p.Dictionary(Subtype=p.Name(subtype), Rect=[0, 0, 9, 9])
            pdf.pages[0].obj.Annots = p.Array([annotation])

        return change

    write("pikepdf-3d.pdf", "acts on opening", "Media", media("/3D"), **packed)
    write("pikepdf-rich-media.pdf", "acts on opening", "Media", media("/RichMedia"))

    def file_elsewhere(pdf):
        annotation = p.Dictionary(Subtype=p.Name.FileAttachment, Rect=[0, 0, 9, 9], FS="//server.example/x")
        pdf.pages[0].obj.Annots = p.Array([annotation])

    write("pikepdf-file-elsewhere.pdf", "acts on opening", "PdfRemote", file_elsewhere)

    def untyped_file(pdf):
        stream = p.Stream(pdf, b"harmless")
        file = p.Dictionary(Type=p.Name.Filespec, F="resume.exe", EF=p.Dictionary(F=stream))
        annotation = p.Dictionary(Subtype=p.Name.FileAttachment, Rect=[0, 0, 9, 9], FS=file)
        pdf.pages[0].obj.Annots = p.Array([annotation])

    write("pikepdf-untyped-file.pdf", "acts on opening", "Attachment", untyped_file, **packed)
    write("pikepdf-empty-names.pdf", "empty lists", "pdf", names(EmbeddedFiles=[], JavaScript=[]), **packed)

    def attach(pdf):
        pdf.attachments["candidate.xml"] = DATA

    write("pikepdf-xml.pdf", "attached files", "pdf", attach, **packed)

    def form(kind):
        def change(pdf):
            action = p.Dictionary(S=p.Name(kind), F="https://mira.example")
            pdf.pages[0].obj.Annots = p.Array([p.Dictionary(Subtype=p.Name.Widget, Rect=[0, 0, 9, 9], A=action)])

        return change

    write("pikepdf-submit.pdf", "rare variants", "DataForm", form("/SubmitForm"), **packed)

    def xfa(pdf):
        stream = pdf.make_stream(b"<xdp/>")
        pdf.Root.AcroForm = p.Dictionary(Fields=p.Array(), XFA=stream)

    write("pikepdf-xfa.pdf", "rare variants", "Xfa", xfa, **packed)
    large = lambda pdf: pdf.Root.__setitem__(p.Name.Lang, pdf.make_indirect(p.String(" " * (20 << 20))))
    write("pikepdf-bomb.pdf", "work", "TooComplex", large, **packed)


def pypdf():
    import pypdf as p

    producer = f"pypdf {version('pypdf')}"

    def write(name, rows, verdict, change):
        writer, buffer = p.PdfWriter(clone_from=io.BytesIO(base())), io.BytesIO()
        change(writer)
        writer.write(buffer)
        files.add(name, producer, rows, verdict, buffer.getvalue())

    def add_script(writer):
        from pypdf.actions import JavaScript

        writer.add_open_action(JavaScript("app.alert('harmless')"))

    write("pypdf.pdf", "words that look like actions", "pdf", lambda writer: writer.add_outline_item("HTML/CSS/JavaScript", 0))
    write("pypdf-script.pdf", "object streams", "PdfScript", lambda writer: add_script(writer))
    write("pypdf-json.pdf", "attached files", "pdf", lambda writer: writer.add_attachment("resume.json", JSON))
    write("pypdf-program.pdf", "attached files", "Attachment", lambda writer: writer.add_attachment("resume.scr", b"harmless"))
    for algorithm in ("RC4-40", "RC4-128", "AES-128", "AES-256", "AES-256-R5"):
        write(
            f"pypdf-restricted-{algorithm.lower()}.pdf",
            "protection",
            "pdf",
            lambda writer, algorithm=algorithm: writer.encrypt("", "x", algorithm=algorithm),
        )
    write("pypdf-password.pdf", "protection", "Password", lambda writer: writer.encrypt("secret", algorithm="AES-256"))


def pymupdf():
    import pymupdf as m

    producer = f"PyMuPDF {version('pymupdf')}"

    def write(name, rows, verdict, link=None, **options):
        document = m.open()
        page = document.new_page()
        page.insert_text((60, 60), f"{NAME}: {TITLE}")
        page.insert_image(m.Rect(480, 40, 504, 64), stream=picture())
        rectangle = m.Rect(60, 50, 300, 62)
        page.insert_link(link(rectangle) if link else {"kind": m.LINK_URI, "from": rectangle, "uri": LINK})
        document.new_page().insert_text((60, 60), "References on request.")
        document.set_toc([[1, title, 1] for title in SECTIONS])
        content = document.tobytes(no_new_id=True, **options)
        files.add(name, producer, rows, verdict, content)

    write("pymupdf.pdf", "words that look like actions", "pdf", deflate=True)
    write("pymupdf-object-streams.pdf", "words that look like actions", "pdf", deflate=True, use_objstms=1)
    for name in ("RC4_128", "AES_128", "AES_256"):
        method = getattr(m, f"PDF_ENCRYPT_{name}")
        restricted = {"encryption": method, "owner_pw": "x", "user_pw": "", "permissions": 4}
        write(f"pymupdf-restricted-{name.lower()}.pdf".replace("_", "-"), "protection", "pdf", **restricted)

    def to_file(target):
        return lambda rectangle: {"kind": m.LINK_GOTOR, "from": rectangle, "file": target, "page": 0, "to": m.Point(0, 0)}

    write("pymupdf-other-file.pdf", "links to files", "pdf", to_file("linkedin.example/in/mira"))
    write("pymupdf-file-on-server.pdf", "links to files", "OpensByItself", to_file("//server.example/share/x.pdf"))
    launch = lambda rectangle: {"kind": m.LINK_LAUNCH, "from": rectangle, "file": "notes.txt"}
    write("pymupdf-launch.pdf", "links to files", "Launch", launch)


def typst():
    import pathlib
    import tempfile

    import typst as t

    producer = f"typst {version('typst')}"
    sections = "\n".join(f"== {title}\n" + "\n\n".join(lines) for title, lines in SECTIONS.items())
    source = f'#set document(title: "{TITLE}")\n= {NAME}\n#link("{LINK}")[mira.example]\n{sections}\n#pagebreak()\nReferences on request.'
    attached = source + '\n#pdf.attach("resume.json", relationship: "data", mime-type: "application/json")'
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "resume.json").write_bytes(JSON)
        for name, text, rows in [("typst.pdf", source, "words that look like actions"), ("typst-json.pdf", attached, "attached files")]:
            path = pathlib.Path(folder) / "resume.typ"
            path.write_text(text)
            files.add(name, producer, rows, "pdf", t.compile(str(path), root=folder))


def other_pdfs():
    import img2pdf
    import matplotlib
    import pdfrw
    from PIL import Image
    from xhtml2pdf import pisa

    files.add("img2pdf.pdf", f"img2pdf {version('img2pdf')}", "rare variants", "pdf", img2pdf.convert(picture()))
    buffer = io.BytesIO()
    pisa.CreatePDF(html(), dest=buffer)
    files.add("xhtml2pdf.pdf", f"xhtml2pdf {version('xhtml2pdf')}", "words that look like actions", "pdf", buffer.getvalue())
    buffer = io.BytesIO()
    Image.linear_gradient("L").save(buffer, "PDF", title=TITLE)
    files.add("pillow.pdf", f"pillow {version('pillow')}", "words that look like actions", "pdf", buffer.getvalue())
    matplotlib.use("pdf")
    import matplotlib.pyplot as plot

    figure = plot.figure()
    figure.text(0.1, 0.9, f"{NAME}: {TITLE}", url=LINK)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="pdf", metadata={"Title": TITLE})
    files.add("matplotlib.pdf", f"matplotlib {version('matplotlib')}", "words that look like actions", "pdf", buffer.getvalue())
    buffer = io.BytesIO()
    reader = pdfrw.PdfReader(fdata=(files.folder / "reportlab.pdf").read_bytes())
    pdfrw.PdfWriter(buffer, trailer=reader).write()
    files.add("pdfrw.pdf", f"pdfrw {version('pdfrw')}", "words that look like actions", "pdf", buffer.getvalue())
    for format, name in (("JPEG", "photo.jpg"), ("PNG", "photo.png"), ("WEBP", "photo.webp"), ("TIFF", "scan.tiff")):
        buffer = io.BytesIO()
        Image.linear_gradient("L").resize((64, 64)).save(buffer, format)
        files.add(name, f"pillow {version('pillow')}", "causes", "Picture", buffer.getvalue())


def word_documents():
    import docx
    import docxtpl
    import htmldocx
    import msoffcrypto
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.opc.packuri import PackURI
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    producer = f"python-docx {version('python-docx')}"

    def write(name, rows, verdict, change=lambda document: None):
        document, buffer = docx.Document(), io.BytesIO()
        document.add_heading(NAME)
        paragraph = document.add_paragraph(TITLE)
        link = OxmlElement("w:hyperlink")
        link.set(qn("r:id"), document.part.relate_to(LINK, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
        paragraph._p.append(link)
        document.add_picture(io.BytesIO(picture()))
        for section, lines in SECTIONS.items():
            document.add_heading(section, 2)
            for line in lines:
                document.add_paragraph(line)
        document.add_page_break()
        change(document)
        document.save(buffer)
        files.add(name, producer, rows, verdict, buffer.getvalue())

    def field(*instructions):
        def change(document):
            run = document.add_paragraph().add_run()._r
            for kind in ("begin", *instructions, "separate", "end"):
                if kind in ("begin", "separate", "end"):
                    element = OxmlElement("w:fldChar")
                    element.set(qn("w:fldCharType"), kind)
                else:
                    element = OxmlElement("w:instrText")
                    element.text = kind
                run.append(element)

        return change

    write("python-docx.docx", "relationships", "docx")

    def online(document):
        document.part.partname = PackURI("/word/document2.xml")

    write("python-docx-word-online.docx", "main part", "docx", online)
    write("python-docx-page.docx", "fields", "docx", field(" PAGE "))
    write("python-docx-dde.docx", "fields", "DataLink", field(' DDEAUTO c:\\\\notes.txt "harmless" '))
    write("python-docx-dde-split.docx", "fields", "DataLink", field(" DDE", 'AUTO c:\\\\notes.txt "harmless" '))
    write("python-docx-picture-field.docx", "fields", "Remote", field(' INCLUDEPICTURE "https://mira.example/x.png" \\d '))
    write("python-docx-text-field.docx", "fields", "Remote", field(' INCLUDETEXT "https://mira.example/x.docx" '))
    write("python-docx-local-picture.docx", "fields", "docx", field(' INCLUDEPICTURE "/var/folders/x.png" \\d '))

    def external(kind, target):
        kind = RELATIONSHIP_TYPE.IMAGE.replace("image", kind)
        return lambda document: document.part.relate_to(target, kind, is_external=True)

    write("python-docx-remote-picture.docx", "relationships", "Remote", external("image", "https://mira.example/x.png"))
    write("python-docx-remote-template.docx", "relationships", "Remote", external("attachedTemplate", "https://mira.example/x.dotm"))
    write("python-docx-mac-template.docx", "templates", "docx", external("attachedTemplate", "file:////Users/mira/Resume.dotx"))
    write("python-docx-windows-template.docx", "templates", "docx", external("attachedTemplate", "file:///C:\\Users\\mira\\R.dotx"))
    write("python-docx-server-template.docx", "templates", "Remote", external("attachedTemplate", "file:///\\\\server\\home$\\R.dotx"))
    write("python-docx-linked-disk.docx", "rare variants", "docx", external("image", "file:///C:\\Users\\mira\\photo.png"))

    def linked_picture(document):
        """A picture whose relationship claims to be a link."""
        identifier = document.part.relate_to("https://mira.example/x.png", RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        for blip in document.element.iter(qn("a:blip")):
            blip.set(qn("r:link"), identifier)

    write("python-docx-picture-as-link.docx", "relationships", "Remote", linked_picture)

    buffer = io.BytesIO()
    template = docxtpl.DocxTemplate(files.path("python-docx.docx"))
    template.render({})
    template.save(buffer)
    files.add("docxtpl.docx", f"docxtpl {version('docxtpl')}", "main part", "docx", buffer.getvalue())
    buffer, document = io.BytesIO(), docx.Document()
    htmldocx.HtmlToDocx().add_html_to_document(html().split("</head>")[1], document)
    document.save(buffer)
    files.add("htmldocx.docx", f"htmldocx {version('htmldocx')}", "main part", "docx", buffer.getvalue())
    plain, buffer = io.BytesIO(), io.BytesIO()
    # The smallest document: the container of an encrypted one is large.
    types = f'<Types xmlns="{CONTENT_TYPES}"><Override PartName="/word/document.xml" ContentType="{WORD}"/></Types>'
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr("word/document.xml", "<document/>")
    msoffcrypto.OfficeFile(plain).encrypt("secret", buffer)
    files.add("msoffcrypto.docx", f"msoffcrypto-tool {version('msoffcrypto-tool')}", "passwords of DOCX", "Password", buffer.getvalue())


def open_documents():
    import odfdo
    from odf import draw, text
    from odf.opendocument import OpenDocumentText

    producer = f"odfpy {version('odfpy')}"

    def write(name, rows, verdict, change=lambda document: None):
        document, buffer = OpenDocumentText(), io.BytesIO()
        document.text.addElement(text.H(outlinelevel=1, text=NAME))
        paragraph = text.P(text=TITLE)
        paragraph.addElement(text.A(href=LINK, text="mira.example"))
        document.text.addElement(paragraph)
        for section, lines in SECTIONS.items():
            document.text.addElement(text.H(outlinelevel=2, text=section))
            for line in lines:
                document.text.addElement(text.P(text=line))
        change(document)
        document.write(buffer)
        files.add(name, producer, rows, verdict, buffer.getvalue())

    def image(href):
        def change(document):
            frame, paragraph = draw.Frame(width="1cm", height="1cm"), text.P()
            frame.addElement(draw.Image(href=href))
            paragraph.addElement(frame)
            document.text.addElement(paragraph)

        return change

    def embedded(document):
        image(document.addPictureFromString(picture(), "image/png"))(document)

    def object_elsewhere(document):
        frame, paragraph = draw.Frame(width="1cm", height="1cm"), text.P()
        frame.addElement(draw.Object(href="https://mira.example/x.odt"))
        paragraph.addElement(frame)
        document.text.addElement(paragraph)

    write("odfpy.odt", "references in ODT", "odt", embedded)
    write("odfpy-remote-picture.odt", "references in ODT", "Remote", image("https://mira.example/x.png"))
    write("odfpy-server-picture.odt", "references in ODT", "Remote", image("file://server.example/x.png"))
    write("odfpy-remote-object.odt", "references in ODT", "Remote", object_elsewhere)

    def dde(document):
        declarations = text.DdeConnectionDecls()
        connection = {"name": "x", "ddeapplication": "soffice", "ddetopic": "x.odt", "ddeitem": "x"}
        declarations.addElement(text.DdeConnectionDecl(**connection))
        document.text.addElement(declarations)

    write("odfpy-dde.odt", "references in ODT", "DataLink", dde)
    document, buffer = odfdo.Document("text"), io.BytesIO()
    document.body.append(odfdo.Paragraph(f"{NAME}: {TITLE}"))
    document.save(buffer)
    files.add("odfdo.odt", f"odfdo {version('odfdo')}", "references in ODT", "odt", buffer.getvalue())
    for name, target, verdict in [("picture", "https://mira.example/x.png", "Remote"), ("server-picture", "//server/x.png", "Remote")]:
        document, paragraph, buffer = odfdo.Document("text"), odfdo.Paragraph(NAME), io.BytesIO()
        paragraph.append(odfdo.Frame.image_frame(target, size=("1cm", "1cm")))
        document.body.append(paragraph)
        document.save(buffer)
        files.add(f"odfdo-remote-{name}.odt", f"odfdo {version('odfdo')}", "references in ODT", verdict, buffer.getvalue())
    document = odfdo.Document("spreadsheet")
    buffer = io.BytesIO()
    document.save(buffer)
    files.add("odfdo.ods", f"odfdo {version('odfdo')}", "causes", "OtherDocument", buffer.getvalue())


def rich_text():
    from PyRTF.document.section import Section
    from PyRTF.Elements import Document
    from PyRTF.Renderer import Renderer

    document, section = Document(), Section()
    document.Sections.append(section)
    for line in [NAME, TITLE, *SECTIONS]:
        section.append(line)
    buffer = io.StringIO()
    Renderer().Write(document, buffer)
    files.add("pyrtf.rtf", f"PyRTF3 {version('PyRTF3')}", "rare variants", "rtf", buffer.getvalue().encode("ascii"))


failed = []
for make in (reportlabs, fpdf2, weasyprint, borb, pikepdf, pypdf, pymupdf, typst, other_pdfs, word_documents, open_documents, rich_text):
    try:
        make()
    except Exception as error:  # noqa: BLE001
        failed.append(make.__name__)
        import traceback

        traceback.print_exc()
sys.exit(f"failed: {failed}" if failed else 0)
