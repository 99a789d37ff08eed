/** Formats whole fen, the unit of all amounts: 12900 → "¥129", 12950 → "¥129.50". */
export function yuan(fen: number): string {
  const sign = fen < 0 ? '-' : ''
  const whole = Math.floor(Math.abs(fen) / 100)
  const cents = Math.abs(fen) % 100
  const grouped = String(whole).replace(/\B(?=(\d{3})+$)/g, ',')
  return `${sign}¥${grouped}${cents === 0 ? '' : `.${String(cents).padStart(2, '0')}`}`
}

/** The discount from the list price in whole per cent, rounded down; 0 without a discount. */
export function discount(listFen: number, priceFen: number): number {
  return listFen > priceFen && listFen > 0 ? Math.floor((1 - priceFen / listFen) * 100) : 0
}
