"""The resume that every producer writes, and the list of what was written.

All people and places are invented. Some words look like actions in a PDF: web developers write them.
"""

import io
import pathlib
import zlib

NAME = "Mira Okonski"
TITLE = "Java/JavaScript developer, Product/Launch lead"
LINK = "https://mira.example/Launch?a=(JavaScript)"
SECTIONS = {
    "Skills (HTML/CSS/JavaScript)": ["TypeScript, Rust and SQL.", "TV/Movie recommendations; EmbeddedFile formats."],
    "Experience": [
        "2021 to 2026: led the Product/Launch team of a company that does not exist.",
        "2017 to 2021: wrote interactive forms: SubmitForm, ImportData, XFA.",
    ],
    "Education": ["Applied mathematics in Zoëville, née Musterstadt."],
}
DATA = b'<?xml version="1.0" encoding="UTF-8"?>\n<Candidate><Name>Mira Okonski</Name></Candidate>\n'
JSON = b'{"basics": {"name": "Mira Okonski"}}\n'


def picture():
    """A small PNG."""
    from PIL import Image

    file = io.BytesIO()
    Image.linear_gradient("L").resize((24, 24)).save(file, "PNG")
    return file.getvalue()


def html():
    sections = "".join(
        f"<h2 id='JavaScript{number}'>{title}</h2>" + "".join(f"<p>{line}</p>" for line in lines)
        for number, (title, lines) in enumerate(SECTIONS.items())
    )
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{NAME}: {TITLE}</title></head>"
        f"<body><h1 id='JavaScript'>{NAME}</h1><p>{TITLE}</p><p><a href='{LINK}'>mira.example</a> "
        f"<a href='#JavaScript1'>Experience</a></p>{sections}"
        "<h2 style='page-break-before: always'>References</h2><p>On request.</p></body></html>"
    )


class Files:
    """Files that one registry's producers wrote, with what they show and the expected verdict."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows = self.folder / "table.tsv"
        self.rows.write_text("")

    def add(self, name, producer, shows, verdict, content=None):
        """Adds a file, whose content may have been written already."""
        path = self.folder / name
        if content is not None:
            path.write_bytes(content)
        with self.rows.open("a") as table:
            table.write(f"{name}\t{producer}\t{shows}\t{verdict}\n")

    def path(self, name):
        return str(self.folder / name)
