package wire

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

var update = flag.Bool("update", false, "record testdata/answers again from a real server")

// recorded are the statements whose answers lie in testdata/answers: a file
// NAME.bin with what the server sent when the statement was prepared and run,
// and NAME.txt with what it means.
var recorded = []struct{ name, sql string }{
	{"row", "select 1, 'two', 3.45::numeric(12,2), date '2009-03-01', timestamp '2000-01-01 00:00:01', true, null::integer, 1.5::double precision"},
	{"rows", "select g, repeat('x', g::integer) from generate_series(1::bigint, 20) g"},
	{"none", "select 1 where false"},
	{"command", "update pg_description set objoid = objoid where false"},
	{"error", "select 1 / (g - 3) from generate_series(1, 5) g"},
	{"notice", "select pg_temp.noisy()"},
	{"empty", ""},
}

// reading makes a Conn reach its server through an io.Reader alone.
type reading struct{ io.Reader }

func (r reading) Fill(b []byte) (int, error) { return r.Read(b) }

// replay reads a statement's description and answer and renders them.
func replay(r io.Reader) string {
	c := &Conn{in: newInput(reading{r})}
	st := &statement{name: "replayed"}
	if err := c.described([]*statement{st}); err != nil {
		return "prepare: " + err.Error() + "\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%v -> %q %v\n", st.params, st.labels, st.columns)
	a, err := c.answer(st)
	fmt.Fprintf(&out, "affected %d, status %q, error %v\n", a.affected, c.txStatus, err)
	for i, v := range c.values {
		fmt.Fprintf(&out, "%d: %d %d %q\n", i, v.Kind, v.Int, v.Str)
	}
	return out.String()
}

func TestRecordedAnswersMeanTheSame(t *testing.T) {
	if *update {
		record(t)
	}
	for _, r := range recorded {
		t.Run(r.name, func(t *testing.T) {
			data := golden(t, r.name+".bin")
			want := string(golden(t, r.name+".txt"))
			for name, reader := range map[string]io.Reader{
				"whole": bytes.NewReader(data), "in single bytes": iotest.OneByteReader(bytes.NewReader(data)),
				"in halves": iotest.HalfReader(bytes.NewReader(data)),
			} {
				if got := replay(reader); got != want {
					t.Errorf("%s:\n%swant\n%s", name, got, want)
				}
			}
			for n := range data {
				if got := replay(bytes.NewReader(data[:n])); !strings.Contains(got, "unexpected EOF") && !strings.Contains(got, "EOF") {
					t.Errorf("cut after %d bytes:\n%s", n, got)
				}
			}
		})
	}
}

func golden(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "answers", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// tape keeps what a connection reads. It is no syscall.Conn, so that the
// ordinary way of reading is used.
type tape struct {
	net.Conn
	kept bytes.Buffer
}

func (t *tape) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	t.kept.Write(b[:n])
	return n, err
}

// dialTape connects through a tape.
func dialTape(tb testing.TB) (*Conn, *tape) {
	pc, err := config(shared.Get(tb)).parameters()
	if err != nil {
		tb.Fatal(err)
	}
	t := &tape{}
	dial := pc.DialFunc
	pc.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		t.Conn = conn
		return t, err
	}
	c, err := Connect(tb.Context(), pc)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	c.render = verbatim
	return c, t
}

func record(t *testing.T) {
	c, tape := dialTape(t)
	do(t, c, `CREATE FUNCTION pg_temp.noisy() RETURNS integer LANGUAGE plpgsql AS $$
		BEGIN RAISE NOTICE 'hello'; PERFORM set_config('application_name', 'x', false); RETURN 5; END $$`)
	for _, r := range recorded {
		tape.kept.Reset()
		_, err := ask(c, t.Context(), r.sql)
		if e := (*Error)(nil); err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		base := filepath.Join("testdata", "answers", r.name)
		if err := os.WriteFile(base+".bin", tape.kept.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(base+".txt", []byte(replay(&tape.kept)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Connections that are no plain sockets, as with TLS, work as well.
func TestAnyNetConnWorks(t *testing.T) {
	c, _ := dialTape(t)
	if v := mustAsk(t, c, "select length($1)", text(strings.Repeat("x", 1<<20))); v.Int != 1<<20 {
		t.Error(v)
	}
	do(t, c, "CREATE TEMP TABLE t (a integer)")
	in, err := c.CopyIn(t.Context(), "COPY t FROM STDIN (FORMAT binary)")
	if err != nil {
		t.Fatal(err)
	}
	if in.Refused() {
		t.Error("refused")
	}
	if n, err := in.Finish(); n != 0 || err != nil {
		t.Error(n, err)
	}
}

func TestMalformedMessagesAreErrors(t *testing.T) {
	const ready = "Z\x00\x00\x00\x05I"
	const one = "t\x00\x00\x00\x06\x00\x00T\x00\x00\x00\x1a\x00\x01a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x01"
	for _, test := range []struct{ data, error string }{
		{"Z\x00\x00\x00\x03I", "length 3"},
		{"Z\xff\xff\xff\xff", "length -1"},
		{"D\x7f\xff\xff\xff", "length 2147483647"},
		{"Z\x00\x00\x00\x04", "no transaction status"},
		{ready, "not every statement"},
		{"t\x00\x00\x00\x06\x00\x01", "number of parameters"},
		{"T\x00\x00\x00\x06\x00\x01", "ends within a column"},
		{"T\x00\x00\x00\x08\x00\x01a\x00", "ends within a column"},
		{"E\x00\x00\x00\x06Sx", "ends within a field"},
		{"D\x00\x00\x00\x04", "not expected while preparing"},
		{"n\x00\x00\x00\x04n\x00\x00\x00\x04", "more descriptions"},
		{one + ready + "D\x00\x00\x00\x06\x00\x02" + ready, "number of columns"},
		{one + ready + "D\x00\x00\x00\x06\x00\x01" + ready, "ends within a column"},
		{one + ready + "D\x00\x00\x00\x0a\x00\x01\x00\x00\x00\x09" + ready, "ends within a column"},
		{one + ready + "D\x00\x00\x00\x0b\x00\x01\x00\x00\x00\x01x" + ready, `column "a": 1 bytes are not a integer`},
		{one + ready + "G\x00\x00\x00\x04" + ready, "not expected in the answer"},
		{one + ready + "C\x00\x00\x00\x04" + ready, "error <nil>"},
		{one + ready + "C\x00\x00\x00\x23UPDATE 99999999999999999999999\x00" + ready, "error <nil>"},
	} {
		if got := replay(strings.NewReader(test.data)); !strings.Contains(got, test.error) {
			t.Errorf("%q: %s, want %q", test.data, got, test.error)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, r := range recorded {
		f.Add(golden(f, r.name+".bin"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := replay(bytes.NewReader(data))
		if parts := replay(iotest.OneByteReader(bytes.NewReader(data))); parts != whole {
			t.Errorf("whole:\n%sin single bytes:\n%s", whole, parts)
		}
	})
}
