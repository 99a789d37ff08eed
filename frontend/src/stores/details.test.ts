// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { router } from '../router'
import { sale } from '../testing/samples'
import { freshStores } from './define'
import { useDetails } from './details'
import { useSales } from './sales'

let endStores: () => void
const fetchDetails = vi.fn<(address: string) => Promise<Response>>()
const responseOf = (body: object) =>
  Promise.resolve(new Response(JSON.stringify({ product: {}, ...body }), { status: 200 }))

beforeEach(async () => {
  await router.replace('/')
  endStores = freshStores()
  vi.restoreAllMocks()
  vi.spyOn(console, 'warn').mockReturnValue()
  fetchDetails.mockReset()
  vi.stubGlobal('fetch', fetchDetails)
  useSales().replaceSlot('1', [sale(), sale({ id: '12' })])
})

afterEach(() => endStores())

describe('the details of a sale', () => {
  it('are requested once, when the shopper opens them', async () => {
    fetchDetails.mockReturnValue(responseOf({ description: '<p>Hot</p>', rules: 'One each' }))
    const details = useDetails()
    expect(fetchDetails).not.toHaveBeenCalled()
    await router.push('/sale/11')
    await vi.waitFor(() =>
      expect(details.details).toMatchObject({ description: '<p>Hot</p>', rules: 'One each' }),
    )
    expect(fetchDetails.mock.calls.map(([address]) => address)).toEqual(['/api/v1/sales/11'])
    await router.push('/')
    await router.push('/sale/11')
    expect(fetchDetails).toHaveBeenCalledTimes(1)
  })

  it('have texts in further languages', async () => {
    const texts = { zh: { name: '水壶', description: '<p>热</p>' } }
    fetchDetails.mockReturnValue(responseOf({ product: { texts }, rules: 'One each' }))
    const details = useDetails()
    await router.push('/sale/11')
    await vi.waitFor(() => expect(details.details).toMatchObject({ rules: 'One each', texts }))
  })

  it('are shown while they are reloaded', async () => {
    fetchDetails
      .mockReturnValueOnce(responseOf({ rules: 'One each' }))
      .mockReturnValueOnce(responseOf({ rules: 'Two each' }))
    const details = useDetails()
    await router.push('/sale/11')
    await vi.waitFor(() => expect(details.details?.rules).toBe('One each'))
    await router.push('/')
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000)
    await router.push('/sale/11')
    expect(details.details?.rules).toBe('One each')
    await vi.waitFor(() => expect(details.details?.rules).toBe('Two each'))
  })

  it('belong to an unknown sale', async () => {
    const error = { code: 'not_found', message: 'no such sale' }
    fetchDetails.mockResolvedValue(new Response(JSON.stringify({ error }), { status: 404 }))
    const details = useDetails()
    await router.push('/sale/99')
    await vi.waitFor(() => expect(details.missing).toBe(true))
    await router.push('/sale/11')
    expect(details.missing).toBe(false)
  })

  it('report a failure only while they are open', async () => {
    fetchDetails.mockRejectedValueOnce(new TypeError('offline')).mockImplementation(() => responseOf({}))
    const details = useDetails()
    await router.push('/sale/11')
    await vi.waitFor(() => expect(details.failed).toBe(true))
    await router.push('/sale/12')
    expect(details.failed).toBe(false)
    await vi.waitFor(() => expect(details.details).toMatchObject({ description: '', rules: '' }))
    await router.push('/sale/11')
    await vi.waitFor(() => expect(details.details).toBeDefined())
  })

  it('belong to the current version of a sale', async () => {
    fetchDetails.mockReturnValue(responseOf({}))
    const details = useDetails()
    await router.push('/sale/12')
    useSales().change(sale({ id: '12', paused: true }))
    expect(details.sale?.paused).toBe(true)
  })
})
