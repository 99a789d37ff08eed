export const SHORTEST_PASSWORD = 8
export const LONGEST_PASSWORD = 128

/** A rough check of an e-mail address; the server checks it fully. */
export function isEmail(text: string): boolean {
  return /^[^\s@]+@[^\s@]+\.[^\s@.]+$|^[^\s@]+@localhost$/.test(text) && text.length <= 254
}

/** The rule that a new password violates, checked before the request. */
export function passwordProblem(password: string, email: string): 'short' | 'long' | 'same' | undefined {
  const length = [...password].length
  if (length < SHORTEST_PASSWORD) return 'short'
  if (length > LONGEST_PASSWORD) return 'long'
  return email !== '' && password.toLowerCase() === email.toLowerCase() ? 'same' : undefined
}
