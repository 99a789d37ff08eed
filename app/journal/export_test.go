package journal

// Page is the number of rows per read.
const Page = journalPage
