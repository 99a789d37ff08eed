import { nextTick, watch, watchEffect } from 'vue'
import { page } from '../router'

/** Moves the focus to the main part of the page, for the keyboard and screen readers. */
export function focusMain(): void {
  document.querySelector('main')?.focus({ preventScroll: true })
}

/** After a change of the page, the clicked link is gone, so the focus moves to the new page. */
export function usePageChange(): void {
  watch(
    () => page.value.path,
    async () => {
      await nextTick()
      focusMain()
    },
  )
}

/** Sets the title of the browser's tab. */
export function usePageTitle(title: () => string): void {
  watchEffect(() => {
    document.title = title() ? `${title()} — Stampede` : 'Stampede'
  })
}
