import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { PATIENCE_MS } from './browser.mjs'

const LOOK_MS = 200
/** So many guesses in a row: the stand-ins of the tests beside this one have to answer meanwhile. */
const GUESSES = 5_000

/** What a person would read in the mails of a stand-in and in its pictures. */
export function standInReader(standIn) {
  return {
    link: async (to, kind) =>
      standIn.accounts.mails.findLast((mail) => mail.to === to && mail.kind === kind).link,
    captcha: async (id) => standIn.accounts.pictures.get(id),
  }
}

/**
 * The same of a demo, which writes its mails into a folder and whose embedded Redis, at host:port, anyone on this machine
 * may ask: it keeps the hash of what a picture shows, and a picture has six digits.
 */
export function demoReader(folder, redis) {
  return {
    async link(to, kind) {
      const until = Date.now() + PATIENCE_MS
      for (;;) {
        for (const file of (await readdir(folder).catch(() => []))
          .filter((name) => name.endsWith('.eml'))
          .sort()
          .reverse()) {
          const text = plain(await readFile(join(folder, file), 'utf8'))
          const link = new RegExp(`https?://\\S+?/(\\?${kind}=[\\w-]+)`).exec(text)
          if (text.includes(to) && link && !seen.has(link[1])) return seen.add(link[1]) && `/${link[1]}`
        }
        if (Date.now() > until) throw new Error(`no mail to ${to} that can ${kind}`)
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      }
    },
    async captcha(id) {
      const kept = await get(redis, `stampede:{captcha}:${id}`)
      for (let n = 0; n < 1_000_000; n++) {
        const digits = String(n).padStart(6, '0')
        if (hash('sha256', `${id}:${digits}`) === kept) return digits
        if (n % GUESSES === 0) await turn()
      }
      throw new Error(`nothing is kept of the picture ${id}`)
    },
  }
}

/** Links that were followed; a later mail of the same second may sort before an earlier one. */
const seen = new Set()

/** Undoes quoted-printable. */
function plain(text) {
  return text
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
}

/** Asks Redis for one value. */
async function get(address, key) {
  const [size, value] = await askRedis(address, ['GET', key])
  return size.startsWith('$') && size !== '$-1' ? value : undefined
}

/** Sends Redis, at host:port, one command, and answers the lines of a short answer. */
export function askRedis(address, words) {
  const [host, port] = address.split(':')
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), host)
    let said = ''
    socket.on('error', reject)
    socket.on('data', (data) => {
      said += data
      const lines = said.split('\r\n')
      if (lines.length < (said.startsWith('$') ? 3 : 2) && said !== '$-1\r\n') return
      socket.end()
      resolve(lines)
    })
    const sent = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')
    socket.write(`*${words.length}\r\n${sent}`)
  })
}
