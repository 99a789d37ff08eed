import type { SavedAddress } from '../protocol/account'
import type { Address } from '../protocol/types'
import { usePreferences } from '../stores/preferences'
import { useAccountClient } from './client'

/** The address book of the current user. Orders use its default address. */
export function useAddresses() {
  const preferences = usePreferences()
  const client = useAccountClient()

  /** Loads the book. If the book is empty, the address that this browser stores is added to it. */
  async function load(): Promise<SavedAddress[]> {
    let book = await client.addresses()
    if (book.length === 0 && preferences.address) {
      await client.addAddress({ ...preferences.address, default: true })
      book = await client.addresses()
    }
    if (!preferences.withoutAddress)
      preferences.setAddress(addressOf(book.find((address) => address.default)))
    return book
  }

  async function choose(address: SavedAddress): Promise<void> {
    const wanted = addressOf(address)
    if (!wanted) return
    if (!address.default) await client.changeAddress(address.id, { ...wanted, default: true })
    preferences.setAddress(wanted)
  }

  /** Saves an address; a new one becomes the default. */
  async function save(address: Address, existing?: SavedAddress): Promise<void> {
    if (!existing) await client.addAddress({ ...address, default: true })
    else await client.changeAddress(existing.id, { ...address, default: existing.default })
    if (!existing) preferences.setAddress(address)
  }

  async function remove({ id, default: chosen }: SavedAddress): Promise<void> {
    await client.removeAddress(id)
    if (chosen && !preferences.withoutAddress) preferences.setAddress(undefined)
  }

  return { load, choose, save, remove }
}

function addressOf(address: SavedAddress | undefined): Address | undefined {
  return address && { name: address.name, phone: address.phone, text: address.text }
}
