/** Parses the responses of the account routes, like all wire data. Only the account sheets load this module. */
import { flag, id, list, number, object, optional, parse, parser, png, text } from './fields'
import { address } from './parse'
import type { Activated, Captcha, Device, Profile, SavedAddress } from './types'

export type { Captcha, Device, Profile, SavedAddress }

export const parseCaptcha = parser(object<Captcha>({ id: text, image: png }))

export const parseProfile = parser(
  object<Profile>({ id, name: text, guest: flag, email: optional(text), lang: optional(text) }),
)

const device = object<Device>({ id, name: text, created_at: number, last_seen_at: number, current: flag })
const devices = object<{ devices: Device[] }>({ devices: list(device) })
export const parseDevices = (value: unknown): Device[] => parse(devices, value).devices

const savedAddress = object<SavedAddress>({ ...address, id, default: flag })
export const parseSavedAddress = parser(savedAddress)
const addresses = object<{ addresses: SavedAddress[] }>({ addresses: list(savedAddress) })
export const parseAddresses = (value: unknown): SavedAddress[] => parse(addresses, value).addresses

const activated = object<Activated>({ email: text })
export const parseActivated = (value: unknown): string => parse(activated, value).email
