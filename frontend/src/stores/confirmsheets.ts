import { defineStore } from './define'
import { createOrderSheet } from './ordersheet'

/** The sheet with the question before a cancellation. */
export const useCancelSheet = defineStore('cancelsheet', () => createOrderSheet('cancel'))

/** The sheet with the question before the confirmation of a receipt. */
export const useReceiptSheet = defineStore('receiptsheet', () => createOrderSheet('receipt'))
