package shop

func FirstOf[T any](what string, all []T, most int, err error) ([]T, bool, error) {
	return all[:min(len(all), most)], len(all) > most, Unreadable(what, err)
}
