import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;

/** Files by producers from Maven Central. Usage: java -cp 'lib/*' Make.java FOLDER */
public class Make {
    static final String NAME = "Mira Okonski";
    static final String TITLE = "Java/JavaScript developer, Product/Launch lead";
    static final String LINK = "https://mira.example/Launch?a=(JavaScript)";
    static final List<String> SECTIONS = List.of("Skills (HTML/CSS/JavaScript)", "TV/Movie recommendations", "Experience");
    static Path folder;

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
                add("poi-password-" + mode + ".docx", "POI 5.4.1", "passwords", "Password", content.toByteArray());
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

    static void docx4j() throws Exception {
        var document = org.docx4j.openpackaging.packages.WordprocessingMLPackage.createPackage();
        document.getMainDocumentPart().addParagraphOfText(NAME + ": " + TITLE);
        SECTIONS.forEach(document.getMainDocumentPart()::addParagraphOfText);
        var content = new ByteArrayOutputStream();
        document.save(content);
        add("docx4j.docx", "docx4j 11.5.3", "main part", "docx", content.toByteArray());
    }

    public static void main(String[] arguments) throws Exception {
        folder = Path.of(arguments[0]);
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
