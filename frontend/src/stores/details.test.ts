// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { sale } from '../testing/samples'
import { freshStores } from './define'
import { useDetails } from './details'
import { useSales } from './sales'

const fetchDetails = vi.fn<(address: string) => Promise<Response>>()
const responseOf = (body: object) =>
  Promise.resolve(new Response(JSON.stringify({ product: {}, ...body }), { status: 200 }))

beforeEach(() => {
  freshStores()
  vi.restoreAllMocks()
  vi.spyOn(console, 'warn').mockReturnValue()
  fetchDetails.mockReset()
  vi.stubGlobal('fetch', fetchDetails)
  useSales().replaceSlot('1', [sale(), sale({ id: '12' })])
})

describe('the details of a sale', () => {
  it('are requested once, when the shopper opens them', async () => {
    fetchDetails.mockReturnValue(responseOf({ description: '<p>Hot</p>', rules: 'One each' }))
    const details = useDetails()
    expect(fetchDetails).not.toHaveBeenCalled()
    details.show('11')
    expect(details.isOpen).toBe(true)
    await vi.waitFor(() =>
      expect(details.details).toMatchObject({ description: '<p>Hot</p>', rules: 'One each' }),
    )
    expect(fetchDetails.mock.calls.map(([address]) => address)).toEqual(['/api/v1/sales/11'])
    details.close()
    details.show('11')
    expect(fetchDetails).toHaveBeenCalledTimes(1)
  })

  it('have texts in further languages', async () => {
    const texts = { zh: { name: '水壶', description: '<p>热</p>' } }
    fetchDetails.mockReturnValue(responseOf({ product: { texts }, rules: 'One each' }))
    const details = useDetails()
    details.show('11')
    await vi.waitFor(() => expect(details.details).toMatchObject({ rules: 'One each', texts }))
  })

  it('are shown while they are reloaded', async () => {
    fetchDetails
      .mockReturnValueOnce(responseOf({ rules: 'One each' }))
      .mockReturnValueOnce(responseOf({ rules: 'Two each' }))
    const details = useDetails()
    details.show('11')
    await vi.waitFor(() => expect(details.details?.rules).toBe('One each'))
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000)
    details.show('11')
    expect(details.details?.rules).toBe('One each')
    await vi.waitFor(() => expect(details.details?.rules).toBe('Two each'))
  })

  it('report a failure only while they are open', async () => {
    fetchDetails.mockRejectedValueOnce(new TypeError('offline')).mockImplementation(() => responseOf({}))
    const details = useDetails()
    details.show('11')
    await vi.waitFor(() => expect(details.failed).toBe(true))
    details.show('12')
    expect(details.failed).toBe(false)
    await vi.waitFor(() => expect(details.details).toMatchObject({ description: '', rules: '' }))
    details.show('11')
    await vi.waitFor(() => expect(details.details).toBeDefined())
  })

  it('belong to the current version of a sale', () => {
    fetchDetails.mockReturnValue(responseOf({}))
    const details = useDetails()
    details.show('12')
    useSales().change(sale({ id: '12', paused: true }))
    expect(details.sale?.paused).toBe(true)
  })
})
