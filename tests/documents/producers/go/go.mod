module documents

go 1.25.0

require (
	codeberg.org/go-pdf/fpdf v0.12.0
	github.com/johnfercher/maroto/v2 v2.3.3
	github.com/signintech/gopdf v0.33.0
)

require (
	github.com/boombuler/barcode v1.1.0 // indirect
	github.com/f-amaral/go-async v0.3.0 // indirect
	github.com/google/uuid v1.5.0 // indirect
	github.com/hhrutter/lzw v1.0.0 // indirect
	github.com/hhrutter/tiff v1.0.1 // indirect
	github.com/johnfercher/go-tree v1.0.5 // indirect
	github.com/mattn/go-runewidth v0.0.15 // indirect
	github.com/pdfcpu/pdfcpu v0.6.0 // indirect
	github.com/phpdave11/gofpdf v1.4.3 // indirect
	github.com/phpdave11/gofpdi v1.0.16 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/rivo/uniseg v0.4.4 // indirect
	github.com/stretchr/testify v1.9.0 // indirect
	golang.org/x/image v0.40.0 // indirect
	golang.org/x/text v0.37.0 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
)
