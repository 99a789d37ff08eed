import { defineStore } from './define'
import { createOrderSheet } from './ordersheet'

/** The sheet that asks before an order is cancelled. */
export const useCancelSheet = defineStore('cancelsheet', () => createOrderSheet('cancel'))

/** The sheet that asks before a receipt is confirmed. */
export const useReceiptSheet = defineStore('receiptsheet', () => createOrderSheet('receipt'))
