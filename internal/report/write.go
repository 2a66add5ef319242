package report

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

// textWidth is the width of report.txt, in columns.
const textWidth = 100

// Write writes the report into dir, which it makes where it is missing:
// index.html, data/*.csv, report.json and report.txt. It returns the path of
// index.html. Each file is written whole under another name, synced and
// renamed, and the page comes last, so a page that is there has its data.
// Other files in dir are left as they are.
func Write(s *analyse.Study, dir string) (indexPath string, err error) {
	page, data, err := HTML(s)
	if err != nil {
		return "", err
	}
	results, err := JSON(s)
	if err != nil {
		return "", err
	}
	dataDir := filepath.Join(dir, "data")
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if err := writeWhole(filepath.Join(dataDir, name), data[name]); err != nil {
			return "", err
		}
	}
	indexPath = filepath.Join(dir, "index.html")
	for _, f := range []struct {
		path    string
		content []byte
	}{
		{filepath.Join(dir, "report.json"), results},
		{filepath.Join(dir, "report.txt"), []byte(Text(s, textWidth, false))},
		{indexPath, page},
	} {
		if err := writeWhole(f.path, f.content); err != nil {
			return "", err
		}
	}
	return indexPath, nil
}

// writeWhole replaces the file at path by content: all of it or nothing.
func writeWhole(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("report: writing %s: %w", path, err)
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
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

// syncDir makes a rename in dir last through a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
