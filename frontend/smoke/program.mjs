import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const program = new URL('../../bin/stampede', import.meta.url).pathname

/**
 * Runs the program with the data folder of a shop. Resolves to its output; rejects with its error output if it fails.
 * Operators' commands call the server at STAMPEDE_URL.
 */
export function stampede(data, args, input, settings = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...process.env, STAMPEDE_DATA: data, ...settings } })
    let printed = ''
    let output = ''
    child.stdout.on('data', (text) => (printed += text))
    child.stderr.on('data', (text) => (output += text))
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(printed) : reject(new Error(output))))
    child.stdin.end(input)
  })
}

/** A separate, empty shop: `stampede serve` in an empty folder, with the given settings without their prefix. */
export class EmptyShop {
  /** Resolves when the server responds; rejects with its output if it exits before. */
  static async start(settings = {}) {
    const shop = new EmptyShop()
    shop.data = await mkdtemp(join(tmpdir(), 'stampede-empty-'))
    const all = {
      ...{ LISTEN: '127.0.0.1:0', METRICS_LISTEN: 'off', GUEST_LOGIN: 'true', DATA: shop.data },
      ...settings,
    }
    const env = Object.fromEntries(Object.entries(all).map(([name, value]) => [`STAMPEDE_${name}`, value]))
    shop.child = spawn(program, ['serve'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    shop.ended = new Promise((resolve) => shop.child.on('close', resolve))
    shop.base = await new Promise((resolve, reject) => {
      let output = ''
      const onOutput = (text) => {
        output += text
        shop.redis ??= /redis=(\S+)/.exec(output)?.[1]
        const [, address] = /msg=open address=(\S+)/.exec(output) ?? []
        if (address) resolve(`http://${address}`)
      }
      shop.child.stdout.on('data', onOutput)
      shop.child.stderr.on('data', onOutput)
      void shop.ended.then(() => reject(new Error(`the empty shop ended: ${output}`)))
    })
    return shop
  }

  async run(args, input) {
    this.token ??= (await stampede(this.data, ['token', '--user', '1', '--role', 'admin'])).trim()
    return stampede(this.data, args, input, { STAMPEDE_URL: this.base, STAMPEDE_TOKEN: this.token })
  }

  /** Adds a sale of a product to a slot of an hour, and returns its id; `terms` are further flags of the command. */
  async sell(product, ...terms) {
    this.slot ??= await this.#addSlot()
    const sale = ['sale', 'create', '--product', product, '--slot', this.slot, '--json', ...terms]
    return JSON.parse(await this.run(sale)).id
  }

  async #addSlot() {
    const [opens, closes] = [0, 3_600_000].map((ms) => localTime(Date.now() + ms))
    return JSON.parse(await this.run(['slot', 'create', '--opens', opens, '--closes', closes, '--json'])).id
  }

  async stop() {
    this.child.kill('SIGTERM')
    await this.ended
    await rm(this.data, { recursive: true, force: true })
  }
}

/** The local time in the default time zone of a shop, in minutes. */
const localTime = (at) => new Date(at).toLocaleString('sv-SE', { timeZone: 'Asia/Shanghai' }).slice(0, 16)
