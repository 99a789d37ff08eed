import { Lost } from '../../src/live/ops'
import { refused } from '../http'

const TIMEOUT_MS = 60_000

/**
 * Uploads a picture and returns the response. Unlike callApi it uses XMLHttpRequest, which reports the progress of the
 * upload.
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
    request.timeout = TIMEOUT_MS
    request.responseType = 'json'
    // The server detects the type itself and ignores this one.
    request.setRequestHeader('Content-Type', file.type || 'application/octet-stream')
    request.setRequestHeader('Idempotency-Key', key)
    if (token) request.setRequestHeader('Authorization', `Bearer ${token}`)
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0)
    request.onerror =
      request.ontimeout =
      request.onabort =
        () => reject(new Lost('no response to the upload of a picture'))
    request.onload = () => {
      if (request.status < 300) resolve(request.response)
      else reject(refused(request.status, request.response))
    }
    request.send(file)
  })
}
