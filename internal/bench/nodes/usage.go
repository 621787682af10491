package nodes

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// usageWithin bounds a look at what servers have done, which is taken even when
// the run has ended.
const usageWithin = 10 * time.Second

// Usage is what servers say that they have done.
type Usage struct {
	CPU   time.Duration
	Calls int64
	Known bool
}

// Usage asks the nodes of a lock on so many, or all there are; the first one where
// there is no lock. A server that does not say makes it unknown.
func (s *Servers) Usage(ctx context.Context, n int) Usage {
	return s.place.usage(ctx, s.nodes[:min(max(n, 1), len(s.nodes))])
}

// usage asks servers.
func usage(ctx context.Context, nodes []*redis.Client) Usage {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), usageWithin)
	defer cancel()
	sum := Usage{Known: true}
	for _, rdb := range nodes {
		info, err := rdb.InfoMap(ctx, "cpu", "commandstats").Result()
		if err != nil {
			return Usage{}
		}
		for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
			seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
			if err != nil {
				return Usage{}
			}
			sum.CPU += time.Duration(seconds * float64(time.Second))
		}
		for name, stats := range info["Commandstats"] {
			if name == "cmdstat_info" || name == "cmdstat_auth" {
				continue // how it is asked, and how a connection begins
			}
			var calls int64
			if _, err := fmt.Sscanf(stats, "calls=%d,", &calls); err != nil {
				return Usage{}
			}
			sum.Calls += calls
		}
	}
	return sum
}

// Since is what was done since an earlier look.
func (u Usage) Since(before Usage) Usage {
	return Usage{u.CPU - before.CPU, u.Calls - before.Calls,
		u.Known && before.Known}
}

// version is what the server says of itself. A server that does not tell is
// measured all the same.
func version(ctx context.Context, rdb *redis.Client) string {
	return rdb.InfoMap(ctx, "server").Item("Server", "redis_version")
}
