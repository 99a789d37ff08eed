package app

import "context"

// undoCatalogue takes back an edit of a product, a category or a sale that is still at the version that this made: the
// fields that it changed become what they were, by the rules of every edit.
func (u *Undo) undoCatalogue(ctx context.Context, actor Actor, e *JournalEntry) error {
	switch e.Kind {
	case "product.edit", "product.archive":
		var before, after ProductRecord
		if err := readBoth(e, &before, &after); err != nil {
			return err
		}
		edit := ProductEdit{Version: after.Version}
		was(&edit.Name, before.Name, after.Name)
		was(&edit.CategoryID, before.CategoryID, after.CategoryID)
		was(&edit.ListPriceFen, before.ListPriceFen, after.ListPriceFen)
		was(&edit.Description, before.Description, after.Description)
		was(&edit.Rules, before.Rules, after.Rules)
		was(&edit.Archived, before.ArchivedAt != 0, after.ArchivedAt != 0)
		_, err := u.Catalogue.EditProduct(ctx, actor, false, after.ID, edit)
		return err
	case "category.edit":
		var before, after CategoryRecord
		if err := readBoth(e, &before, &after); err != nil {
			return err
		}
		edit := CategoryEdit{Version: after.Version}
		was(&edit.Name, before.Name, after.Name)
		was(&edit.Position, before.Position, after.Position)
		was(&edit.Archived, before.ArchivedAt != 0, after.ArchivedAt != 0)
		_, err := u.Catalogue.EditCategory(ctx, actor, false, after.ID, edit)
		return err
	default:
		return u.undoSaleEdit(ctx, actor, e)
	}
}

func (u *Undo) undoSaleEdit(ctx context.Context, actor Actor, e *JournalEntry) error {
	var before, after SaleRecord
	if err := readBoth(e, &before, &after); err != nil {
		return err
	}
	edit := SaleEdit{Version: after.Version}
	was(&edit.PriceFen, before.PriceFen, after.PriceFen)
	was(&edit.Stock, before.Initial, after.Initial)
	was(&edit.Limit, before.Limit, after.Limit)
	was(&edit.Cap, before.Cap, after.Cap)
	was(&edit.OpensAt, before.OpensAt, after.OpensAt)
	was(&edit.ClosesAt, before.ClosesAt, after.ClosesAt)
	was(&edit.Challenge, before.Challenge, after.Challenge)
	was(&edit.Position, before.Position, after.Position)
	was(&edit.Archived, before.ArchivedAt != 0, after.ArchivedAt != 0)
	_, err := u.Catalogue.EditSale(ctx, actor, false, after.ID, edit)
	return err
}

// was names a field in an edit that makes it what it was, if it is another one now.
func was[T comparable](field **T, before, after T) {
	if before != after {
		*field = &before
	}
}
