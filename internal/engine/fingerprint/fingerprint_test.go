package fingerprint

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// anyRow draws a row of a few values.
func anyRow(t *rapid.T) []workload.Value {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) workload.Value {
		v := workload.Value{Kind: workload.ValueKind(rapid.IntRange(0, int(workload.Bit)).Draw(t, "kind"))}
		switch v.Kind {
		case workload.Null:
		case workload.String:
			v.Str = rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "text")
		default:
			v.Int = rapid.Int64().Draw(t, "number")
		}
		return v
	}), 1, 4).Draw(t, "row")
}

func TestTheOrderOfRowsIsNoMatterAndTheirContentsAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRow(t), anyRow(t)
		var one, other, twice Content
		one.Add(a)
		one.Add(b)
		other.Add(b)
		other.Add(a)
		if one != other {
			t.Fatalf("%v and %v: %+v in one order, %+v in the other", a, b, one, other)
		}
		// A value more is another content, even an empty one.
		twice.Add(append(a[:len(a):len(a)], workload.Value{}))
		twice.Add(b)
		if one == twice {
			t.Fatalf("%v and %v are the same with a null more", a, b)
		}
	})
}

// TestTheFirstVersionStaysAsItIs: golden states of the past are recognised by
// it.
func TestTheFirstVersionStaysAsItIs(t *testing.T) {
	var c Content
	for i := range int64(3) {
		c.Add([]workload.Value{workload.Int(i), workload.Str([]byte("nine bytes")[:9]), {}, workload.Money(-i)})
	}
	const want = "v1 orders:3:c8cb7ef9feb921936181a4438d831221 empty:0:00000000000000000000000000000000"
	if got := Text([]Table{{"Orders", c}, {Name: "empty"}}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
