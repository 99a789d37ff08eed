import { defineStore } from './define'
import { createOrderSheet } from './ordersheet'

/** The sheet in which a refund is requested. */
export const useRefundSheet = defineStore('refundsheet', () => createOrderSheet('refund'))
