const FILE = 'deploy/RUNBOOK.md#'

/** The console page for a runbook link of the server; undefined for other links. */
export function runbookPage(link: string | undefined): string | undefined {
  return link?.startsWith(FILE) ? `runbook#${link.slice(FILE.length)}` : undefined
}
