import { defineStore } from 'pinia'
import { computed, ref } from 'vue'

/**
 * The dialogs that are open, the topmost last. Everything below it can neither be pressed nor heard, so messages
 * appear in the topmost one.
 */
export const useLayers = defineStore('layers', () => {
  const open = ref<symbol[]>([])
  const top = computed(() => open.value.at(-1))

  function enter(layer: symbol): void {
    open.value = [...open.value.filter((other) => other !== layer), layer]
  }

  function leave(layer: symbol): void {
    open.value = open.value.filter((other) => other !== layer)
  }

  return { top, enter, leave }
})
