import { computed, ref } from 'vue'
import { usePreferences, type Theme } from '../stores/preferences'
import { useListener } from '../timers'

/** The theme that is seen now (the choice, else the system's), and a switch to the other one. */
export function useTheme() {
  const preferences = usePreferences()
  const query = matchMedia('(prefers-color-scheme: dark)')
  const seen = (): Theme => (query.matches ? 'dark' : 'light')
  const system = ref(seen())
  useListener(query, 'change', () => (system.value = seen()))

  const theme = computed(() => preferences.theme ?? system.value)

  function toggle(): void {
    const other = theme.value === 'dark' ? 'light' : 'dark'
    preferences.paint(other === system.value ? undefined : other)
  }

  return { theme, toggle }
}
