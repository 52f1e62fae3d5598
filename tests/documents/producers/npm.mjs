// Files by producers from npm. Usage: node npm.mjs FOLDER DEBIAN, with the folder of files from Debian.
import fs from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);
const [folder, debian] = process.argv.slice(2);
const NAME = "Mira Okonski";
const TITLE = "Java/JavaScript developer, Product/Launch lead";
const LINK = "https://mira.example/Launch?a=(JavaScript)";
const SECTIONS = ["Skills (HTML/CSS/JavaScript)", "TV/Movie recommendations", "Experience"];
const WHEN = new Date("2026-11-20T09:30:00Z");
const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

fs.mkdirSync(folder, { recursive: true });
fs.writeFileSync(`${folder}/table.tsv`, "");

function add(name, producer, rows, verdict, content) {
  // Some packages do not let programs read their version as a module.
  const manifest = JSON.parse(fs.readFileSync(`node_modules/${producer}/package.json`, "utf8"));
  fs.writeFileSync(`${folder}/${name}`, Buffer.from(content));
  fs.appendFileSync(`${folder}/table.tsv`, `${name}\t${producer} ${manifest.version}\t${rows}\t${verdict}\n`);
}

function collected(stream) {
  return new Promise((resolve, reject) => {
    const parts = [];
    stream.on("data", (part) => parts.push(part));
    stream.on("end", () => resolve(Buffer.concat(parts)));
    stream.on("error", reject);
  });
}

async function pdfkit() {
  const PDFDocument = require("pdfkit");
  const write = async (name, rows, verdict, options, change = () => {}) => {
    const info = { Title: TITLE, Keywords: "HTML/CSS/JavaScript", CreationDate: WHEN };
    const document = new PDFDocument({ info, ...options });
    const content = collected(document);
    document.text(`${NAME}: ${TITLE}`, { link: LINK });
    document.image(PICTURE, 500, 20, { width: 20 });
    for (const section of SECTIONS) {
      document.outline.addItem(section);
      document.text(section);
    }
    change(document);
    document.addPage().text("References on request.");
    document.end();
    add(name, "pdfkit", rows, verdict, await content);
  };
  await write("pdfkit.pdf", "words that look like actions", "pdf", {});
  await write("pdfkit-uncompressed.pdf", "words that look like actions", "pdf", { compress: false });
  for (const pdfVersion of ["1.3", "1.4", "1.6", "1.7", "1.7ext3"]) {
    const restricted = { pdfVersion, ownerPassword: "x", permissions: { printing: "highResolution" } };
    await write(`pdfkit-restricted-${pdfVersion}.pdf`, "protection", "pdf", restricted);
  }
  await write("pdfkit-password.pdf", "protection", "Password", { pdfVersion: "1.7", userPassword: "secret" });
  await write("pdfkit-date.pdf", "form scripts", "PdfScript", {}, (document) => {
    document.initForm();
    document.formText("date", 10, 10, 100, 20, { format: { type: "date", param: "mm/dd/yyyy" } });
  });
  await write("pdfkit-form.pdf", "form scripts", "pdf", {}, (document) => {
    document.initForm();
    document.formText("name", 10, 10, 100, 20);
  });
  const attach = (name, text) => (document) => document.file(Buffer.from(text), { name, creationDate: WHEN });
  await write("pdfkit-json.pdf", "attached files", "pdf", {}, attach("resume.json", "{}"));
  await write("pdfkit-program.pdf", "attached files", "Attachment", {}, attach("resume.bat", "harmless"));
}

async function pdfmake() {
  const pdfMake = require("pdfmake");
  const font = { normal: "Helvetica", bold: "Helvetica-Bold", italics: "Helvetica", bolditalics: "Helvetica" };
  const document = {
    info: { title: TITLE, keywords: "HTML/CSS/JavaScript", creationDate: WHEN },
    defaultStyle: { font: "Helvetica" },
    content: [{ text: `${NAME}: ${TITLE}`, link: LINK }, ...SECTIONS, { text: "References", pageBreak: "before" }],
  };
  let content;
  if (pdfMake.createPdf) {
    pdfMake.setFonts({ Helvetica: font });
    content = await pdfMake.createPdf(document).getBuffer();
  } else {
    const printed = new pdfMake({ Helvetica: font }).createPdfKitDocument(document);
    content = collected(printed);
    printed.end();
  }
  add("pdfmake.pdf", "pdfmake", "words that look like actions", "pdf", await content);
}

