import { computed, onScopeDispose, ref } from 'vue'
import { usePreferences, type Theme } from '../stores/preferences'

/** The theme that is seen now (the choice, else the system's), and a switch to the other one. */
export function useTheme() {
  const preferences = usePreferences()
  const query = matchMedia('(prefers-color-scheme: dark)')
  const system = ref<Theme>(query.matches ? 'dark' : 'light')
  const follow = (event: MediaQueryListEvent): void => {
    system.value = event.matches ? 'dark' : 'light'
  }
  query.addEventListener('change', follow)
  onScopeDispose(() => query.removeEventListener('change', follow))

  const theme = computed(() => preferences.theme ?? system.value)

  function toggle(): void {
    const other = theme.value === 'dark' ? 'light' : 'dark'
    preferences.theme = other === system.value ? undefined : other
  }

  return { theme, toggle }
}
