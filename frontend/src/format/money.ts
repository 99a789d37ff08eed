/** The discount from the list price in whole per cent, rounded down; 0 without a discount. */
export function discount(listFen: number, priceFen: number): number {
  return listFen > priceFen && listFen > 0 ? Math.floor((1 - priceFen / listFen) * 100) : 0
}
