package orderentry_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/rng"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
)

func define(t testing.TB, texts map[string]string) *workload.Definition {
	t.Helper()
	k := orderentry.Kind()
	v, err := unit.NewValues(k.Params, texts)
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.New(v, 7)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// cpu of postgres processes in jiffies
func pgcpu() float64 {
	out, _ := exec.Command("sh", "-c", "ps -eo pid,comm,cwd 2>/dev/null; true").Output()
	_ = out
	total := 0.0
	ents, _ := os.ReadDir("/proc")
	for _, e := range ents {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd")
		if err != nil || !strings.HasPrefix(cwd, scratchDir) {
			continue
		}
		b, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		i := strings.LastIndex(string(b), ")")
		if i < 0 {
			continue
		}
		f := strings.Fields(string(b[i+2:]))
		u, _ := strconv.ParseFloat(f[11], 64)
		s, _ := strconv.ParseFloat(f[12], 64)
		total += (u + s) / 100
	}
	return total
}

var scratchDir = "/tmp/engine-"

func TestScratch(t *testing.T) {
	w := os.Getenv("W")
	if w == "" {
		t.Skip()
	}
	mode := os.Getenv("MODE")
	if mode == "" {
		mode = "procedures"
	}
	secs, _ := strconv.Atoi(os.Getenv("SECS"))
	users, _ := strconv.Atoi(os.Getenv("USERS"))
	db := server(t, map[string]string{"shared_buffers": "3GiB", "max_wal_size": "16GiB"})
	t0 := time.Now()
	l := load(t, db, "x", map[string]string{"warehouses": w, "mode": mode})
	t.Log("load wall", time.Since(t0), "server cpu", pgcpu())
	c := l.open(t).Conn()
	for _, check := range l.d.Checks {
		t1 := time.Now()
		q := *check.Query
		q.Index = -1
		r, err := c.Run(t.Context(), &q, nil)
		if err != nil {
			t.Fatal(check.Name, err)
		}
		t.Log(check.Name, r.Values[0].Int, time.Since(t1))
	}
	for round := range 2 {
		var counts [5]atomic.Int64
		var nanos [5]atomic.Int64
		var fails atomic.Int64
		stop := time.Now().Add(time.Duration(secs) * time.Second)
		cpu0 := pgcpu()
		own0 := owncpu()
		var wg sync.WaitGroup
		for i := range users {
			s, u := l.open(t), l.d.NewUser(i, rng.At(uint64(11+round), uint64(i)))
			wg.Go(func() {
				for time.Now().Before(stop) {
					st := u.Next()
					b := time.Now()
					o, err := s.Do(t.Context(), st.Transaction, st.Input)
					nanos[st.Transaction.Index].Add(int64(time.Since(b)))
					u.Done(o)
					if o.Status == workload.Failed {
						if fails.Add(1) < 5 {
							t.Error(st.Transaction.Name, err)
						}
					} else if o.Status == workload.Committed {
						counts[st.Transaction.Index].Add(1)
					}
				}
			})
		}
		wg.Wait()
		no := counts[0].Load()
		line := fmt.Sprintf("NOPM %d  server µs/NO %.0f driver µs/NO %.0f fails %d |", no*60/int64(secs), (pgcpu()-cpu0)*1e6/float64(no), (owncpu()-own0)*1e6/float64(no), fails.Load())
		for i := range counts {
			if n := counts[i].Load(); n > 0 {
				line += fmt.Sprintf(" %s %d avg %v", l.d.Transactions[i].Name, n, time.Duration(nanos[i].Load()/n).Round(time.Microsecond))
			}
		}
		t.Log(line)
	}
	rows := ask(t, c, "SELECT relname::text, n_tup_upd, n_tup_hot_upd, pg_relation_size(relid), seq_scan FROM pg_stat_user_tables ORDER BY 1")
	for i := 0; i < len(rows); i += 5 {
		t.Log(string(rows[i].Str), rows[i+1].Int, rows[i+2].Int, rows[i+3].Int/1e6, "MB seq", rows[i+4].Int)
	}
	if sql := os.Getenv("SQL"); sql != "" {
		for _, s := range strings.Split(sql, ";;") {
			for _, v := range ask(t, c, s) {
				t.Log(string(v.Str), v.Int)
			}
		}
	}
	if f := os.Getenv("HOLD"); f != "" {
		t.Log("holding")
		for {
			if _, err := os.Stat(f); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
	}
}

func owncpu() float64 {
	b, _ := os.ReadFile("/proc/self/stat")
	i := strings.LastIndex(string(b), ")")
	f := strings.Fields(string(b[i+2:]))
	u, _ := strconv.ParseFloat(f[11], 64)
	s, _ := strconv.ParseFloat(f[12], 64)
	return (u + s) / 100
}
