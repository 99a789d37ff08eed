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
	{ID: sound, Name: "Sound & Vision", Texts: map[string]shop.CategoryText{"zh": {Name: "影音数码"}}},
	{ID: home, Name: "Kitchen & Home", Texts: map[string]shop.CategoryText{"zh": {Name: "厨房家居"}}},
	{ID: outdoor, Name: "Outdoor & Sports", Texts: map[string]shop.CategoryText{"zh": {Name: "运动户外"}}},
	{ID: office, Name: "Desk & Everyday", Texts: map[string]shop.CategoryText{"zh": {Name: "办公日用"}}},
}

// rules is the common text of all demo products; each adds its own line.
const rules = "The price holds for this sale only. An order that is not paid in time is released and sold again. " +
	"The limit counts all your devices and all orders that are open or paid. "

// rulesZh is rules in Chinese.
const rulesZh = "秒杀价仅限本场次。下单后请在规定时间内付款，逾期订单自动取消，库存重新开放抢购。" +
	"限购数量按买家计算，所有设备上待支付和已支付的订单合并计数。"

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
		ID: 101, CategoryID: sound, Name: "Stillwater Headphones", ListPriceFen: 129900, Ships: true,
		Images: drawing("headphones", "Dark over-ear headphones with a padded band"),
		Description: "<p>Closed over-ear headphones that let the commute fall silent.</p><ul><li>Active noise cancelling with three levels</li>" +
			"<li>38 hours on one charge, five minutes give four more</li><li>Folds flat, spare cushions in the box</li></ul>",
		Rules: rules + "Sealed packs only can be returned.",
		Texts: zh("静海头戴式降噪耳机", "<p>封闭式头戴耳机，戴上它，通勤路上瞬间安静。</p>"+
			"<ul><li>主动降噪，三档可调</li><li>续航 38 小时，充电 5 分钟可用 4 小时</li><li>可平折收纳，附赠一副备用耳罩</li></ul>",
			"仅限未拆封商品退货。"),
	}, percent: 55, units: 48, limit: 2},
	{product: shop.Product{
		ID: 102, CategoryID: home, Name: "Morning Kettle 1.2 l", ListPriceFen: 45900, Ships: true,
		Images: drawing("kettle", "White electric kettle with a dark base, steaming"),
		Description: "<p>A kettle for people who care when the water is ready. The spout pours without a drip; the base holds the temperature to the degree.</p>" +
			"<ul><li>40–100 °C in steps of one degree</li><li>Keeps warm for an hour</li><li>Double wall, 1.2 litres</li></ul>",
		Rules: rules + "Mains plug type A/I, 220 V.",
		Texts: zh("晨光控温电水壶 1.2 升", "<p>水温听你的。壶嘴出水利落不滴漏，底座控温精确到 1 °C。</p>"+
			"<ul><li>40–100 °C，每 1 °C 可调</li><li>保温 1 小时</li><li>双层壶身，容量 1.2 升</li></ul>",
			"插头为 A/I 型，额定电压 220 V。"),
	}, percent: 62, units: 60, limit: 2},
	{product: shop.Product{
		ID: 103, CategoryID: office, Name: "Quiet Row Keyboard", ListPriceFen: 69900, Ships: true,
		Images: drawing("keyboard", "Blue mechanical keyboard with light keys and a cable"),
		Description: "<p>Seventy-five keys, no rattle. Gasket mounted with damped switches that you can swap without soldering.</p>" +
			"<ul><li>Cable, 2.4 GHz or Bluetooth to three devices</li><li>PBT caps that do not shine with time</li></ul>",
		Rules: rules + "Layout ANSI; caps for macOS and Windows are included.",
		Texts: zh("静列机械键盘", "<p>75 键紧凑布局，敲击不吵。Gasket 结构搭配静音轴，免焊接热插拔换轴。</p>"+
			"<ul><li>有线、2.4 GHz、蓝牙三种连接，可配对三台设备</li><li>PBT 键帽，久用不打油</li></ul>",
			"ANSI 配列，随附 macOS 和 Windows 键帽。"),
	}, percent: 58, units: 40, limit: 1},
	{product: shop.Product{
		ID: 104, CategoryID: home, Name: "Heron Desk Lamp", ListPriceFen: 32900, Ships: true,
		Images: drawing("lamp", "Jointed desk lamp with a red shade, switched on"),
		Description: "<p>Two joints put the light where the page is, and a turn of the shade takes it from reading to candle.</p>" +
			"<ul><li>2,200–4,000 K, no flicker</li><li>Stays where you put it</li></ul>",
		Rules: rules + "You can replace the light source yourself.",
		Texts: zh("白鹭折臂台灯", "<p>双关节灯臂，光线落在书页上；转动灯罩，从阅读光变成烛光氛围。</p>"+
			"<ul><li>色温 2200–4000 K，无频闪</li><li>随意悬停，不下坠</li></ul>",
			"光源可自行更换。"),
	}, percent: 49, units: 72, limit: 3},
	{product: shop.Product{
		ID: 105, CategoryID: outdoor, Name: "Ridge Backpack 26 l", ListPriceFen: 58900, Ships: true,
		Images: drawing("backpack", "Orange backpack with dark side pockets"),
		Description: "<p>One bag for the office and the hut. Sealed zips, a belt that carries on the hip, and a sleeve for a 16-inch machine.</p>" +
			"<ul><li>26 litres, 980 g</li><li>Woven from recycled bottles</li></ul>",
		Rules: rules + "The shop selects the colour from its stock.",
		Texts: zh("山脊双肩包 26 升", "<p>通勤、徒步一包搞定。密封拉链，腰带承重，独立隔层可放 16 英寸笔记本电脑。</p>"+
			"<ul><li>容量 26 升，自重 980 克</li><li>面料由回收塑料瓶制成</li></ul>",
			"颜色按库存随机发货。"),
	}, percent: 60, units: 54, limit: 2},
	{product: shop.Product{
		ID: 106, CategoryID: office, Name: "Meridian Field Watch", ListPriceFen: 219900, Ships: true,
		Images: drawing("watch", "Round golden watch with a light dial and a dark strap"),
		Description: "<p>Hands you can read at night and a movement that any watchmaker can service.</p>" +
			"<ul><li>38 mm gold-plated case, sapphire crystal</li><li>Automatic, 60 hours in reserve</li><li>Water-proof to 10 bar</li></ul>",
		Rules: rules + "One per buyer; the serial number is tied to the order.",
		Texts: zh("子午线军表", "<p>夜光指针，暗处也能看清时间；机芯通用，普通钟表师傅即可保养。</p>"+
			"<ul><li>38 毫米镀金表壳，蓝宝石镜面</li><li>自动机械机芯，动力储存 60 小时</li><li>防水 10 bar</li></ul>",
			"每人限购一只，序列号与订单绑定。"),
	}, percent: 45, units: 12, limit: 1},
	{product: shop.Product{
		ID: 107, CategoryID: sound, Name: "Pocket Camera P4", ListPriceFen: 399900, Ships: true,
		Images: drawing("camera", "White and black camera with a large round lens"),
		Description: "<p>A large sensor behind a fixed 28 mm lens, in a body that fits a coat pocket.</p>" +
			"<ul><li>24 megapixels, stabilised</li><li>Starts in 0.4 seconds</li><li>Film-like profiles in the camera</li></ul>",
		Rules: rules + "One per buyer; two years of warranty.",
		Texts: zh("口袋相机 P4", "<p>大尺寸传感器搭配 28 毫米定焦镜头，机身小到能放进外套口袋。</p>"+
			"<ul><li>2400 万像素，支持防抖</li><li>0.4 秒快速开机</li><li>内置多种胶片色彩</li></ul>",
			"每人限购一台，质保两年。"),
	}, percent: 70, units: 18, limit: 1},
	{product: shop.Product{
		ID: 108, CategoryID: outdoor, Name: "Tideline Sneakers", ListPriceFen: 79900, Ships: true,
		Images: drawing("sneakers", "White and red sneaker with blue laces, seen from the side"),
		Description: "<p>A daily trainer with a wide toe box and a sole that springs back.</p>" +
			"<ul><li>248 g in size 42</li><li>Knit upper, dries overnight</li></ul>",
		Rules: rules + "Give your size in the address line; one exchange is free.",
		Texts: zh("潮线运动鞋", "<p>日常训练跑鞋，鞋头宽松不挤脚，鞋底回弹有力。</p>"+
			"<ul><li>42 码单只重 248 克</li><li>针织鞋面，洗后一夜即干</li></ul>",
			"请在收货地址中注明尺码，可免费换货一次。"),
	}, percent: 50, units: 66, limit: 2},
	{product: shop.Product{
		ID: 109, CategoryID: home, Name: "Blue Flower Teapot", ListPriceFen: 26900, Ships: true,
		Images: drawing("teapot", "White teapot painted with a blue flower"),
		Description: "<p>Thrown and painted by hand, so that no two flowers are alike. The lid stays where it is when you pour.</p>" +
			"<ul><li>450 ml, with a steel strainer</li><li>Dishwasher does not harm it</li></ul>",
		Rules: rules + "Small differences in the painting are wanted.",
		Texts: zh("青花手绘茶壶", "<p>手工拉坯、手工绘制，每一朵花都独一无二。倒茶时壶盖稳固不掉落。</p>"+
			"<ul><li>容量 450 毫升，附不锈钢滤网</li><li>可放入洗碗机清洗</li></ul>",
			"手绘图案略有差异，属手工特色，非质量问题。"),
	}, percent: 65, units: 30, limit: 2},
	{product: shop.Product{
		ID: 110, CategoryID: sound, Name: "Sparrow Drone", ListPriceFen: 289900, Ships: true,
		Images: drawing("drone", "White drone with four rotors and a camera"),
		Description: "<p>Below 249 g, so that it may fly almost everywhere, and steady in wind of force five.</p>" +
			"<ul><li>34 minutes in the air</li><li>4K at 60 frames</li><li>Comes home by itself</li></ul>",
		Rules: rules + "One per buyer; pilots register where the law requires it.",
		Texts: zh("云雀航拍无人机", "<p>机身不到 249 克，大多数地方都能飞，五级风中依然平稳。</p>"+
			"<ul><li>续航 34 分钟</li><li>4K 60 帧拍摄</li><li>一键自动返航</li></ul>",
			"每人限购一台，请按当地法规进行实名登记。"),
	}, percent: 68, units: 16, limit: 1},
	{product: shop.Product{
		ID: 111, CategoryID: sound, Name: "Harbour Speaker", ListPriceFen: 49900, Ships: true,
		Images: drawing("speaker", "Dark wooden speaker with two drivers, playing"),
		Description: "<p>A two-way bookshelf speaker that fills a room. Two of them find each other and play in stereo.</p>" +
			"<ul><li>Walnut veneer, 13 cm woofer</li><li>Bluetooth, optical and line in</li></ul>",
		Rules: rules + "Speakers are sold one by one, pairs need two.",
		Texts: zh("海港书架音箱", "<p>两分频书架音箱，声音充满整个房间。两只音箱可自动配对，组成立体声。</p>"+
			"<ul><li>胡桃木皮箱体，13 厘米低音单元</li><li>支持蓝牙、光纤和线路输入</li></ul>",
			"音箱按只销售，组立体声请购买两只。"),
	}, percent: 52, units: 80, limit: 2},
	{product: shop.Product{
		ID: 112, CategoryID: outdoor, Name: "Arc Full-Face Helmet", ListPriceFen: 38900, Ships: true,
		Images: drawing("helmet", "White and red full-face helmet with a dark visor"),
		Description: "<p>A quiet shell, a visor that opens with one hand, and a liner that turns with the blow instead of passing it on.</p>" +
			"<ul><li>1,390 g in size M</li><li>Inner sun visor, seven vents</li></ul>",
		Rules: rules + "Once worn in a fall a helmet must be replaced; we do so at half the price.",
		Texts: zh("弧线全盔", "<p>静音盔壳，镜片单手开合；内衬随冲击转动，减轻头部受力。</p>"+
			"<ul><li>M 码重 1390 克</li><li>内置遮阳镜片，七处通风口</li></ul>",
			"头盔摔撞后必须更换，本店半价换新。"),
	}, percent: 57, units: 36, limit: 2},
}

// drawing returns the project's own drawing with a short name.
func drawing(name, alt string) []shop.Image {
	return []shop.Image{{URL: "/products/" + name + ".svg", Alt: alt}}
}

// zh returns the Chinese texts of a product. rule is its own line of the rules.
func zh(name, description, rule string) map[string]shop.ProductText {
	return map[string]shop.ProductText{"zh": {Name: name, Description: description, Rules: rulesZh + rule}}
}
