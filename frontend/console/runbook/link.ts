const FILE = 'deploy/RUNBOOK.md#'

/** The page of the console for what the server says is in the runbook; undefined for every other place. */
export function runbookPage(link: string | undefined): string | undefined {
  return link?.startsWith(FILE) ? `runbook#${link.slice(FILE.length)}` : undefined
}
