/** The products of the stand-in server: name, category, picture, list price and sale price in fen, stock, limit. */
export const goods = [
  ['Studio headphones', 'Audio', 'headphones', 129900, 64900, 120, 2],
  ['Gooseneck kettle', 'Kitchen', 'kettle', 25900, 9900, 80, 2],
  ['Mechanical keyboard', 'Desk', 'keyboard', 69900, 34950, 60, 1],
  ['Desk lamp', 'Home', 'lamp', 19900, 8900, 40, 3],
  ['Field backpack', 'Outdoor', 'backpack', 45900, 22900, 90, 2],
  ['Automatic watch', 'Style', 'watch', 288800, 99900, 12, 1],
]
