// Package privacy exports and deletes personal data. After a deletion only unfinished orders contain personal data.
// [EraserJob] removes the address of an order after the order has ended. [BlankerJob] removes personal data by age.
package privacy
