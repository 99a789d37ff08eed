package backoffice

import (
	"context"
	"slices"
	"strings"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// productsHead is the header of the table of products. Prices are in yuan. The column images has one picture per line:
// its address, a space and its alternative text.
var productsHead = []string{
	"id", "version", "name", "category", "list_price", "ships", "description", "rules", "images",
	"archived",
}

// ExportProducts returns all products as a table, including archived ones.
func (ps Products) ExportProducts(ctx context.Context) ([]byte, error) {
	lines, err := tableLines(func(archived bool, page int) ([]store.ProductRecord, bool, error) {
		q := store.ProductsQuery{Archived: archived, Page: page, Size: tablePage}
		return ps.Store.Catalogue().ProductRecords(ctx, q)
	}, productLine)
	return writeTable(productsHead, lines), shop.Unavailable("products", err)
}

const tablePage = 500

// tableLines reads all pages, first the active records, then the archived ones. It omits records for which the function
// line returns nil.
func tableLines[T any](
	read func(archived bool, page int) (found []T, more bool, err error), line func(*T) []string,
) (lines [][]string, err error) {
	for _, archived := range []bool{false, true} {
		for page, more := 1, true; more; page++ {
			var found []T
			if found, more, err = read(archived, page); err != nil {
				return nil, err
			}
			for i := range found {
				if cells := line(&found[i]); cells != nil {
					lines = append(lines, cells)
				}
			}
		}
	}
	return lines, nil
}

func productLine(p *store.ProductRecord) []string {
	pictures := shop.Mapped(p.Images, func(i shop.Image) string { return strings.TrimSpace(i.URL + " " + i.Alt) })
	return []string{
		p.ID.String(), number(p.Version), p.Name, p.Category, shop.FormatFen(p.ListPriceFen), yesNo(p.Ships),
		p.Description, p.Rules, strings.Join(pictures, "\n"), yesNo(p.ArchivedAt != 0),
	}
}

// ImportProducts creates the products of lines without an id and changes the products of lines with an id: all of them
// or none. A dry run reports all problems.
func (ps Products) ImportProducts(
	ctx context.Context, actor journal.Actor, file []byte,
) (ImportReport, error) {
	t, err := readTable(file, productsHead)
	if err != nil {
		return ImportReport{}, err
	}
	return ps.importTable(ctx, actor, "products", t, ps.importProducts)
}

// importTable runs an import as one operation.
func (c *CatalogueService) importTable(
	ctx context.Context, actor journal.Actor, kind string, parsed *table,
	importLines func(ctx context.Context, tx *store.Store, t *table, r *ImportReport) error,
) (ImportReport, error) {
	report, err := store.RunOperationFor[ImportReport](ctx, c.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			t := &table{lines: parsed.lines, problems: slices.Clone(parsed.problems)}
			r := ImportReport{Lines: len(t.lines), Problems: []ImportProblem{}}
			err := importLines(ctx, tx, t, &r)
			slices.SortStableFunc(t.problems, func(a, b ImportProblem) int { return a.Line - b.Line })
			r.Problems = append(r.Problems, t.problems[:min(len(t.problems), maxProblems)]...)
			if err == nil && len(r.Problems) > 0 && !actor.DryRun {
				err = r.rejection()
			}
			return journal.Operation{
				Kind: kind + ".import", Object: kind, After: map[string]int{"created": r.Created, "changed": r.Changed},
				Result: r,
			}, err
		})
	report.DryRun = actor.DryRun
	return report, err
}

// lineReader turns the lines of a table into records.
type lineReader[T any] struct {
	kind     string
	existing map[shop.ID]T // the records to which lines refer by id
	version  func(record T) int64
	// newRecord starts the record of a line without an id; false: an error was recorded.
	newRecord func(line *tableLine) (T, bool)
	fill      func(line *tableLine, record *T)              // sets fields, records errors in the table
	check     func(line *tableLine, before, after *T) error // rejects an invalid record
	same      func(before, after *T) bool                   // reports whether the line changes nothing
}

