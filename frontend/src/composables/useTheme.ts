import { computed, ref } from 'vue'
import { usePreferences, type Theme } from '../stores/preferences'
import { useListener } from '../timers'

/** The effective theme (the shopper's choice, else the system's), and a function that switches it. */
export function useTheme() {
  const preferences = usePreferences()
  const query = matchMedia('(prefers-color-scheme: dark)')
  const systemTheme = (): Theme => (query.matches ? 'dark' : 'light')
  const system = ref(systemTheme())
  useListener(query, 'change', () => (system.value = systemTheme()))

  const theme = computed(() => preferences.theme ?? system.value)

  function toggle(): void {
    const other = theme.value === 'dark' ? 'light' : 'dark'
    preferences.setTheme(other === system.value ? undefined : other)
  }

  return { theme, toggle }
}
