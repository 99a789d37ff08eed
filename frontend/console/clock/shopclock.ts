import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import { useLive } from '../../src/stores/live'
import { asReadonly } from '../../src/stores/readonly'
import { useCatalogue } from '../catalogue/api'
import { knowsZone, secondOf, wallOf, windowText } from './zone'

/** The clocks of the shop: what they show, and which day it is there. Every time in the console is told by them. */
export const useShopClock = defineStore('shopclock', () => {
  const api = useCatalogue()
  const live = useLive()
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  const zone = ref(own)
  const today = computed(() => wallOf(live.now, zone.value).day)
  let known = false

  /** What the server says; a zone that this browser does not know is read by its own clocks. */
  function hear(name: string): void {
    known = true
    zone.value = knowsZone(name) ? name : own
  }

  /** Asks for the zone, once. */
  async function read(): Promise<void> {
    if (!known) hear((await api.slots(today.value)).zone)
  }

  /** Day and time, to the second. */
  function instant(at: number): string {
    const { day, time } = secondOf(at, zone.value)
    return `${day} ${time}`
  }

  /** Day and time of what somebody has planned: seconds only where there are any. */
  function planned(at: number): string {
    const { day, time } = wallOf(at, zone.value)
    return `${day} ${time}`
  }

  return {
    zone: asReadonly(zone),
    today,
    hear,
    read,
    instant,
    planned,
    /** The time of day, to the second. */
    time: (at: number) => secondOf(at, zone.value).time,
    window: (from: number, to: number) => windowText(from, to, zone.value),
  }
})
