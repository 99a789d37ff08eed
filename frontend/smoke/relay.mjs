/**
 * The sockets of a page on their way to the real server. A test can change, lose or add frames, for states that are hard
 * to reach. Open a page with `open(base, { relayed: true })`; the relay is `page.relay`.
 */
export class Relay {
  /** Every frame that the page has sent. */
  received = []
  #links = new Set()
  #answers = []
  #edits = []
  #stalled = false

  static async of(page) {
    const relay = new Relay()
    await page.routeWebSocket(/\/ws$/, (client) => relay.#connect(client))
    return relay
  }

  /**
   * The next `times` requests of an op do not get the server's reply but that of `reply(frame)`: an object with `ok` or
   * `error`, or undefined for none. With `performed`, the server performs the request nevertheless.
   */
  answer(op, reply, { times = 1, performed = false } = {}) {
    this.#answers.push({ op, reply, times, performed })
  }

  /** Passes each frame from the server through `change`, which returns the changed frame, or undefined to lose it. */
  edit(change) {
    this.#edits.push(change)
  }

  /** Sends a frame to the page, as the server does. */
  send(frame) {
    for (const { client } of this.#links) client.send(JSON.stringify(frame))
  }

  /** Closes the sockets with a code, like a server that drains (4000) or blocks (4507). New ones are accepted. */
  async close(code) {
    const links = [...this.#links]
    this.#links.clear() // the page may send until its side has closed, and the browser reports a frame to a closed socket
    for (const { client, server } of links) {
      await server.close()
      await client.close({ code, reason: '' })
    }
  }

  /** Announces a drain, and closes all sockets. */
  async drain(retry_ms) {
    this.send({ ev: 'bye', code: 4000, retry_ms })
    await this.close(4000)
  }

  /** Frames are lost in both directions, but no socket closes. */
  stall() {
    this.#stalled = true
  }

  /** Ends the stall. Frames sent during it are lost; with `cut`, all sockets close. */
  async resume(cut = false) {
    this.#stalled = false
    if (cut) await this.close(1012)
  }

  #connect(client) {
    const server = client.connectToServer()
    const link = { client, server, replies: new Map() }
    this.#links.add(link)
    client.onMessage((text) => this.#fromPage(link, text))
    server.onMessage((text) => this.#fromServer(link, text))
  }

  #fromPage(link, text) {
    if (this.#stalled || !this.#links.has(link)) return
    const frame = JSON.parse(text)
    this.received.push(frame)
    const answer = this.#answers.find(({ op, times }) => op === frame.op && times > 0)
    if (answer) {
      answer.times--
      if (answer.performed) link.replies.set(frame.id, answer.reply)
      else return this.#reply(link, frame, answer.reply)
    }
    link.server.send(text)
  }

  #reply({ client }, frame, reply) {
    const content = reply(frame)
    if (content) client.send(JSON.stringify({ id: frame.id, ...content }))
  }

  #fromServer(link, text) {
    if (this.#stalled) return
    const frame = JSON.parse(text)
    const reply = link.replies.get(frame.id)
    if (reply) {
      link.replies.delete(frame.id)
      return this.#reply(link, frame, reply)
    }
    const edited = this.#edits.reduce((current, change) => current && change(current), frame)
    if (edited) link.client.send(JSON.stringify(edited))
  }
}