async function jspdf() {
  const { jsPDF } = require("jspdf");
  const write = (name, rows, verdict, options, change = () => {}) => {
    const document = new jsPDF(options);
    document.setProperties({ title: TITLE, keywords: "HTML/CSS/JavaScript" });
    document.setCreationDate(WHEN);
    document.setFileId("0123456789ABCDEF0123456789ABCDEF");
    document.textWithLink(`${NAME}: ${TITLE}`, 10, 10, { url: LINK });
    SECTIONS.forEach((section, number) => {
      document.text(section, 10, 20 + 10 * number);
      document.outline.add(null, section, { pageNumber: 1 });
    });
    document.addPage();
    change(document);
    add(name, "jspdf", rows, verdict, document.output("arraybuffer"));
  };
  write("jspdf.pdf", "words that look like actions", "pdf", {});
  write("jspdf-compressed.pdf", "words that look like actions", "pdf", { compress: true });
  write("jspdf-print.pdf", "acts on opening", "pdf", {}, (document) => document.autoPrint());
  const print = (document) => document.autoPrint({ variant: "javascript" });
  write("jspdf-print-script.pdf", "form scripts", "PdfScript", {}, print);
  const restricted = { encryption: { userPassword: "", ownerPassword: "x", userPermissions: ["print"] } };
  write("jspdf-restricted.pdf", "protection", "pdf", restricted);
  write("jspdf-password.pdf", "protection", "Password", { encryption: { userPassword: "secret", ownerPassword: "x" } });
  write("jspdf-script.pdf", "object streams", "PdfScript", {}, (document) => document.addJS("app.alert('harmless')"));
}

async function pdfLib() {
  const { PDFDocument, PDFName, PDFString } = require("pdf-lib");
  const write = async (name, rows, verdict, change = () => {}, options = {}) => {
    const document = await PDFDocument.create();
    document.setTitle(TITLE);
    document.setKeywords(["HTML/CSS/JavaScript"]);
    document.setCreationDate(WHEN);
    document.setModificationDate(WHEN);
    const page = document.addPage();
    page.drawText(`${NAME}: ${TITLE}`);
    page.drawImage(await document.embedPng(PICTURE), { x: 500, y: 700, width: 20, height: 20 });
    await change(document, page);
    document.addPage();
    add(name, "pdf-lib", rows, verdict, await document.save(options));
  };
  await write("pdf-lib.pdf", "words that look like actions", "pdf");
  await write("pdf-lib-table.pdf", "words that look like actions", "pdf", undefined, { useObjectStreams: false });
  const attach = (name, text) => (document) => document.attach(Buffer.from(text), name, { creationDate: WHEN });
  await write("pdf-lib-json.pdf", "attached files", "pdf", attach("resume.json", "{}"));
  await write("pdf-lib-program.pdf", "attached files", "Attachment", attach("resume.vbs", "harmless"));
  await write("pdf-lib-script.pdf", "object streams", "PdfScript", (document) =>
    document.addJavaScript("x", "app.alert('harmless')"),
  );
  await write("pdf-lib-opens-page.pdf", "acts on opening", "OpensByItself", (document) => {
    const page = document.context.obj({ S: "URI", URI: PDFString.of("https://mira.example") });
    document.catalog.set(PDFName.of("OpenAction"), page);
  });
  // 20 MB of spaces in an object stream.
  await write("pdf-lib-bomb.pdf", "work", "TooComplex", (document) =>
    document.catalog.set(PDFName.of("Lang"), PDFString.of(" ".repeat(20 << 20))),
  );
  // The action's kind is an object of its own.
  await write("pdf-lib-script-by-reference.pdf", "object streams, hidden objects", "PdfScript", (document) => {
    const kind = document.context.register(PDFName.of("JavaScript"));
    const action = document.context.obj({ S: kind, JS: PDFString.of("app.alert('harmless')") });
    document.catalog.set(PDFName.of("OpenAction"), document.context.register(action));
  });
}

