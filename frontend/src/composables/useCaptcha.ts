import { ref, shallowRef } from 'vue'
import type { AccountClient, CaptchaAnswer } from '../account/client'
import type { Captcha } from '../protocol/account'

/** A picture from the shop and what the shopper read from it. Each serves for one try. */
export function useCaptcha(client: AccountClient) {
  /** Undefined while it is on its way, and where there is none. */
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

  /** What was read; undefined as long as there is nothing. */
  function answer(): CaptchaAnswer | undefined {
    const read = typed.value.trim()
    return picture.value && read ? { id: picture.value.id, answer: read } : undefined
  }

  return { picture, missing, typed, load, answer }
}
