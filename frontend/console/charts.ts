/** The value of a CSS colour token in the current theme; a canvas cannot use tokens. */
export function colourOf(host: HTMLElement | null, token: string): string {
  const probe = document.createElement('i')
  probe.style.color = `var(${token})`
  host?.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** The style of axes and grid in the current theme. */
export function axisOf(host: HTMLElement) {
  return {
    stroke: colourOf(host, '--ink-soft'),
    grid: { stroke: colourOf(host, '--line'), width: 1 },
    ticks: { show: false },
    font: `11px ${getComputedStyle(host).fontFamily}`,
  }
}
