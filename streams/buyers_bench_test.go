package streams

import (
	"context"
	"regexp"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/app"
	"stampede/app/test/kit"
)

// readEveryone is how the buyers were read before there was a mark: all of them in one script.
var readEveryone = redis.NewScript(`return {redis.call('HGETALL', KEYS[1]), redis.call('HKEYS', KEYS[2])}`)

// BenchmarkWave measures what a wave of ten returned and resold units costs Redis: reading everyone in one script, as
// it was, and reading who came since, in turns in the same run. Everyone is also read once page by page, as for the
// first flag. It reports microseconds of Redis per wave, and of the longest single call of the first read.
func BenchmarkWave(b *testing.B) {
	for _, buyers := range []int{1_000, 10_000, 100_000} {
		b.Run(strconv.Itoa(buyers), func(b *testing.B) { benchWaves(b, buyers) })
	}
}

func benchWaves(b *testing.B, buyers int) {
	f := newFixture(b, kit.StartRedis(b, kit.RedisOptions{}).URL)
	s := f.openSale(int64(buyers) + 1_000_000)
	key := f.inventory.parts[1].keys.buyers(s.ID)
	for done := 0; done < buyers; done += 1000 {
		var records []any
		for i := range 1000 {
			records = append(records, strconv.Itoa(1_000_000_000+done+i), "1|1|1790000000000000000:1:1:key-many-1;|")
		}
		f.must(f.client.HSet(f.ctx, key, records...).Err())
	}
	f.must(f.client.HSet(f.ctx, f.inventory.parts[1].keys.sale(s.ID), "tickets", buyers).Err())
	ctx, g := context.Background(), f.gate(f.inventory)

	f.redisTime()
	f.must(f.client.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err())
	first, err := f.inventory.Buyers(ctx, s.Ref(), app.BuyersMark{})
	f.must(err)
	longest := int64(0)
	calls, err := f.client.SlowLogGet(ctx, 1000).Result()
	f.must(err)
	for _, call := range calls {
		longest = max(longest, call.Duration.Microseconds())
	}
	f.must(f.client.ConfigSet(ctx, "slowlog-log-slower-than", "-1").Err())
	firstRead := f.redisTime()

	var before, now, waves float64
	for mark := first.Mark; b.Loop(); waves++ {
		for i := range 10 {
			f.wantVerdict(g, buyOf(s, app.ID(10*int(waves)+i+1), 1, "key-wave1"), app.VerdictReserved)
		}
		f.redisTime()
		f.must(readEveryone.Run(ctx, f.client, []string{f.inventory.parts[1].keys.sale(s.ID), key}).Err())
		before += f.redisTime()
		since, err := f.inventory.Buyers(ctx, s.Ref(), mark)
		f.must(err)
		now += f.redisTime()
		if since.All || len(since.Users) != 10 {
			b.Fatalf("a wave of 10 read %d buyers, all %v", len(since.Users), since.All)
		}
		mark = since.Mark
	}
	b.ReportMetric(before/waves, "µs-before")
	b.ReportMetric(now/waves, "µs-now")
	b.ReportMetric(firstRead, "µs-first-read")
	b.ReportMetric(float64(longest), "µs-its-longest-call")
	b.ReportMetric(0, "ns/op")
}

var usec = regexp.MustCompile(`cmdstat_([a-z]+)[^:]*:calls=(\d+),usec=(\d+)`)

// redisTime answers how long Redis worked on reads since the last time, in microseconds.
func (f *fixture) redisTime() (spent float64) {
	f.t.Helper()
	stats, err := f.client.Info(f.ctx, "commandstats").Result()
	f.must(err)
	for _, of := range usec.FindAllStringSubmatch(stats, -1) {
		switch of[1] {
		case "evalsha", "eval", "hmget", "hscan", "xrange", "xrevrange":
			n, _ := strconv.ParseFloat(of[3], 64)
			spent += n
		}
	}
	f.must(f.client.ConfigResetStat(f.ctx).Err())
	return spent
}

// calls answers how many commands that look at what waits Redis has carried out since the last time.
func (f *fixture) calls() (n float64) {
	f.t.Helper()
	stats, err := f.client.Info(f.ctx, "commandstats").Result()
	f.must(err)
	for _, of := range usec.FindAllStringSubmatch(stats, -1) {
		if name := of[1]; name == "hkeys" || name == "hmget" || name == "xrange" {
			calls, _ := strconv.ParseFloat(of[2], 64)
			n += calls
		}
	}
	f.must(f.client.ConfigResetStat(f.ctx).Err())
	return n
}
