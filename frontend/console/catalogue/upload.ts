import { Lost } from '../../src/live/ops'
import { refused } from '../http'

const WITHIN_MS = 60_000

/**
 * Sends a picture, and answers what the server says of it. As askApi, which hears nothing of how far a body has come.
 */
export function upload(
  file: Blob,
  key: string,
  token: string | undefined,
  progress: (part: number) => void,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', '/api/v1/operator/images')
    request.timeout = WITHIN_MS
    request.responseType = 'json'
    // What a file calls itself, the server does not believe.
    request.setRequestHeader('Content-Type', file.type || 'application/octet-stream')
    request.setRequestHeader('Idempotency-Key', key)
    if (token) request.setRequestHeader('Authorization', `Bearer ${token}`)
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0)
    request.onerror = request.ontimeout = request.onabort = () => reject(new Lost('no answer to a picture'))
    request.onload = () => {
      if (request.status < 300) resolve(request.response)
      else reject(refused(request.status, request.response))
    }
    request.send(file)
  })
}
