//go:build linux

package guest

import (
	"context"
	"encoding/binary"
	"io"
	"math"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

// sample answers each byte with the guest's time of day in nanoseconds and its
// counters, 8 bytes each, big endian.
func (a *agent) sample(st duplex) {
	defer func() { _ = st.Close() }()
	a.mu.Lock()
	host := a.host
	a.mu.Unlock()
	if host == nil {
		return
	}
	values := make([]float64, len(host.Columns()))
	buf := make([]byte, 8+8*len(values))
	var one [1]byte
	for {
		if _, err := io.ReadFull(st, one[:]); err != nil {
			return
		}
		for i := range values {
			values[i] = math.NaN()
		}
		// What can't be read stays absent.
		_ = host.Read(context.Background(), values)
		binary.BigEndian.PutUint64(buf, uint64(clock.Real{}.Now().UnixNano()))
		for i, v := range values {
			binary.BigEndian.PutUint64(buf[8+8*i:], math.Float64bits(v))
		}
		if _, err := st.Write(buf); err != nil {
			return
		}
	}
}
