package app

// UsersQuery pages through accounts that are not deleted, the newest first.
type UsersQuery struct {
	Role   Role // "": all
	Before ID   // 0: from the newest
	Limit  int  // 1–1000
}
