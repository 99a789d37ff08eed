import { defineStore } from './define'
import { createOrderSheet } from './ordersheet'

/** The sheet in which an order is paid on a desktop. */
export const usePaySheet = defineStore('paysheet', () => createOrderSheet('pay'))
