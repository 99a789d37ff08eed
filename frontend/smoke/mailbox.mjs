import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { until } from './browser.mjs'

/** Guesses in a row; between such batches other tests of the process can continue. */
const GUESSES = 5_000

/**
 * Reads the mails and captchas of a demo. Mails are in its folder; the six digits of a captcha are found by their hash
 * in its embedded Redis at host:port.
 */
export function demoReader(folder, redis) {
  return {
    async link(to, kind) {
      const link = new RegExp(`https?://\\S+?/(#${kind}=[\\w-]+)`)
      let found
      await until(async () => {
        const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.eml'))
        for (const name of names.sort().reverse()) {
          const text = plain(await readFile(join(folder, name), 'utf8'))
          if (text.includes(to)) found ??= newLink(link.exec(text)?.[1])
        }
        return found
      })
      return `/${found}`
    },
    async captcha(id) {
      const stored = await get(redis, `stampede:{captcha}:${id}`)
      for (let n = 0; n < 1_000_000; n++) {
        const digits = String(n).padStart(6, '0')
        if (hash('sha256', `${id}:${digits}`) === stored) return digits
        if (n % GUESSES === 0) await yieldToEventLoop()
      }
      throw new Error(`no hash of the captcha ${id}`)
    },
  }
}

/** The links that were already returned. A later mail of the same second may sort before an earlier one. */
const returnedLinks = new Set()

function newLink(link) {
  if (!link || returnedLinks.has(link)) return undefined
  returnedLinks.add(link)
  return link
}

/** Decodes quoted-printable. */
function plain(text) {
  return text
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
}

/** Reads one value from Redis. */
async function get(address, key) {
  const [size, value] = await callRedis(address, ['GET', key])
  return size.startsWith('$') && size !== '$-1' ? value : undefined
}

/** Sends one command to Redis at host:port and returns the lines of a short reply. */
export function callRedis(address, words) {
  const [host, port] = address.split(':')
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), host)
    let output = ''
    socket.on('error', reject)
    socket.on('data', (data) => {
      output += data
      const lines = output.split('\r\n')
      if (lines.length < (output.startsWith('$') ? 3 : 2) && output !== '$-1\r\n') return
      socket.end()
      resolve(lines)
    })
    const sent = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')
    socket.write(`*${words.length}\r\n${sent}`)
  })
}
