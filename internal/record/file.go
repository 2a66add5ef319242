package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// writeWhole replaces path by data so that a crash leaves the old file or the
// new one: a temporary name, fsync, rename, fsync of the directory.
func writeWhole(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// writeJSON writes v whole, indented for people.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return writeWhole(path, append(data, '\n'))
}

// syncDir makes the names in a directory safe.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readFormat reads a JSON file that has a "format" member into v and checks
// that this program knows the format.
func readFormat(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var head struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	switch {
	case head.Format == nil || *head.Format < 1:
		return fmt.Errorf("%s is damaged: it has no format number", path)
	case *head.Format > Format:
		return fmt.Errorf("%s has format %d, written by a newer Loadstone; this one reads formats up to %d", path, *head.Format, Format)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	return nil
}

// lines is a log file under way. What is passed to one write reaches the file
// by one system call, so that a crash tears at most the last. After a write
// error, which may have left half a line, nothing more is written: every
// later call returns that error.
type lines struct {
	mu   sync.Mutex
	f    *os.File
	name string // below the trial's directory
	size int64
	hash hash.Hash
	err  error
}

// newLines makes the log `name` below dir, which must not exist, and writes
// its first lines.
func newLines(dir, name, head string) (*lines, error) {
	f, err := os.OpenFile(filepath.Join(dir, filepath.FromSlash(name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	l := &lines{f: f, name: name, hash: sha256.New()}
	if err := l.write([]byte(head)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

func (l *lines) write(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	n, err := l.f.Write(b)
	l.size += int64(n)
	l.hash.Write(b[:n])
	if err != nil {
		l.err = fmt.Errorf("recording: %w", err)
	}
	return l.err
}

// Write implements io.Writer, for the trial's log.
func (l *lines) Write(b []byte) (int, error) {
	if err := l.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// close makes the log safe and tells what is in it.
func (l *lines) close() (File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.err
	if err == nil {
		err = l.f.Sync()
	}
	err = errors.Join(err, l.f.Close())
	l.err = fmt.Errorf("recording: %s: %w", l.name, fs.ErrClosed)
	return File{Name: l.name, Bytes: l.size, SHA256: hex.EncodeToString(l.hash.Sum(nil))}, err
}

// checkName says whether name can be a file or directory below a trial: at
// most one directory deep, of plain characters, not hidden.
func checkName(name string) error {
	parts := strings.Split(name, "/")
	for _, p := range parts {
		plain := strings.IndexFunc(p, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
		}) < 0
		if p == "" || p[0] == '.' || !plain || len(parts) > 2 {
			return fmt.Errorf("%q is not a name for a record: it may have letters, digits, dots, dashes and underscores, and one slash", name)
		}
	}
	return nil
}

// head returns the lines before the first that is not a comment, and what
// follows. The last line counts only where it is complete.
func head(data []byte) (comments, rest []byte) {
	rest = data
	for len(rest) > 0 && rest[0] == '#' {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return data, nil
		}
		rest = rest[i+1:]
	}
	return data[:len(data)-len(rest)], rest
}
