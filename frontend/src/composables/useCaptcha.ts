import { ref, shallowRef } from 'vue'
import type { AccountClient, CaptchaSolution } from '../account/client'
import type { Captcha } from '../protocol/account'

/** A captcha and the shopper's text for it. Each captcha is valid for one attempt. */
export function useCaptcha(client: AccountClient) {
  /** Undefined while loading, and after a failure. */
  const picture = shallowRef<Captcha>()
  const missing = ref(false)
  const typed = ref('')

  async function load(): Promise<void> {
    picture.value = undefined
    missing.value = false
    typed.value = ''
    try {
      picture.value = await client.captcha()
    } catch (error) {
      console.warn('no captcha:', error)
      missing.value = true
    }
  }

  /** The entered text; undefined if it is empty. */
  function answer(): CaptchaSolution | undefined {
    const text = typed.value.trim()
    return picture.value && text ? { id: picture.value.id, answer: text } : undefined
  }

  return { picture, missing, typed, load, answer }
}
