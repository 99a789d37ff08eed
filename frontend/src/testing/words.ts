// Loads the texts of both languages before each test file with a document.
if (typeof document !== 'undefined') {
  const { loadWords } = await import('../words')
  const { loadAccountWords } = await import('../words/account')
  for (const lang of ['en', 'zh'] as const) {
    await loadWords(lang)
    await loadAccountWords(lang)
  }
}

export {}
