/** Offers a file as a download. */
export function saveFile(name: string, file: Blob): void {
  const url = URL.createObjectURL(file)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser has read the file before this timer ends.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