async function reactPdf() {
  const React = require("react");
  const entry = require.resolve("@react-pdf/renderer");
  const { Document, Image, Link, Page, Text, renderToBuffer } = await import(entry.replace(/\.cjs$/, ".js"));
  const page = React.createElement(
    Page,
    { bookmark: SECTIONS[0] },
    React.createElement(Text, null, `${NAME}: ${TITLE}`),
    React.createElement(Link, { src: LINK }, "mira.example"),
    React.createElement(Image, { src: `data:image/png;base64,${PICTURE.toString("base64")}`, style: { width: 20 } }),
  );
  const options = { title: TITLE, keywords: "HTML/CSS/JavaScript", creationDate: WHEN };
  const document = React.createElement(Document, options, page, React.createElement(Page));
  add("react-pdf.pdf", "@react-pdf/renderer", "words that look like actions", "pdf", await renderToBuffer(document));
}

async function docx() {
  const { Document, ExternalHyperlink, HeadingLevel, ImageRun, Packer, Paragraph, TextRun } = require("docx");
  const heading = (text) => new Paragraph({ text, heading: HeadingLevel.HEADING_1 });
  const image = new ImageRun({ type: "png", data: PICTURE, transformation: { width: 20, height: 20 } });
  const link = new ExternalHyperlink({ link: LINK, children: [new TextRun("mira.example")] });
  const children = [heading(NAME), new Paragraph({ children: [link, image] }), ...SECTIONS.map(heading)];
  const document = new Document({ title: TITLE, sections: [{ children }, { children: [heading("References")] }] });
  add("docx.docx", "docx", "relationships", "docx", await Packer.toBuffer(document));
}

async function docxVariants() {
  const { Document, Packer, Paragraph, SimpleField, TextRun } = require("docx");
  const write = async (name, rows, verdict, child) => {
    const document = new Document({ sections: [{ children: [new Paragraph({ children: [new TextRun(NAME), child] })] }] });
    add(name, "docx", rows, verdict, await Packer.toBuffer(document));
  };
  await write("docx-dde.docx", "fields", "DataLink", new SimpleField(' DDEAUTO c:\\\\notes.txt "harmless" '));
  await write("docx-page.docx", "fields", "docx", new SimpleField(" NUMPAGES "));
  await write("docx-bomb.docx", "work", "TooComplex", new TextRun("a".repeat(20 << 20)));
}

async function cfb() {
  const CFB = require("cfb");
  for (const [name, storage] of [["cfb-macros.doc", "Macros"], ["cfb-macros-capitals.doc", "MACROS"]]) {
    const container = CFB.read(fs.readFileSync(`${debian}/libreoffice.doc`), { type: "buffer" });
    CFB.utils.cfb_add(container, `/${storage}/VBA/x`, Buffer.from("x"));
    add(name, "cfb", "names in DOC", "Macros", CFB.write(container, { type: "buffer" }));
  }
}

async function docxtemplater() {
  const PizZip = require("pizzip");
  const Docxtemplater = require("docxtemplater");
  const document = new Docxtemplater(new PizZip(fs.readFileSync(`${folder}/docx.docx`)));
  document.render({});
  const content = document.getZip().generate({ type: "nodebuffer", compression: "DEFLATE" });
  add("docxtemplater.docx", "docxtemplater", "main part", "docx", content);
}

async function htmlToDocx() {
  const convert = require("html-to-docx");
  const html = `<h1>${NAME}</h1><p><a href="${LINK}">${TITLE}</a></p>${SECTIONS.map((title) => `<h2>${title}</h2>`).join("")}`;
  add("html-to-docx.docx", "html-to-docx", "relationships", "docx", await convert(html));
}

async function officegen() {
  const document = require("officegen")("docx");
  const paragraph = document.createP();
  paragraph.addText(`${NAME}: ${TITLE}`, { link: LINK });
  const { PassThrough } = require("node:stream");
  const stream = new PassThrough();
  const content = collected(stream);
  document.generate(stream);
  add("officegen.docx", "officegen", "relationships", "docx", await content);
}

let failed = false;
for (const make of [pdfkit, pdfmake, jspdf, pdfLib, reactPdf, docx, docxVariants, cfb, docxtemplater, htmlToDocx, officegen]) {
  try {
    await make();
  } catch (error) {
    console.error(make.name, error);
    failed = true;
  }
}
process.exit(failed ? 1 : 0);
