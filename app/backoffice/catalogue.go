package backoffice

import (
	"context"

	"stampede/app/shop"
)

// CatalogueKeeper is the durable truth about what operators offer. What is called Lock… raises the catalogue's version,
// so that editors go one after the other, and keeps a row from changing until the act ends; what writes must be called
// within an act. Errors wrap ErrTransient, ErrPermanent or ErrNoRow.
type CatalogueKeeper interface {
	AddCategories(ctx context.Context, categories []shop.Category) error
	AddProducts(ctx context.Context, products []shop.Product) error
	AddSlots(ctx context.Context, slots []shop.Slot) error
	AddSales(ctx context.Context, sales []shop.Sale) error

	ProductRecords(ctx context.Context, q ProductsQuery) (page []ProductRecord, more bool, err error)
	ProductRecord(ctx context.Context, id shop.ID) (ProductRecord, error)
	LockProduct(ctx context.Context, id shop.ID) (ProductRecord, error)
	SaveProduct(ctx context.Context, p *ProductRecord) error
	SaveProductImages(ctx context.Context, product shop.ID, images []shop.Image) error
	LockImages(ctx context.Context, ids []string) (map[string]bool, error)
	RenewImages(ctx context.Context, ids []string) error
	SaveImage(ctx context.Context, image *StoredImage) error
	ImageFile(ctx context.Context, id string, kind ImageKind, small bool) ([]byte, error)

	CategoryRecords(ctx context.Context) ([]CategoryRecord, error)
	LockCategory(ctx context.Context, id shop.ID) (CategoryRecord, error)
	SaveCategory(ctx context.Context, c *CategoryRecord) error

	AllSlots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error)
	LockSlots(ctx context.Context, from, to shop.Millis) ([]shop.Slot, error)
	LockSlot(ctx context.Context, id shop.ID) (shop.Slot, error)
	RemoveSlot(ctx context.Context, id shop.ID) (archived bool, err error)

	SaleRecords(ctx context.Context, q SalesQuery) (page []SaleRecord, more bool, err error)
	SaleRecord(ctx context.Context, id shop.ID) (SaleRecord, error)
	LockSale(ctx context.Context, id shop.ID) (SaleRecord, error)
	SaveSales(ctx context.Context, sales ...SaleRecord) error
	EmptiestPartition(ctx context.Context, slot shop.ID) (partition, of int, err error)

	ProductsByID(ctx context.Context, ids []shop.ID) ([]ProductRecord, error)
	ProductsByName(ctx context.Context, names []string) ([]ProductRecord, error)
	SalesByID(ctx context.Context, ids []shop.ID) ([]SaleRecord, error)
}

// ImageKind is how a picture is encoded, which is also how its address ends.
type ImageKind string

const (
	ImageJPEG ImageKind = "jpg"
	ImagePNG  ImageKind = "png"
)

// StoredImage is a picture as it is shown, made of an upload. ID is the SHA-256 of Large, in hex: the same picture is
// kept once, and what its address shows never changes.
type StoredImage struct {
	ID            string
	Kind          ImageKind
	Width, Height int // of Large
	Large, Small  []byte
}

// URL is where the picture is shown.
func (i StoredImage) URL() string { return "/images/" + i.ID + "." + string(i.Kind) }

// ImageMaker makes what can be shown of a file that was uploaded. BadRequest says what is wrong with the file.
type ImageMaker interface {
	Make(ctx context.Context, file []byte) (StoredImage, error)
}
