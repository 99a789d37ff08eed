package demo

import (
	"stampede/app/shop"
)

// Ids of what the seed brings are small, far below any snowflake.
const (
	sound shop.ID = iota + 1
	home
	outdoor
	desk
	bulk
)

var categories = []shop.Category{
	{ID: sound, Name: "Sound & Vision"},
	{ID: home, Name: "Kitchen & Home"},
	{ID: outdoor, Name: "Outdoor & Sports"},
	{ID: desk, Name: "Desk & Everyday"},
}

// rules go for all demo products; each adds a line of its own.
const rules = "The price holds for this sale only. An order that is not paid in time is released and sold again. " +
	"The limit counts all your devices and all orders that are open or paid. "

// offer is a demo product with the terms on which it is sold.
type offer struct {
	product shop.Product
	percent int64 // sale price, of the list price
	units   int64 // on sale in one slot
	limit   int   // units per buyer
}

// offers are rotated through the slots in this order; neighbours differ in price and scarcity.
var offers = []offer{
	{item(101, sound, "headphones", "Stillwater Headphones", "Dark over-ear headphones with a padded band", 129900,
		"<p>Closed over-ear headphones that let the commute fall silent.</p><ul><li>Active noise cancelling with three levels</li>"+
			"<li>38 hours on one charge, five minutes give four more</li><li>Folds flat, spare cushions in the box</li></ul>",
		"Sealed packs only can be returned."), 55, 48, 2},
	{item(102, home, "kettle", "Morning Kettle 1.2 l", "White electric kettle with a dark base, steaming", 45900,
		"<p>A kettle for people who care when the water is ready. The spout pours without a drip; the base holds the temperature to the degree.</p>"+
			"<ul><li>40–100 °C in steps of one degree</li><li>Keeps warm for an hour</li><li>Double wall, 1.2 litres</li></ul>",
		"Mains plug type A/I, 220 V."), 62, 60, 2},
	{item(103, desk, "keyboard", "Quiet Row Keyboard", "Blue mechanical keyboard with light keys and a cable", 69900,
		"<p>Seventy-five keys, no rattle. Gasket mounted with damped switches that you can swap without soldering.</p>"+
			"<ul><li>Cable, 2.4 GHz or Bluetooth to three devices</li><li>PBT caps that do not shine with time</li></ul>",
		"Layout ANSI; caps for macOS and Windows are included."), 58, 40, 1},
	{item(104, home, "lamp", "Heron Desk Lamp", "Jointed desk lamp with a red shade, switched on", 32900,
		"<p>Two joints put the light where the page is, and a turn of the shade takes it from reading to candle.</p>"+
			"<ul><li>2,200–4,000 K, no flicker</li><li>Stays where you put it</li></ul>",
		"The light source can be replaced by anyone."), 49, 72, 3},
	{item(105, outdoor, "backpack", "Ridge Backpack 26 l", "Orange backpack with dark side pockets", 58900,
		"<p>One bag for the office and the hut. Sealed zips, a belt that carries on the hip, and a sleeve for a 16-inch machine.</p>"+
			"<ul><li>26 litres, 980 g</li><li>Woven from recycled bottles</li></ul>",
		"The colour is drawn from what is in stock."), 60, 54, 2},
	{item(106, desk, "watch", "Meridian Field Watch", "Round golden watch with a light dial and a dark strap", 219900,
		"<p>Hands you can read at night and a movement that any watchmaker can service.</p>"+
			"<ul><li>38 mm gold-plated case, sapphire crystal</li><li>Automatic, 60 hours in reserve</li><li>Water-proof to 10 bar</li></ul>",
		"One per buyer; the serial number is tied to the order."), 45, 12, 1},
	{item(107, sound, "camera", "Pocket Camera P4", "White and black camera with a large round lens", 399900,
		"<p>A large sensor behind a fixed 28 mm lens, in a body that fits a coat pocket.</p>"+
			"<ul><li>24 megapixels, stabilised</li><li>Starts in 0.4 seconds</li><li>Film-like profiles in the camera</li></ul>",
		"One per buyer; two years of warranty."), 70, 18, 1},
	{item(108, outdoor, "sneakers", "Tideline Sneakers", "White and red sneaker with blue laces, seen from the side", 79900,
		"<p>A daily trainer with a wide toe box and a sole that springs back.</p>"+
			"<ul><li>248 g in size 42</li><li>Knit upper, dries overnight</li></ul>",
		"Give your size in the address line; one exchange is free."), 50, 66, 2},
	{item(109, home, "teapot", "Blue Flower Teapot", "White teapot painted with a blue flower", 26900,
		"<p>Thrown and painted by hand, so that no two flowers are alike. The lid stays where it is when you pour.</p>"+
			"<ul><li>450 ml, with a steel strainer</li><li>Dishwasher does not harm it</li></ul>",
		"Small differences in the painting are wanted."), 65, 30, 2},
	{item(110, sound, "drone", "Sparrow Drone", "White drone with four rotors and a camera", 289900,
		"<p>Below 249 g, so that it may fly almost everywhere, and steady in wind of force five.</p>"+
			"<ul><li>34 minutes in the air</li><li>4K at 60 frames</li><li>Comes home by itself</li></ul>",
		"One per buyer; the pilot registers where the law asks for it."), 68, 16, 1},
	{item(111, sound, "speaker", "Harbour Speaker", "Dark wooden speaker with two drivers, playing", 49900,
		"<p>A two-way bookshelf speaker that fills a room. Two of them find each other and play in stereo.</p>"+
			"<ul><li>Walnut veneer, 13 cm woofer</li><li>Bluetooth, optical and line in</li></ul>",
		"Speakers are sold one by one, pairs need two."), 52, 80, 2},
	{item(112, outdoor, "helmet", "Arc Full-Face Helmet", "White and red full-face helmet with a dark visor", 38900,
		"<p>A quiet shell, a visor that opens with one hand, and a liner that turns with the blow instead of passing it on.</p>"+
			"<ul><li>1,390 g in size M</li><li>Inner sun visor, seven vents</li></ul>",
		"Once worn in a fall a helmet must be replaced; we do so at half the price."), 57, 36, 2},
}

// item makes a product whose picture is drawn for the project under its own short name.
func item(id, category shop.ID, picture, name, alt string, listFen int64, description, rule string) shop.Product {
	return shop.Product{
		ID: id, CategoryID: category, Name: name, ListPriceFen: listFen, Description: description, Rules: rules + rule,
		Images: []shop.Image{{URL: "/products/" + picture + ".svg", Alt: alt}},
	}
}
