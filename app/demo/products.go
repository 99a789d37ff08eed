package demo

import (
	"stampede/app/shop"
)

// Demo ids are small, far below any snowflake id.
const (
	sound shop.ID = iota + 1
	home
	outdoor
	office
	bulk
)

var categories = []shop.Category{
	{ID: sound, Name: "Sound & Vision"},
	{ID: home, Name: "Kitchen & Home"},
	{ID: outdoor, Name: "Outdoor & Sports"},
	{ID: office, Name: "Desk & Everyday"},
}

// rules is the common text of all demo products; each adds its own line.
const rules = "The price holds for this sale only. An order that is not paid in time is released and sold again. " +
	"The limit counts all your devices and all orders that are open or paid. "

// offer is a demo product with its sale terms.
type offer struct {
	product shop.Product
	percent int64 // sale price in percent of the list price
	units   int64 // units per slot
	limit   int   // units per buyer
}

// offers rotate through the slots in this order; neighbours differ in price and scarcity.
var offers = []offer{
	{product: shop.Product{
		ID: 101, CategoryID: sound, Name: "Stillwater Headphones", ListPriceFen: 129900,
		Images: drawing("headphones", "Dark over-ear headphones with a padded band"),
		Description: "<p>Closed over-ear headphones that let the commute fall silent.</p><ul><li>Active noise cancelling with three levels</li>" +
			"<li>38 hours on one charge, five minutes give four more</li><li>Folds flat, spare cushions in the box</li></ul>",
		Rules: rules + "Sealed packs only can be returned.",
	}, percent: 55, units: 48, limit: 2},
	{product: shop.Product{
		ID: 102, CategoryID: home, Name: "Morning Kettle 1.2 l", ListPriceFen: 45900,
		Images: drawing("kettle", "White electric kettle with a dark base, steaming"),
		Description: "<p>A kettle for people who care when the water is ready. The spout pours without a drip; the base holds the temperature to the degree.</p>" +
			"<ul><li>40–100 °C in steps of one degree</li><li>Keeps warm for an hour</li><li>Double wall, 1.2 litres</li></ul>",
		Rules: rules + "Mains plug type A/I, 220 V.",
	}, percent: 62, units: 60, limit: 2},
	{product: shop.Product{
		ID: 103, CategoryID: office, Name: "Quiet Row Keyboard", ListPriceFen: 69900,
		Images: drawing("keyboard", "Blue mechanical keyboard with light keys and a cable"),
		Description: "<p>Seventy-five keys, no rattle. Gasket mounted with damped switches that you can swap without soldering.</p>" +
			"<ul><li>Cable, 2.4 GHz or Bluetooth to three devices</li><li>PBT caps that do not shine with time</li></ul>",
		Rules: rules + "Layout ANSI; caps for macOS and Windows are included.",
	}, percent: 58, units: 40, limit: 1},
	{product: shop.Product{
		ID: 104, CategoryID: home, Name: "Heron Desk Lamp", ListPriceFen: 32900,
		Images: drawing("lamp", "Jointed desk lamp with a red shade, switched on"),
		Description: "<p>Two joints put the light where the page is, and a turn of the shade takes it from reading to candle.</p>" +
			"<ul><li>2,200–4,000 K, no flicker</li><li>Stays where you put it</li></ul>",
		Rules: rules + "You can replace the light source yourself.",
	}, percent: 49, units: 72, limit: 3},
	{product: shop.Product{
		ID: 105, CategoryID: outdoor, Name: "Ridge Backpack 26 l", ListPriceFen: 58900,
		Images: drawing("backpack", "Orange backpack with dark side pockets"),
		Description: "<p>One bag for the office and the hut. Sealed zips, a belt that carries on the hip, and a sleeve for a 16-inch machine.</p>" +
			"<ul><li>26 litres, 980 g</li><li>Woven from recycled bottles</li></ul>",
		Rules: rules + "The shop selects the colour from its stock.",
	}, percent: 60, units: 54, limit: 2},
	{product: shop.Product{
		ID: 106, CategoryID: office, Name: "Meridian Field Watch", ListPriceFen: 219900,
		Images: drawing("watch", "Round golden watch with a light dial and a dark strap"),
		Description: "<p>Hands you can read at night and a movement that any watchmaker can service.</p>" +
			"<ul><li>38 mm gold-plated case, sapphire crystal</li><li>Automatic, 60 hours in reserve</li><li>Water-proof to 10 bar</li></ul>",
		Rules: rules + "One per buyer; the serial number is tied to the order.",
	}, percent: 45, units: 12, limit: 1},
	{product: shop.Product{
		ID: 107, CategoryID: sound, Name: "Pocket Camera P4", ListPriceFen: 399900,
		Images: drawing("camera", "White and black camera with a large round lens"),
		Description: "<p>A large sensor behind a fixed 28 mm lens, in a body that fits a coat pocket.</p>" +
			"<ul><li>24 megapixels, stabilised</li><li>Starts in 0.4 seconds</li><li>Film-like profiles in the camera</li></ul>",
		Rules: rules + "One per buyer; two years of warranty.",
	}, percent: 70, units: 18, limit: 1},
	{product: shop.Product{
		ID: 108, CategoryID: outdoor, Name: "Tideline Sneakers", ListPriceFen: 79900,
		Images: drawing("sneakers", "White and red sneaker with blue laces, seen from the side"),
		Description: "<p>A daily trainer with a wide toe box and a sole that springs back.</p>" +
			"<ul><li>248 g in size 42</li><li>Knit upper, dries overnight</li></ul>",
		Rules: rules + "Give your size in the address line; one exchange is free.",
	}, percent: 50, units: 66, limit: 2},
	{product: shop.Product{
		ID: 109, CategoryID: home, Name: "Blue Flower Teapot", ListPriceFen: 26900,
		Images: drawing("teapot", "White teapot painted with a blue flower"),
		Description: "<p>Thrown and painted by hand, so that no two flowers are alike. The lid stays where it is when you pour.</p>" +
			"<ul><li>450 ml, with a steel strainer</li><li>Dishwasher does not harm it</li></ul>",
		Rules: rules + "Small differences in the painting are wanted.",
	}, percent: 65, units: 30, limit: 2},
	{product: shop.Product{
		ID: 110, CategoryID: sound, Name: "Sparrow Drone", ListPriceFen: 289900,
		Images: drawing("drone", "White drone with four rotors and a camera"),
		Description: "<p>Below 249 g, so that it may fly almost everywhere, and steady in wind of force five.</p>" +
			"<ul><li>34 minutes in the air</li><li>4K at 60 frames</li><li>Comes home by itself</li></ul>",
		Rules: rules + "One per buyer; pilots register where the law requires it.",
	}, percent: 68, units: 16, limit: 1},
	{product: shop.Product{
		ID: 111, CategoryID: sound, Name: "Harbour Speaker", ListPriceFen: 49900,
		Images: drawing("speaker", "Dark wooden speaker with two drivers, playing"),
		Description: "<p>A two-way bookshelf speaker that fills a room. Two of them find each other and play in stereo.</p>" +
			"<ul><li>Walnut veneer, 13 cm woofer</li><li>Bluetooth, optical and line in</li></ul>",
		Rules: rules + "Speakers are sold one by one, pairs need two.",
	}, percent: 52, units: 80, limit: 2},
	{product: shop.Product{
		ID: 112, CategoryID: outdoor, Name: "Arc Full-Face Helmet", ListPriceFen: 38900,
		Images: drawing("helmet", "White and red full-face helmet with a dark visor"),
		Description: "<p>A quiet shell, a visor that opens with one hand, and a liner that turns with the blow instead of passing it on.</p>" +
			"<ul><li>1,390 g in size M</li><li>Inner sun visor, seven vents</li></ul>",
		Rules: rules + "Once worn in a fall a helmet must be replaced; we do so at half the price.",
	}, percent: 57, units: 36, limit: 2},
}

// drawing returns the project's own drawing with a short name.
func drawing(name, alt string) []shop.Image {
	return []shop.Image{{URL: "/products/" + name + ".svg", Alt: alt}}
}
