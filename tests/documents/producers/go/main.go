// Files by producers in Go. Usage: go run . FOLDER
package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"github.com/johnfercher/maroto/v2"
	"github.com/johnfercher/maroto/v2/pkg/components/text"
	"github.com/johnfercher/maroto/v2/pkg/config"
	"github.com/signintech/gopdf"
)

const (
	name  = "Mira Okonski"
	title = "Java/JavaScript developer, Product/Launch lead"
	link  = "https://mira.example/Launch?a=(JavaScript)"
)

var (
	sections   = []string{"Skills (HTML/CSS/JavaScript)", "TV/Movie recommendations", "Experience"}
	picture, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	when       = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	folder     string
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Adds a file to the table.
func add(file, module, rows, verdict string, content []byte) {
	version := "?"
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			version = dependency.Version
		}
	}
	if content != nil {
		check(os.WriteFile(filepath.Join(folder, file), content, 0o644))
	}
	table, err := os.OpenFile(filepath.Join(folder, "table.tsv"), os.O_APPEND|os.O_WRONLY, 0o644)
	check(err)
	defer table.Close()
	short := strings.TrimPrefix(strings.TrimPrefix(module, "codeberg.org/"), "github.com/")
	fmt.Fprintf(table, "%s\t%s %s\t%s\t%s\n", file, short, version, rows, verdict)
}

func withFpdf(file, rows, verdict string, change func(*fpdf.Fpdf)) {
	pdf := fpdf.New("P", "mm", "A4", "")
	pdf.SetCreationDate(when)
	pdf.SetModificationDate(when)
	pdf.SetCatalogSort(true)
	pdf.SetTitle(title, true)
	pdf.AddPage()
	pdf.SetFont("Helvetica", "", 12)
	pdf.CellFormat(100, 10, name+": "+title, "", 1, "", false, 0, link)
	pdf.RegisterImageOptionsReader("x", fpdf.ImageOptions{ImageType: "png"}, bytes.NewReader(picture))
	pdf.ImageOptions("x", 180, 10, 10, 10, false, fpdf.ImageOptions{}, 0, "")
	for _, section := range sections {
		pdf.Bookmark(section, 0, -1)
		pdf.CellFormat(100, 10, section, "", 1, "", false, 0, "")
	}
	pdf.AddPage()
	change(pdf)
	var content bytes.Buffer
	check(pdf.Output(&content))
	add(file, "codeberg.org/go-pdf/fpdf", rows, verdict, content.Bytes())
}

func main() {
	folder = os.Args[1]
	check(os.MkdirAll(folder, 0o755))
	check(os.WriteFile(filepath.Join(folder, "table.tsv"), nil, 0o644))

	withFpdf("go-fpdf.pdf", "empty lists", "pdf", func(*fpdf.Fpdf) {})
	withFpdf("go-fpdf-uncompressed.pdf", "words that look like actions, empty lists", "pdf", func(pdf *fpdf.Fpdf) { pdf.SetCompression(false) })
	withFpdf("go-fpdf-restricted.pdf", "protection", "pdf", func(pdf *fpdf.Fpdf) { pdf.SetProtection(fpdf.CnProtectPrint, "", "x") })
	withFpdf("go-fpdf-password.pdf", "protection", "Password", func(pdf *fpdf.Fpdf) { pdf.SetProtection(0, "secret", "x") })
	withFpdf("go-fpdf-script.pdf", "object streams", "PdfScript", func(pdf *fpdf.Fpdf) { pdf.SetJavascript("app.alert('harmless')") })
	withFpdf("go-fpdf-xml.pdf", "attached files", "pdf", func(pdf *fpdf.Fpdf) {
		pdf.SetAttachments([]fpdf.Attachment{{Content: []byte("<Candidate/>"), Filename: "candidate.xml"}})
	})
	withFpdf("go-fpdf-program.pdf", "attached files", "Attachment", func(pdf *fpdf.Fpdf) {
		pdf.SetAttachments([]fpdf.Attachment{{Content: []byte("harmless"), Filename: "resume.cmd"}})
	})

	document := maroto.New(config.NewBuilder().WithTitle(title, true).WithCreationDate(when).Build())
	for _, section := range append([]string{name, title}, sections...) {
		document.AddRow(10, text.NewCol(12, section))
	}
	generated, err := document.Generate()
	check(err)
	add("go-maroto.pdf", "github.com/johnfercher/maroto/v2", "empty lists", "pdf", generated.GetBytes())

	for _, restricted := range []bool{false, true} {
		pdf := gopdf.GoPdf{}
		settings := gopdf.Config{PageSize: *gopdf.PageSizeA4}
		file, rows := "go-gopdf.pdf", "words that look like actions"
		if restricted {
			settings.Protection = gopdf.PDFProtectionConfig{UseProtection: true, Permissions: gopdf.PermissionsPrint, OwnerPass: []byte("x")}
			file, rows = "go-gopdf-restricted.pdf", "protection"
		}
		pdf.Start(settings)
		pdf.SetInfo(gopdf.PdfInfo{Title: title, CreationDate: when})
		pdf.AddPage()
		pdf.AddExternalLink(link, 10, 10, 100, 10)
		pdf.AddOutline(sections[0])
		pdf.AddPage()
		add(file, "github.com/signintech/gopdf", rows, "pdf", pdf.GetBytesPdf())
	}
}