// read returns the records to create and to change, and records errors in the table.
func (l *lineReader[T]) read(t *table, r *ImportReport) (drafts, changed []T) {
	seen := make(map[shop.ID]bool)
	for i := range t.lines {
		line := &t.lines[i]
		var record T
		var ok bool
		if line.has("id") {
			record, ok = l.existingRecord(t, line, seen)
		} else {
			record, ok = l.newRecord(line)
		}
		if !ok {
			continue
		}
		before, problems := record, len(t.problems)
		l.fill(line, &record)
		if len(t.problems) > problems {
			continue
		}
		err := l.check(line, &before, &record)
		switch {
		case err != nil:
			t.addProblem(line, "", shop.AsError(err).Message)
		case !line.has("id"):
			drafts = append(drafts, record)
			r.Created++
		case l.same(&before, &record):
			r.Same++
		default:
			changed = append(changed, record)
			r.Changed++
		}
	}
	return drafts, changed
}

// importProducts imports the lines of the table within one operation and records the errors of each line in the table.
func (ps Products) importProducts(ctx context.Context, tx *store.Store, t *table, r *ImportReport) error {
	categories, err := tx.Catalogue().CategoryRecords(ctx)
	if err != nil {
		return err
	}
	existing, err := productsOf(ctx, tx, t)
	if err != nil {
		return err
	}
	lines := &lineReader[store.ProductRecord]{
		kind: "product", existing: existing, same: sameProduct,
		version:   func(p store.ProductRecord) int64 { return p.Version },
		newRecord: func(*tableLine) (store.ProductRecord, bool) { return newProductRecord(), true },
		fill:      func(line *tableLine, p *store.ProductRecord) { ps.fillProduct(t, line, p, categories) },
		check: func(line *tableLine, _, p *store.ProductRecord) error {
			var removed []string
			err := ps.checkProduct(&p.Product, &removed)
			if len(removed) > 0 && len(r.Removed) < maxProblems {
				r.Removed = append(r.Removed, RemovedMarkup{line.number, removed})
			}
			return err
		},
	}
	created, changed := lines.read(t, r)
	drafts := shop.Mapped(created, func(p store.ProductRecord) shop.Product { return p.Product })
	for i := range drafts {
		if drafts[i].ID, err = ps.Mint(); err != nil {
			return err
		}
	}
	if err := checkAllImages(ctx, tx, t, drafts, changed); err != nil || len(t.problems) > 0 {
		return err
	}
	if err := tx.Catalogue().AddProducts(ctx, drafts); err != nil {
		return err
	}
	for i := range changed {
		if err := tx.Catalogue().SaveProduct(ctx, &changed[i]); err != nil {
			return err
		}
		before := existing[changed[i].ID]
		if !slices.Equal(before.Images, changed[i].Images) {
			if err := tx.Catalogue().SaveProductImages(ctx, changed[i].ID, changed[i].Images); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAllImages records an error for each product that refers to a picture that is not stored. It locks the pictures
// of the products and of their descriptions.
func checkAllImages(
	ctx context.Context, tx *store.Store, t *table, drafts []shop.Product, changed []store.ProductRecord,
) error {
	for _, p := range changed {
		drafts = append(drafts, p.Product)
	}
	for _, p := range drafts {
		if err := checkImages(ctx, tx, p.Images); err != nil {
			imageErr := shop.AsError(err)
			if imageErr.Code != shop.BadRequest {
				return err
			}
			t.problems = append(t.problems, ImportProblem{Column: "images", Message: p.Name + ": " + imageErr.Message})
		}
	}
	return keepDescribedImages(ctx, tx, drafts...)
}

// existingRecord returns the record to which a line refers by id. If the line has a version, it must be the current
// one.
func (l *lineReader[T]) existingRecord(t *table, line *tableLine, seen map[shop.ID]bool) (found T, ok bool) {
	id, err := shop.ParseID(line.cells["id"])
	if err != nil {
		t.addProblem(line, "id", "is not an id")
		return found, false
	}
	found, ok = l.existing[id]
	switch {
	case !ok:
		t.addProblem(line, "id", "there is no "+l.kind+" "+id.String())
	case seen[id]:
		t.addProblem(line, "id", "is also in another line")
	case line.has("version") && line.cells["version"] != number(l.version(found)):
		t.addProblem(line, "version", "is outdated: the current version is "+number(l.version(found)))
	default:
		seen[id] = true
		return found, true
	}
	return found, false
}

// idsOf returns the valid ids in the lines.
func idsOf(t *table) []shop.ID {
	var ids []shop.ID
	for i := range t.lines {
		if id, err := shop.ParseID(t.lines[i].cells["id"]); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func productsOf(ctx context.Context, tx *store.Store, t *table) (map[shop.ID]store.ProductRecord, error) {
	found, err := tx.Catalogue().ProductsByID(ctx, idsOf(t))
	existing := make(map[shop.ID]store.ProductRecord, len(found))
	for _, p := range found {
		existing[p.ID] = p
	}
	return existing, err
}

// newProductRecord returns the values of a new product for the columns that a table lacks.
func newProductRecord() store.ProductRecord {
	return store.ProductRecord{Product: shop.Product{Ships: true}}
}

// fillProduct sets the fields of a product from a line. Columns that are not in the header stay unchanged.
func (ps Products) fillProduct(
	t *table, line *tableLine, p *store.ProductRecord, categories []store.CategoryRecord,
) {
	for column, cell := range line.cells {
		var err error
		switch column {
		case "name":
			p.Name = cell
		case "category":
			p.CategoryID, err = categoryNamed(categories, cell)
		case "list_price":
			p.ListPriceFen, err = parseYuan(cell)
		case "ships":
			p.Ships, err = readYesNo(cell)
		case "description":
			p.Description = cell
		case "rules":
			p.Rules = cell
		case "images":
			p.Images = parseImages(cell)
		case "archived":
			err = ps.fillArchived(&p.ArchivedAt, cell)
		}
		if err != nil {
			t.addProblem(line, column, shop.AsError(err).Message)
		}
	}
}

func (c *CatalogueService) fillArchived(since *shop.Millis, cell string) error {
	isArchived, err := readYesNo(cell)
	if err == nil {
		*since = archived(*since, &isArchived, c.Now())
	}
	return err
}

func parseYuan(text string) (int64, error) {
	fen, err := shop.ParseFen(text)
	if err != nil {
		return 0, shop.Fail(shop.BadRequest, "must be an amount in yuan like 129 or 129.50")
	}
	return fen, nil
}

func categoryNamed(categories []store.CategoryRecord, name string) (shop.ID, error) {
	if name == "" {
		return 0, nil
	}
	for _, c := range categories {
		if c.Name == name {
			return c.ID, nil
		}
	}
	return 0, shop.Fail(shop.BadRequest, "there is no category with that name: create it first")
}

func parseImages(text string) []shop.Image {
	images := []shop.Image{}
	for line := range strings.Lines(text) {
		if address, alt, _ := strings.Cut(strings.TrimSpace(line), " "); address != "" {
			images = append(images, shop.Image{URL: address, Alt: strings.TrimSpace(alt)})
		}
	}
	return images
}

// sameProduct reports whether an import would change nothing.
func sameProduct(a, b *store.ProductRecord) bool {
	return a.Name == b.Name && a.CategoryID == b.CategoryID && a.ListPriceFen == b.ListPriceFen &&
		a.Ships == b.Ships && a.Description == b.Description && a.Rules == b.Rules &&
		(a.ArchivedAt != 0) == (b.ArchivedAt != 0) && slices.Equal(a.Images, b.Images)
}
