import { computed, ref } from 'vue'
import { defineStore } from './define'

/** The open dialogs, the topmost last. Everything below the topmost one is inert, so messages appear in it. */
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
