import type { SavedAddress } from '../protocol/account'
import type { Address } from '../protocol/types'
import { usePreferences } from '../stores/preferences'
import { useAccountClient } from './client'

/** The address book of the current user, and the address sent with orders: the default of the book. */
export function useAddresses() {
  const preferences = usePreferences()
  const client = useAccountClient()

  /** Reads the book. An address that only this browser has stored is added to an empty book. */
  async function read(): Promise<SavedAddress[]> {
    let book = await client.addresses()
    if (book.length === 0 && preferences.address) {
      await client.addAddress({ ...preferences.address, default: true })
      book = await client.addresses()
    }
    if (!preferences.withoutAddress) preferences.setAddress(plain(book.find((address) => address.default)))
    return book
  }

  async function choose(address: SavedAddress): Promise<void> {
    const wanted = plain(address)
    if (!wanted) return
    if (!address.default) await client.changeAddress(address.id, { ...wanted, default: true })
    preferences.setAddress(wanted)
  }

  /** Saves an address; a new one becomes the default. */
  async function write(address: Address, of?: SavedAddress): Promise<void> {
    if (!of) await client.addAddress({ ...address, default: true })
    else await client.changeAddress(of.id, { ...address, default: of.default })
    if (!of) preferences.setAddress(address)
  }

  async function remove({ id, default: chosen }: SavedAddress): Promise<void> {
    await client.removeAddress(id)
    if (chosen && !preferences.withoutAddress) preferences.setAddress(undefined)
  }

  return { read, choose, write, remove }
}

function plain(address: SavedAddress | undefined): Address | undefined {
  return address && { name: address.name, phone: address.phone, text: address.text }
}
