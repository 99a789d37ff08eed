export const MIN_PASSWORD_LENGTH = 8
export const MAX_PASSWORD_LENGTH = 128

/** ASCII before the @; letters of any script, digits and hyphens in the domain. */
const EMAIL = /^[!-?A-~]+@(localhost|[\p{L}\p{M}\p{Nd}-]+(\.[\p{L}\p{M}\p{Nd}-]+)+)$/u

/** A rough check of an e-mail address; the server checks it fully. */
export function isEmail(text: string): boolean {
  return EMAIL.test(text) && text.length <= 254
}

/** The rule that a new password violates, checked before the request. */
export function passwordProblem(password: string, email: string): 'short' | 'long' | 'same' | undefined {
  const length = [...password].length
  if (length < MIN_PASSWORD_LENGTH) return 'short'
  if (length > MAX_PASSWORD_LENGTH) return 'long'
  return email !== '' && password.toLowerCase() === email.toLowerCase() ? 'same' : undefined
}
