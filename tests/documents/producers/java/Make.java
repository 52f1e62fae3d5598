import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;

/** Files by producers from Maven Central. Usage: java -cp 'lib/*' Make.java FOLDER DEBIAN, with the folder of files from Debian. */
public class Make {
    static final String NAME = "Mira Okonski";
    static final String TITLE = "Java/JavaScript developer, Product/Launch lead";
    static final String LINK = "https://mira.example/Launch?a=(JavaScript)";
    static final List<String> SECTIONS = List.of("Skills (HTML/CSS/JavaScript)", "TV/Movie recommendations", "Experience");
    static Path folder;
    static Path debian;

    interface Step {
        void run() throws Exception;
    }

    static void add(String file, String producer, String rows, String verdict, byte[] content) throws IOException {
        Files.write(folder.resolve(file), content);
        var row = String.join("\t", file, producer, rows, verdict) + "\n";
        Files.writeString(folder.resolve("table.tsv"), row, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    interface PdfBoxChange {
        void change(org.apache.pdfbox.pdmodel.PDDocument document) throws IOException;
    }

    static void pdfBox(String file, String rows, String verdict, PdfBoxChange change) throws IOException {
        try (var document = new org.apache.pdfbox.pdmodel.PDDocument()) {
            var page = new org.apache.pdfbox.pdmodel.PDPage();
            document.addPage(page);
            document.getDocumentInformation().setTitle(TITLE);
            var font = new org.apache.pdfbox.pdmodel.font.PDType1Font(
                    org.apache.pdfbox.pdmodel.font.Standard14Fonts.FontName.HELVETICA);
            try (var stream = new org.apache.pdfbox.pdmodel.PDPageContentStream(document, page)) {
                stream.beginText();
                stream.setFont(font, 12);
                stream.newLineAtOffset(60, 700);
                stream.showText(NAME + ": " + TITLE);
                stream.endText();
            }
            var link = new org.apache.pdfbox.pdmodel.interactive.annotation.PDAnnotationLink();
            var action = new org.apache.pdfbox.pdmodel.interactive.action.PDActionURI();
            action.setURI(LINK);
            link.setAction(action);
            page.getAnnotations().add(link);
            var outline = new org.apache.pdfbox.pdmodel.interactive.documentnavigation.outline.PDDocumentOutline();
            document.getDocumentCatalog().setDocumentOutline(outline);
            for (var section : SECTIONS) {
                var item = new org.apache.pdfbox.pdmodel.interactive.documentnavigation.outline.PDOutlineItem();
                item.setTitle(section);
                item.setDestination(page);
                outline.addLast(item);
            }
            document.addPage(new org.apache.pdfbox.pdmodel.PDPage());
            change.change(document);
            var content = new ByteArrayOutputStream();
            document.save(content);
            add(file, "PDFBox 3.0.5", rows, verdict, content.toByteArray());
        }
    }

    static PdfBoxChange protect(String user, int length) {
        return document -> {
            var permission = new org.apache.pdfbox.pdmodel.encryption.AccessPermission();
            permission.setCanModify(false);
            var policy = new org.apache.pdfbox.pdmodel.encryption.StandardProtectionPolicy("x", user, permission);
            policy.setEncryptionKeyLength(length);
            policy.setPreferAES(length > 40);
            document.protect(policy);
        };
    }

    static PdfBoxChange attach(String name, String text) {
        return document -> {
            var bytes = new java.io.ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
            var embedded = new org.apache.pdfbox.pdmodel.common.filespecification.PDEmbeddedFile(document, bytes);
            var specification = new org.apache.pdfbox.pdmodel.common.filespecification.PDComplexFileSpecification();
            specification.setFile(name);
            specification.setFileUnicode(name);
            specification.setEmbeddedFile(embedded);
            var tree = new org.apache.pdfbox.pdmodel.PDEmbeddedFilesNameTreeNode();
            tree.setNames(Map.of(name, specification));
            var names = new org.apache.pdfbox.pdmodel.PDDocumentNameDictionary(document.getDocumentCatalog());
            names.setEmbeddedFiles(tree);
            document.getDocumentCatalog().setNames(names);
        };
    }

    static void pdfBoxes() throws IOException {
        pdfBox("pdfbox.pdf", "words that look like actions", "pdf", document -> {});
        for (var length : new int[] {40, 128, 256}) {
            pdfBox("pdfbox-restricted-" + length + ".pdf", "protection", "pdf", protect("", length));
        }
        pdfBox("pdfbox-password.pdf", "protection", "Password", protect("secret", 256));
        pdfBox("pdfbox-xml.pdf", "attached files", "pdf", attach("candidate.xml", "<Candidate/>"));
        pdfBox("pdfbox-program.pdf", "attached files", "Attachment", attach("resume.jar", "harmless"));
        pdfBox("pdfbox-script.pdf", "object streams", "PdfScript", document -> document.getDocumentCatalog().setOpenAction(
                new org.apache.pdfbox.pdmodel.interactive.action.PDActionJavaScript("app.alert('harmless')")));
        pdfBox("pdfbox-launch.pdf", "acts on opening", "Launch", document -> {
            var launch = new org.apache.pdfbox.pdmodel.interactive.action.PDActionLaunch();
            launch.setF("notes.txt");
            document.getDocumentCatalog().setOpenAction(launch);
        });
        pdfBox("pdfbox-opens-page.pdf", "acts on opening", "OpensByItself", document -> {
            var page = new org.apache.pdfbox.pdmodel.interactive.action.PDActionURI();
            page.setURI("https://mira.example");
            document.getDocumentCatalog().setOpenAction(page);
        });
        pdfBox("pdfbox-date.pdf", "form scripts", "PdfScript", document -> {
            var form = new org.apache.pdfbox.pdmodel.interactive.form.PDAcroForm(document);
            document.getDocumentCatalog().setAcroForm(form);
            var field = new org.apache.pdfbox.pdmodel.interactive.form.PDTextField(form);
            field.setPartialName("date");
            var actions = new org.apache.pdfbox.pdmodel.interactive.action.PDFormFieldAdditionalActions();
            var format = "AFDate_FormatEx(\"yyyy-mm-dd\");";
            actions.setF(new org.apache.pdfbox.pdmodel.interactive.action.PDActionJavaScript(format));
            field.getCOSObject().setItem(org.apache.pdfbox.cos.COSName.AA, actions);
            form.setFields(List.of(field));
        });
    }

    static void openPdf(String file, String rows, String verdict, String password) throws Exception {
        var document = new com.lowagie.text.Document();
        var content = new ByteArrayOutputStream();
        var writer = com.lowagie.text.pdf.PdfWriter.getInstance(document, content);
        if (password != null) {
            writer.setEncryption(password.getBytes(), "x".getBytes(), 4, com.lowagie.text.pdf.PdfWriter.ENCRYPTION_AES_128);
        }
        document.addTitle(TITLE);
        document.open();
        var anchor = new com.lowagie.text.Anchor(NAME + ": " + TITLE);
        anchor.setReference(LINK);
        document.add(anchor);
        for (var section : SECTIONS) {
            new com.lowagie.text.pdf.PdfOutline(
                    writer.getRootOutline(), new com.lowagie.text.pdf.PdfDestination(0), section);
            document.add(new com.lowagie.text.Paragraph(section));
        }
        document.newPage();
        document.add(new com.lowagie.text.Paragraph("References"));
        document.close();
        add(file, "OpenPDF 2.0.3", rows, verdict, content.toByteArray());
    }

    static void iText(String file, String rows, String verdict, String password, boolean isPacked) throws Exception {
        var content = new ByteArrayOutputStream();
        var properties = new com.itextpdf.kernel.pdf.WriterProperties();
        properties.setFullCompressionMode(isPacked);
        if (password != null) {
            var algorithm = com.itextpdf.kernel.pdf.EncryptionConstants.ENCRYPTION_AES_128;
            properties.setStandardEncryption(password.getBytes(), "x".getBytes(), 4, algorithm);
        }
        var pdf = new com.itextpdf.kernel.pdf.PdfDocument(new com.itextpdf.kernel.pdf.PdfWriter(content, properties));
        pdf.getDocumentInfo().setTitle(TITLE).setKeywords("HTML/CSS/JavaScript");
        try (var document = new com.itextpdf.layout.Document(pdf)) {
            var link = new com.itextpdf.layout.element.Link(
                    NAME, com.itextpdf.kernel.pdf.action.PdfAction.createURI(LINK));
            document.add(new com.itextpdf.layout.element.Paragraph(link));
            for (var section : SECTIONS) {
                pdf.getOutlines(false).addOutline(section);
                document.add(new com.itextpdf.layout.element.Paragraph(section));
            }
            document.add(new com.itextpdf.layout.element.AreaBreak());
        }
        add(file, "iText 9.2.0", rows, verdict, content.toByteArray());
    }

    static void fop() throws Exception {
        var content = new ByteArrayOutputStream();
        var factory = org.apache.fop.apps.FopFactory.newInstance(Path.of(".").toAbsolutePath().toUri());
        var blocks = new StringBuilder();
        var bookmarks = new StringBuilder();
        for (var section : SECTIONS) {
            blocks.append("<fo:block id='b").append(section.hashCode()).append("'>").append(section).append("</fo:block>");
            bookmarks.append("<fo:bookmark internal-destination='b").append(section.hashCode())
                    .append("'><fo:bookmark-title>").append(section).append("</fo:bookmark-title></fo:bookmark>");
        }
        var source = "<fo:root xmlns:fo='http://www.w3.org/1999/XSL/Format'><fo:layout-master-set>"
                + "<fo:simple-page-master master-name='a' page-width='21cm' page-height='29cm' margin='2cm'>"
                + "<fo:region-body/></fo:simple-page-master></fo:layout-master-set><fo:bookmark-tree>" + bookmarks
                + "</fo:bookmark-tree><fo:page-sequence master-reference='a'><fo:flow flow-name='xsl-region-body'>"
                + "<fo:block><fo:basic-link external-destination=\"" + LINK + "\">" + NAME + ": " + TITLE
                + "</fo:basic-link></fo:block>" + blocks
                + "<fo:block break-before='page'>References</fo:block></fo:flow></fo:page-sequence></fo:root>";
        var fop = factory.newFop("application/pdf", content);
        javax.xml.transform.TransformerFactory.newInstance().newTransformer().transform(
                new javax.xml.transform.stream.StreamSource(new StringReader(source)),
                new javax.xml.transform.sax.SAXResult(fop.getDefaultHandler()));
        add("fop.pdf", "FOP 2.11", "words that look like actions", "pdf", content.toByteArray());
    }

    interface WordChange {
        void change(org.apache.poi.xwpf.usermodel.XWPFDocument document) throws Exception;
    }

    /** A document of Word that is changed in a way that POI has no method for. */
    static void word(String file, String rows, String verdict, WordChange change) throws Exception {
        try (var document = new org.apache.poi.xwpf.usermodel.XWPFDocument()) {
            document.createParagraph().createRun().setText(NAME + ": " + TITLE);
            change.change(document);
            var content = new ByteArrayOutputStream();
            document.write(content);
            add(file, "POI 5.4.1", rows, verdict, content.toByteArray());
        }
    }

    static WordChange field(String instruction) {
        return document -> document.createParagraph().getCTP().addNewFldSimple().setInstr(instruction);
    }

    /** A picture or a template that is somewhere else. */
    static WordChange external(String kind, String target) {
        var type = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/" + kind;
        return document -> {
            var id = document.getPackagePart().addExternalRelationship(target, type).getId();
            if (kind.equals("hyperlink")) {
                var image = new java.awt.image.BufferedImage(24, 24, java.awt.image.BufferedImage.TYPE_BYTE_GRAY);
                var png = new ByteArrayOutputStream();
                javax.imageio.ImageIO.write(image, "png", png);
                var picture = new java.io.ByteArrayInputStream(png.toByteArray());
                var run = document.createParagraph().createRun();
                run.addPicture(picture, org.apache.poi.common.usermodel.PictureType.PNG, "photo.png", 9525, 9525);
                run.getEmbeddedPictures().get(0).getCTPicture().getBlipFill().getBlip().setLink(id);
            }
        };
    }

    static void words() throws Exception {
        word("poi-dde.docx", "fields", "DataLink", field(" DDEAUTO c:\\\\notes.txt \"harmless\" "));
        word("poi-picture-field.docx", "fields", "Remote", field(" INCLUDEPICTURE \"https://mira.example/x.png\" "));
        word("poi-remote-picture.docx", "relationships", "Remote", external("image", "https://mira.example/x.png"));
        word("poi-picture-as-link.docx", "relationships", "Remote", external("hyperlink", "https://mira.example/x.png"));
        word("poi-mac-template.docx", "templates", "docx", external("attachedTemplate", "file:////Users/mira/R.dotx"));
        word("poi-remote-template.docx", "templates", "Remote", external("attachedTemplate", "https://mira.example/R.dotx"));
    }

    /** Documents in Word's binary format, which POI can only change. */
    static void binaryWord() throws Exception {
        var plain = Files.readAllBytes(debian.resolve("libreoffice.doc"));
        org.apache.poi.hssf.record.crypto.Biff8EncryptionKey.setCurrentUserPassword("secret");
        try (var document = new org.apache.poi.hwpf.HWPFDocument(new java.io.ByteArrayInputStream(plain))) {
            var content = new ByteArrayOutputStream();
            document.write(content);
            add("poi-password.doc", "POI 5.4.1", "passwords of DOC and ODT", "Password", content.toByteArray());
        } finally {
            org.apache.poi.hssf.record.crypto.Biff8EncryptionKey.setCurrentUserPassword(null);
        }
        try (var document = new org.apache.poi.hwpf.HWPFDocument(new java.io.ByteArrayInputStream(plain))) {
            document.getRange().insertAfter("Changed by POI.");
            var content = new ByteArrayOutputStream();
            document.write(content);
            add("poi.doc", "POI 5.4.1", "names in DOC", "doc", content.toByteArray());
        }
        for (var name : List.of("Macros", "mAcRoS")) {
            try (var container = new org.apache.poi.poifs.filesystem.POIFSFileSystem(new java.io.ByteArrayInputStream(plain))) {
                container.createDirectory(name).createDocument("x", new java.io.ByteArrayInputStream(new byte[] {1}));
                var content = new ByteArrayOutputStream();
                container.writeFilesystem(content);
                var file = "poi-macros" + (name.equals("Macros") ? "" : "-capitals") + ".doc";
                add(file, "POI 5.4.1", "names in DOC", "Macros", content.toByteArray());
            }
        }
    }

    /** Documents in Word's binary format with the path of a template, to which POI gives no access. */
    static void binaryTemplates() throws Exception {
        template("poi-windows-template.doc", "C:\\Users\\mira\\Resume.dot", "doc");
        template("poi-remote-template.doc", "https://mira.example/Resume.dot", "Remote");
    }

    static void template(String file, String path, String verdict) throws Exception {
        var plain = new java.io.ByteArrayInputStream(Files.readAllBytes(debian.resolve("libreoffice.doc")));
        try (var container = new org.apache.poi.poifs.filesystem.POIFSFileSystem(plain)) {
            var word = container.createDocumentInputStream("WordDocument").readAllBytes();
            var table = container.createDocumentInputStream("1Table").readAllBytes();
            // A list of the names of files, in which the template is the second one.
            var names = java.nio.ByteBuffer.allocate(10 + 2 * path.length()).order(java.nio.ByteOrder.LITTLE_ENDIAN);
            names.putShort((short) -1).putShort((short) 2).putShort((short) 0).putShort((short) 0);
            names.putShort((short) path.length()).put(path.getBytes(StandardCharsets.UTF_16LE));
            var changed = java.util.Arrays.copyOf(table, table.length + names.capacity());
            System.arraycopy(names.array(), 0, changed, table.length, names.capacity());
            // The beginning of the document says where the list is, and how long.
            java.nio.ByteBuffer.wrap(word).order(java.nio.ByteOrder.LITTLE_ENDIAN)
                    .putInt(0x19A, table.length).putInt(0x19E, names.capacity());
            container.createOrUpdateDocument(new java.io.ByteArrayInputStream(word), "WordDocument");
            container.createOrUpdateDocument(new java.io.ByteArrayInputStream(changed), "1Table");
            var content = new ByteArrayOutputStream();
            container.writeFilesystem(content);
            add(file, "POI 5.4.1", "templates", verdict, content.toByteArray());
        }
    }

    static void openDocument() throws Exception {
        for (var password : new String[] {null, "secret"}) {
            try (var document = org.odftoolkit.odfdom.doc.OdfTextDocument.newTextDocument()) {
                document.addText(NAME + ": " + TITLE);
                var content = new ByteArrayOutputStream();
                if (password != null) {
                    document.getPackage().setPassword(password);
                }
                document.save(content);
                var row = password == null ? "references in ODT" : "passwords of DOC and ODT";
                var file = password == null ? "odfdom.odt" : "odfdom-password.odt";
                add(file, "ODFDOM 0.12.0", row, password == null ? "odt" : "Password", content.toByteArray());
            }
        }
    }

    static void poi() throws Exception {
        byte[] plain;
        try (var document = new org.apache.poi.xwpf.usermodel.XWPFDocument()) {
            var link = document.createParagraph().createHyperlinkRun(LINK);
            link.setText(NAME + ": " + TITLE);
            for (var section : SECTIONS) {
                document.createParagraph().createRun().setText(section);
            }
            var content = new ByteArrayOutputStream();
            document.write(content);
            plain = content.toByteArray();
        }
        add("poi.docx", "POI 5.4.1", "relationships", "docx", plain);
        for (var mode : List.of(org.apache.poi.poifs.crypt.EncryptionMode.agile, org.apache.poi.poifs.crypt.EncryptionMode.standard)) {
            try (var container = new org.apache.poi.poifs.filesystem.POIFSFileSystem()) {
                var encryptor = new org.apache.poi.poifs.crypt.EncryptionInfo(mode).getEncryptor();
                encryptor.confirmPassword("secret");
                try (var stream = encryptor.getDataStream(container)) {
                    stream.write(plain);
                }
                var content = new ByteArrayOutputStream();
                container.writeFilesystem(content);
                add("poi-password-" + mode + ".docx", "POI 5.4.1", "passwords of DOCX", "Password", content.toByteArray());
            }
        }
        try (var workbook = new org.apache.poi.xssf.usermodel.XSSFWorkbook()) {
            workbook.createSheet("Skills").createRow(0).createCell(0).setCellValue(TITLE);
            var content = new ByteArrayOutputStream();
            workbook.write(content);
            add("poi.xlsx", "POI 5.4.1", "causes", "OtherDocument", content.toByteArray());
        }
        try (var workbook = new org.apache.poi.hssf.usermodel.HSSFWorkbook()) {
            workbook.createSheet("Skills");
            var content = new ByteArrayOutputStream();
            workbook.write(content);
            add("poi.xls", "POI 5.4.1", "causes", "OtherDocument", content.toByteArray());
        }
    }

    static void docx4j(String file, String rows, String verdict, String name, String type, String template) throws Exception {
        var document = new org.docx4j.openpackaging.packages.WordprocessingMLPackage(
                new org.docx4j.openpackaging.contenttype.ContentTypeManager());
        var main = new org.docx4j.openpackaging.parts.WordprocessingML.MainDocumentPart(
                new org.docx4j.openpackaging.parts.PartName(name));
        main.setContentType(new org.docx4j.openpackaging.contenttype.ContentType(type));
        var factory = org.docx4j.jaxb.Context.getWmlObjectFactory();
        main.setJaxbElement(factory.createDocument());
        main.getJaxbElement().setBody(factory.createBody());
        document.addTargetPart(main);
        main.addParagraphOfText(NAME + ": " + TITLE);
        SECTIONS.forEach(main::addParagraphOfText);
        if (template != null) {
            var settings = new org.docx4j.openpackaging.parts.WordprocessingML.DocumentSettingsPart();
            settings.setJaxbElement(new org.docx4j.wml.CTSettings());
            main.addTargetPart(settings);
            var relationship = new org.docx4j.relationships.Relationship();
            relationship.setType(org.docx4j.openpackaging.parts.relationships.Namespaces.ATTACHED_TEMPLATE);
            relationship.setTarget(template);
            relationship.setTargetMode("External");
            settings.getRelationshipsPart().addRelationship(relationship);
        }
        var content = new ByteArrayOutputStream();
        document.save(content);
        add(file, "docx4j 11.5.3", rows, verdict, content.toByteArray());
    }

    static void docx4j() throws Exception {
        var usual = "/word/document.xml";
        var document = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
        var template = "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml";
        var macros = "application/vnd.ms-word.document.macroEnabled.main+xml";
        docx4j("docx4j.docx", "main part", "docx", usual, document, null);
        docx4j("docx4j-word-online.docx", "main part", "docx", "/word/document22.xml", document, null);
        docx4j("docx4j.dotx", "rare variants", "docx", usual, template, null);
        docx4j("docx4j.docm", "rare variants", "docm", usual, macros, null);
        docx4j("docx4j-windows-template.docx", "templates", "docx", usual, document, "file:///C:\\Users\\mira\\R.dotx");
        docx4j("docx4j-remote-template.docx", "templates", "Remote", usual, document, "https://mira.example/R.dotm");
    }

    public static void main(String[] arguments) throws Exception {
        folder = Path.of(arguments[0]);
        debian = Path.of(arguments[1]);
        Files.createDirectories(folder);
        Files.deleteIfExists(folder.resolve("table.tsv"));
        var failed = false;
        for (Step step : List.<Step>of(
                Make::pdfBoxes,
                () -> openPdf("openpdf.pdf", "words that look like actions", "pdf", null),
                () -> openPdf("openpdf-restricted.pdf", "protection", "pdf", ""),
                () -> openPdf("openpdf-password.pdf", "protection", "Password", "secret"),
                () -> iText("itext.pdf", "words that look like actions", "pdf", null, false),
                () -> iText("itext-packed.pdf", "words that look like actions", "pdf", null, true),
                () -> iText("itext-restricted.pdf", "protection", "pdf", "", true),
                Make::fop,
                Make::poi,
                Make::words,
                Make::binaryWord,
                Make::binaryTemplates,
                Make::openDocument,
                Make::docx4j)) {
            try {
                step.run();
            } catch (Exception | LinkageError error) {
                error.printStackTrace();
                failed = true;
            }
        }
        System.exit(failed ? 1 : 0);
    }
}
