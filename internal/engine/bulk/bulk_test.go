package bulk

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/engine/fingerprint"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// numbers is a table of rows n, 2n in batches of ten.
func numbers(rows int64) *workload.Table {
	int32Type := workload.Type{Base: workload.Int32}
	return &workload.Table{
		Name: "numbers", PrimaryKey: []string{"n"},
		Columns: []workload.Column{{Name: "n", Type: int32Type}, {Name: "twice", Type: int32Type}},
		Rows: workload.Source{Batches: rows / 10, Rows: rows, Fill: func(batch int64, emit func([]workload.Value) error) error {
			for n := batch * 10; n < batch*10+10; n++ {
				if err := emit([]workload.Value{workload.Int(n), workload.Int(2 * n)}); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// kept is a table that holds what numbers makes, and what change makes of it.
type kept struct {
	rows    int64
	change  func(row []workload.Value)
	extra   int64 // rows more than there were
	by      []int // of the finder
	lookups int
}

func (k *kept) Count(context.Context) (int64, error) { return k.rows + k.extra, nil }

func (k *kept) row(n int64) []workload.Value {
	row := []workload.Value{workload.Int(n), workload.Int(2 * n)}
	if k.change != nil {
		k.change(row)
	}
	return row
}

func (k *kept) All(_ context.Context, emit func([]workload.Value)) error {
	for n := k.rows - 1; n >= 0; n-- {
		emit(k.row(n))
	}
	return nil
}

func (k *kept) Finder(_ context.Context, by []int) (Finder, error) {
	k.by = by
	return func(_ context.Context, key []workload.Value, emit func([]workload.Value)) error {
		k.lookups++
		if n := key[0].Int; n < k.rows {
			emit(k.row(n))
		}
		return nil
	}, nil
}

func TestVerifyFindsWhatDiffers(t *testing.T) {
	spoil := func(which func(n int64) bool) func([]workload.Value) {
		return func(row []workload.Value) {
			if which(row[0].Int) {
				row[1].Int++
			}
		}
	}
	for _, rows := range []int64{0, 10, wholeRows, wholeRows + 10} {
		for _, x := range []struct {
			name  string
			extra int64
			which func(n int64) bool
			fails string // "" where the table is as it should be
		}{
			{name: "the same"},
			{name: "a row more", extra: 1, fails: "generated were"},
			{name: "a row less", extra: -1, fails: "generated were"},
			{name: "the first", which: func(n int64) bool { return n == 0 }, fails: "not"},
			{name: "all", which: func(int64) bool { return true }, fails: "not"},
		} {
			k := &kept{rows: rows, extra: x.extra}
			if x.which != nil {
				k.change = spoil(x.which)
			}
			err := Verify(t.Context(), k, numbers(rows), rows, nil)
			if fails := x.fails != "" && (x.which == nil || rows > 0); (err != nil) != fails || fails && !strings.Contains(err.Error(), x.fails) {
				t.Errorf("%d rows, %s: %v", rows, x.name, err)
			}
			if x.name == "the same" && (k.lookups > 0) != (rows > wholeRows) {
				t.Errorf("%d rows: %d lookups", rows, k.lookups)
			}
		}
	}
}

func TestVerifyComparesWhatTheServerGivesBack(t *testing.T) {
	for _, rows := range []int64{10, wholeRows + 10} {
		k := &kept{rows: rows, change: func(row []workload.Value) { row[1] = workload.Money(row[1].Int) }}
		stored := func(row []workload.Value) ([]workload.Value, error) {
			return []workload.Value{row[0], workload.Money(row[1].Int)}, nil
		}
		if err := Verify(t.Context(), k, numbers(rows), rows, stored); err != nil {
			t.Errorf("%d rows: %v", rows, err)
		}
		if err := Verify(t.Context(), k, numbers(rows), rows, nil); err == nil {
			t.Errorf("%d rows that came back as others pass", rows)
		}
	}
}

func TestRowsAreFoundByTheFirstKeyThatCan(t *testing.T) {
	column := func(name string, base workload.Base) workload.Column {
		return workload.Column{Name: name, Type: workload.Type{Base: base}}
	}
	columns := []workload.Column{column("a", workload.Int32), column("b", workload.Decimal), column("c", workload.Varchar)}
	for _, x := range []struct {
		primary []string
		indexes []workload.Index
		want    []int
	}{
		{[]string{"c", "a"}, nil, []int{2, 0}},
		{[]string{"a", "b"}, nil, nil},
		{nil, nil, nil},
		{nil, []workload.Index{{Columns: []string{"c"}, FullText: true}}, nil},
		{[]string{"b"}, []workload.Index{{Columns: []string{"c"}, FullText: true}, {Columns: []string{"a"}}}, []int{0}},
	} {
		if got := lookup(&workload.Table{Columns: columns, PrimaryKey: x.primary, Indexes: x.indexes}); !slices.Equal(got, x.want) {
			t.Errorf("%v and %v: %v, want %v", x.primary, x.indexes, got, x.want)
		}
	}
}

// hand counts what it is asked to do.
type hand struct {
	done   *atomic.Int64
	closed *atomic.Int64
}

func (h hand) Close() error {
	h.closed.Add(1)
	return nil
}

func TestACrewDoesEachWorkOnce(t *testing.T) {
	var done, closed atomic.Int64
	c, err := Hire(3, func() (hand, error) { return hand{&done, &closed}, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 2, 100} {
		times := make([]atomic.Int64, n)
		err := c.Each(t.Context(), n, func(_ context.Context, h hand, i int) error {
			h.done.Add(1)
			times[i].Add(1)
			return nil
		})
		for i := range times {
			if times[i].Load() != 1 || err != nil {
				t.Errorf("work %d of %d was done %d times, %v", i, n, times[i].Load(), err)
			}
		}
	}
	failed := errors.New("failed")
	err = c.Each(t.Context(), 100, func(ctx context.Context, _ hand, i int) error {
		if i == 1 {
			return failed
		}
		<-ctx.Done() // or the test ends by its time
		return ctx.Err()
	})
	if !errors.Is(err, failed) {
		t.Errorf("the first error is %v", err)
	}
	if c.Dismiss(); closed.Load() != 3 {
		t.Errorf("%d of 3 connections are closed", closed.Load())
	}
}

func TestACrewThatCanNotBeHiredLeavesNoConnection(t *testing.T) {
	var done, closed atomic.Int64
	opened := 0
	_, err := Hire(3, func() (hand, error) {
		if opened++; opened == 3 {
			return hand{}, io.ErrUnexpectedEOF
		}
		return hand{&done, &closed}, nil
	})
	if !errors.Is(err, io.ErrUnexpectedEOF) || closed.Load() != 2 {
		t.Errorf("%v, %d closed", err, closed.Load())
	}
}

func TestStagesEndWithTheFirstError(t *testing.T) {
	var ran []string
	stage := func(name string, err error) Stage {
		return Stage{name, func(context.Context) error {
			ran = append(ran, name)
			return err
		}}
	}
	seconds, err := Run(t.Context(), stage("a", nil), stage("b", nil))
	if _, ok := seconds["b"]; err != nil || len(seconds) != 2 || !ok {
		t.Errorf("%v, %v", seconds, err)
	}
	if _, err := Run(t.Context(), stage("c", io.EOF), stage("d", nil)); !errors.Is(err, io.EOF) || !slices.Equal(ran, []string{"a", "b", "c"}) {
		t.Errorf("%v, ran %v", err, ran)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ended, stage("e", nil)); !errors.Is(err, context.Canceled) || len(ran) != 3 {
		t.Errorf("after its end: %v, ran %v", err, ran)
	}
}

func TestProgressNeverPassesTheWhole(t *testing.T) {
	type told struct {
		stage     string
		done, all int64
	}
	var got []told
	p := NewProgress(func(stage string, done, all int64) { got = append(got, told{stage, done, all}) })
	p.Start(StageRows, 10)
	p.Add(6)
	p.Add(6)
	p.Start(StageKeys, 1)
	want := []told{{"rows", 0, 10}, {"rows", 6, 10}, {"rows", 12, 12}, {"keys", 0, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	NewProgress(nil).Add(1) // nobody listens
}

func TestTheLargestTableComesFirst(t *testing.T) {
	small, large := *numbers(10), *numbers(50)
	wide := *numbers(20)
	wide.Columns = slices.Repeat(wide.Columns, 4)
	order, rows := Order([]workload.Table{small, large, wide, small})
	if !slices.Equal(order, []int{2, 1, 0, 3}) || rows != 90 {
		t.Errorf("order %v, %d rows", order, rows)
	}
}

func TestAReportAddsTheTablesUp(t *testing.T) {
	var c fingerprint.Content
	c.Add([]workload.Value{workload.Int(1)})
	r := Report(7, map[string]float64{"rows": 1}, []fingerprint.Table{{Name: "A", Content: c}, {Name: "b", Content: c}})
	if r.Rows != 2 || r.Bytes != 7 || !strings.HasPrefix(r.Fingerprint, "v1 a:1:") || r.StageSeconds["rows"] != 1 {
		t.Errorf("%+v", r)
	}
}
