export const SHORTEST_PASSWORD = 8
export const LONGEST_PASSWORD = 128

/** Whether it looks like an e-mail address; the shop looks closer. */
export function isEmail(text: string): boolean {
  return /^[^\s@]+@[^\s@]+\.[^\s@.]+$|^[^\s@]+@localhost$/.test(text) && text.length <= 254
}

/** What a new password lacks, before the shop is asked. */
export function passwordProblem(password: string, email: string): 'short' | 'long' | 'same' | undefined {
  const length = [...password].length
  if (length < SHORTEST_PASSWORD) return 'short'
  if (length > LONGEST_PASSWORD) return 'long'
  return email !== '' && password.toLowerCase() === email.toLowerCase() ? 'same' : undefined
}
