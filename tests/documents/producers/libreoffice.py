"""Files that need LibreOffice's API. Usage: libreoffice.py DOCUMENT FOLDER, while LibreOffice accepts the pipe `documents`."""

import pathlib
import sys
import time

import uno
from com.sun.star.awt import Size
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException
from com.sun.star.style.BreakType import PAGE_BEFORE

document, folder = (pathlib.Path(path).absolute() for path in sys.argv[1:])


def connected():
    resolver = uno.getComponentContext().ServiceManager.createInstance("com.sun.star.bridge.UnoUrlResolver")
    for _ in range(600):
        try:
            return resolver.resolve("uno:pipe,name=documents;urp;StarOffice.ComponentContext")
        except NoConnectException:
            time.sleep(0.1)
    sys.exit("LibreOffice does not answer")


def properties(**values):
    return tuple(PropertyValue(Name=name, Value=value) for name, value in values.items())


desktop = connected().ServiceManager.createInstance("com.sun.star.frame.Desktop")
text = desktop.loadComponentFromURL(document.as_uri(), "_blank", 0, properties(Hidden=True))
# The references are on the second page.
for paragraph in text.getText():
    if paragraph.getString() == "References":
        paragraph.BreakType = PAGE_BEFORE
text.storeToURL((folder / "resume.odt").as_uri(), properties(FilterName="writer8"))
for extension, writer in [("doc", "MS Word 97"), ("odt", "writer8")]:
    url = (folder / f"password.{extension}").as_uri()
    text.storeToURL(url, properties(FilterName=writer, Password="secret"))
# A field for a date has scripts that check what is typed.
for name, kind in [("form", "TextField"), ("date", "DateField")]:
    control = text.createInstance(f"com.sun.star.form.component.{kind}")
    shape = text.createInstance("com.sun.star.drawing.ControlShape")
    shape.setSize(Size(4000, 800))
    shape.setControl(control)
    text.getDrawPage().add(shape)
    text.storeToURL((folder / f"{name}.pdf").as_uri(), properties(FilterName="writer_pdf_Export"))
text.close(True)
try:
    desktop.terminate()
except Exception:  # noqa: BLE001, S110: it ends before it answers.
    pass
