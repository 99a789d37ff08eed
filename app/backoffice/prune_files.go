package backoffice

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"stampede/app/shop"
)

// ExportFile describes a compressed CSV file with the orders of a month.
type ExportFile struct {
	Name        string `json:"name,omitempty"` // orders-2026-01-3f2a9c1d.csv.gz: month, start of the checksum
	Month       string `json:"month"`          // in the time zone of the shop
	SHA256      string `json:"sha256,omitempty"`
	Orders      int    `json:"orders"`
	PaidFen     int64  `json:"paid_fen"`
	RefundedFen int64  `json:"refunded_fen"`
}

func (f *ExportFile) count(o *shop.Order) {
	f.Orders++
	if o.PaidAt > 0 {
		f.PaidFen += o.AmountFen
	}
	if o.State == shop.Refunded {
		f.RefundedFen += o.AmountFen
	}
}

// exportColumns are the columns of a file. They contain no personal data: no buyer, address, parcel or free text.
var exportColumns = []string{
	"order", "created", "sale", "product", "units", "price", "amount", "state", "paid", "ended", "trade",
}

// exportWriter writes a file. The file gets its name when it is complete and on disk.
type exportWriter struct {
	file   ExportFile
	zone   *time.Location
	folder string

	part *os.File // nil in a dry run
	sum  hash.Hash
	gzip *gzip.Writer
	csv  *csv.Writer
}

func newExportWriter(folder, month string, zone *time.Location, dryRun bool) (*exportWriter, error) {
	w := &exportWriter{file: ExportFile{Month: month}, zone: zone, folder: folder}
	if dryRun {
		return w, nil
	}
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		w.part, err = os.CreateTemp(folder, ".part-*") // mode 0600
	}
	if err != nil {
		return nil, fmt.Errorf("write the orders of %s: %w", month, err)
	}
	w.sum = sha256.New()
	w.gzip = gzip.NewWriter(io.MultiWriter(w.part, w.sum))
	_, err = io.WriteString(w.gzip, bom)
	w.csv = csv.NewWriter(w.gzip)
	return w, errors.Join(err, w.csv.Write(exportColumns))
}

func (w *exportWriter) add(o *shop.Order) error {
	w.file.count(o)
	if w.part == nil {
		return nil
	}
	at := func(instant shop.Millis) string {
		if instant == 0 {
			return ""
		}
		return localText(instant.Time().In(w.zone))
	}
	return w.csv.Write([]string{
		o.ID.String(), at(o.CreatedAt), o.Sale.String(), guardCell(o.ProductName), strconv.Itoa(o.Qty),
		shop.FormatFen(o.PriceFen), shop.FormatFen(o.AmountFen), string(o.State), at(o.PaidAt), at(o.CancelledAt),
		guardCell(o.TradeNo),
	})
}

// finish writes the file to disk under its name. After a crash before this point the part is ignored.
func (w *exportWriter) finish() (ExportFile, error) {
	if w.part == nil {
		return w.file, nil
	}
	w.csv.Flush()
	part := w.part
	w.part = nil
	err := errors.Join(w.csv.Error(), w.gzip.Close(), part.Sync(), part.Close())
	w.file.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	w.file.Name = fmt.Sprintf("orders-%s-%s.csv.gz", w.file.Month, w.file.SHA256[:8])
	if err == nil {
		err = os.Rename(part.Name(), filepath.Join(w.folder, w.file.Name))
	}
	if err == nil {
		err = syncFolder(w.folder)
	}
	if err != nil {
		return w.file, fmt.Errorf("write the orders of %s: %w", w.file.Month, errors.Join(err, os.Remove(part.Name())))
	}
	return w.file, nil
}

// discard removes the part of a file that was not finished.
func (w *exportWriter) discard() {
	if w != nil && w.part != nil {
		_ = w.part.Close()
		_ = os.Remove(w.part.Name())
	}
}

// syncFolder makes new names in the folder durable.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// exportedOrders are the orders in the files of a folder.
type exportedOrders struct {
	files  []ExportFile // with the sums of those orders that count saw
	fileOf map[shop.ID]int
}

// readFolder reads the ids in all files of a folder. A folder that does not exist is empty.
func readFolder(folder string) (*exportedOrders, error) {
	found := &exportedOrders{fileOf: map[shop.ID]int{}}
	paths, err := filepath.Glob(filepath.Join(folder, "orders-*.csv.gz"))
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", folder, err)
	}
	for i, path := range paths {
		ids, sum, err := readExport(path)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(path)
		month := strings.TrimPrefix(name, "orders-")
		found.files = append(found.files, ExportFile{Name: name, Month: month[:min(len(month), len("2026-01"))], SHA256: sum})
		for _, id := range ids {
			found.fileOf[id] = i
		}
	}
	return found, nil
}

// count reports whether the order is in a file, and adds it to the sums of this file.
func (e *exportedOrders) count(o *shop.Order) bool {
	i, found := e.fileOf[o.ID]
	if found {
		e.files[i].count(o)
	}
	return found
}

// withOrders returns the files with counted orders.
func (e *exportedOrders) withOrders() []ExportFile {
	out := []ExportFile{}
	for _, f := range e.files {
		if f.Orders > 0 {
			out = append(out, f)
		}
	}
	return out
}

// readExport reads the ids and the checksum of a file. An incomplete file is an error.
func readExport(path string) (ids []shop.ID, checksum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("read exported orders: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	unpacked, err := gzip.NewReader(io.TeeReader(f, sum))
	if err != nil {
		return nil, "", fmt.Errorf("read exported orders of %s: %w", path, err)
	}
	lines := csv.NewReader(unpacked)
	for n := 1; ; n++ {
		line, err := lines.Read()
		switch {
		case errors.Is(err, io.EOF):
			return ids, hex.EncodeToString(sum.Sum(nil)), nil
		case err != nil:
			return nil, "", fmt.Errorf("read exported orders of %s: %w", path, err)
		case n == 1: // the header
			continue
		}
		id, err := shop.ParseID(line[0])
		if err != nil {
			return nil, "", fmt.Errorf("line %d of %s: %w", n, path, err)
		}
		ids = append(ids, id)
	}
}
