package shop

// answered are the counters of the sales whose partitions are there.
func Answered(refs []SaleRef, counters []Counters, away *PartitionsAway) []Counters {
	if away == nil {
		return counters
	}
	some := make([]Counters, 0, len(counters))
	for i, c := range counters {
		if !away.Has(refs[i].Partition) {
			some = append(some, c)
		}
	}
	return some
}
