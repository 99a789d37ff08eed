package journal

// Page is how many rows are read at once.
const Page = journalPage
