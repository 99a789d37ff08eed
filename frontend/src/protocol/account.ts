/**
 * Parses the responses of the account routes from `unknown`, like all wire data. Only the account sheets load this
 * module.
 */
import { fields, id, number, numberOr, optional, readable, text } from './fields'
import { parseAddress, parsePicture } from './parse'
import type { Address } from './types'

/** A captcha picture. */
export interface Captcha {
  readonly id: string
  readonly image: string
}

/** The user's profile in the account sheet. */
export interface Profile {
  readonly id: string
  readonly name: string
  readonly email?: string
  readonly lang?: string
  readonly guest: boolean
}

/** A browser or an app that is logged in. */
export interface Device {
  readonly id: string
  readonly name: string
  readonly created_at: number
  readonly last_seen_at: number
  /** The current device. */
  readonly current: boolean
}

export interface SavedAddress extends Address {
  readonly id: string
  readonly default: boolean
}

export function parseCaptcha(value: unknown): Captcha {
  const f = fields(value, 'captcha')
  return { id: text(f, 'id'), image: parsePicture(f) }
}

export function parseProfile(value: unknown): Profile {
  const f = fields(value, 'profile')
  return {
    id: id(f, 'id'),
    name: f.name === undefined ? '' : text(f, 'name'),
    guest: f.guest === true,
    ...optional(f, 'email', text),
    ...optional(f, 'lang', text),
  }
}

function parseDevice(value: unknown): Device {
  const f = fields(value, 'device')
  const created_at = number(f, 'created_at')
  return {
    id: id(f, 'id'),
    name: f.name === undefined ? '' : text(f, 'name'),
    created_at,
    last_seen_at: numberOr(f, 'last_seen_at', created_at),
    current: f.current === true,
  }
}

export function parseDevices(value: unknown): Device[] {
  return readable(fields(value, 'devices'), 'devices', parseDevice)
}

export function parseSavedAddress(value: unknown): SavedAddress {
  const f = fields(value, 'address')
  return { ...parseAddress(value), id: id(f, 'id'), default: f.default === true }
}

export function parseAddresses(value: unknown): SavedAddress[] {
  return readable(fields(value, 'addresses'), 'addresses', parseSavedAddress)
}

export function parseActivated(value: unknown): string {
  const f = fields(value, 'activation')
  return f.email === undefined ? '' : text(f, 'email')
}
