/** The colour of a token in the theme that is seen now; a canvas knows no tokens. */
export function colourOf(host: HTMLElement | null, token: string): string {
  const probe = document.createElement('i')
  probe.style.color = `var(${token})`
  host?.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** The look of a chart's axes and grid in the theme that is seen now. */
export function axisOf(host: HTMLElement) {
  return {
    stroke: colourOf(host, '--ink-soft'),
    grid: { stroke: colourOf(host, '--line'), width: 1 },
    ticks: { show: false },
    font: `11px ${getComputedStyle(host).fontFamily}`,
  }
}
