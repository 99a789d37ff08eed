import type uPlot from 'uplot'
import { onBeforeUnmount, onMounted, type Ref } from 'vue'

/** Draws a plot when its element is mounted, keeps it as wide as the element, and destroys it with the component. */
export function usePlot(
  place: Readonly<Ref<HTMLElement | null>>,
  height: number,
  make: (host: HTMLElement) => uPlot,
) {
  let plot: uPlot | undefined
  let sizes: ResizeObserver | undefined

  /** Destroys and redraws the plot. */
  function draw(): void {
    const host = place.value
    if (!host) return
    plot?.destroy()
    plot = make(host)
  }

  onMounted(() => {
    draw()
    sizes = new ResizeObserver(() => {
      const width = place.value?.clientWidth ?? 0
      if (width > 0 && plot && plot.width !== width) plot.setSize({ width, height })
    })
    if (place.value) sizes.observe(place.value)
  })
  onBeforeUnmount(() => {
    sizes?.disconnect()
    plot?.destroy()
  })

  return { draw, setData: (data: uPlot.AlignedData) => plot?.setData(data) }
}
