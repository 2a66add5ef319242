package daemon

import (
	"bytes"
	"strings"
	"sync"
)

// tailBytes is how much of the log is kept.
const tailBytes = 64 << 10

// tail keeps the last whole lines that were written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer; it never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	// Cutting at twice the size makes the moving of bytes rare.
	if len(t.text) > 2*tailBytes {
		t.text = append(t.text[:0], lastLines(t.text)...)
	}
	return len(p), nil
}

// String returns what is kept, at most tailBytes.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(lastLines(t.text))
}

// last returns the last n lines.
func (t *tail) last(n int) string {
	lines := strings.Split(strings.TrimRight(t.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// lastLines cuts text to tailBytes, at a line's beginning where there is one.
func lastLines(text []byte) []byte {
	if len(text) <= tailBytes {
		return text
	}
	text = text[len(text)-tailBytes:]
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[i+1:]
	}
	return text
}
