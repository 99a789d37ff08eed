export const MIN_PASSWORD_LENGTH = 8
export const MAX_PASSWORD_LENGTH = 128

/** A rough check of an e-mail address; the server checks it fully. */
export function isEmail(text: string): boolean {
  return /^[^\s@]+@[^\s@]+\.[^\s@.]+$|^[^\s@]+@localhost$/.test(text) && text.length <= 254
}

/** The rule that a new password violates, checked before the request. */
export function passwordProblem(password: string, email: string): 'short' | 'long' | 'same' | undefined {
  const length = [...password].length
  if (length < MIN_PASSWORD_LENGTH) return 'short'
  if (length > MAX_PASSWORD_LENGTH) return 'long'
  return email !== '' && password.toLowerCase() === email.toLowerCase() ? 'same' : undefined
}
