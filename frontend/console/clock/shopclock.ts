import { computed, ref } from 'vue'
import { defineStore } from '../../src/stores/define'
import { useLive } from '../../src/stores/live'
import { asReadonly } from '../../src/stores/readonly'
import { useCatalogue } from '../catalogue/api'
import { isKnownZone, secondOf, localTimeOf, windowText } from './zone'

/** The shop's time zone. The console shows every time in it. */
export const useShopClock = defineStore('shopclock', () => {
  const api = useCatalogue()
  const live = useLive()
  const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const zone = ref(browserZone)
  const today = computed(() => localTimeOf(live.now, zone.value).day)
  let known = false

  /** Sets the zone from the server. If this browser does not support it, the browser's own zone is used. */
  function setZone(name: string): void {
    known = true
    zone.value = isKnownZone(name) ? name : browserZone
  }

  /** Loads the zone once. */
  async function read(): Promise<void> {
    if (!known) setZone((await api.slots(today.value)).zone)
  }

  /** Date and time with seconds. */
  function instant(at: number): string {
    const { day, time } = secondOf(at, zone.value)
    return `${day} ${time}`
  }

  /** Date and time of a planned instant; seconds only if they are not zero. */
  function planned(at: number): string {
    const { day, time } = localTimeOf(at, zone.value)
    return `${day} ${time}`
  }

  return {
    zone: asReadonly(zone),
    today,
    setZone,
    read,
    instant,
    planned,
    /** The time of day with seconds. */
    time: (at: number) => secondOf(at, zone.value).time,
    window: (from: number, to: number) => windowText(from, to, zone.value),
  }
})
