//go:build linux

package libvirt

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// KernelDir is where scripts/guest-image puts a kernel for guests: boot/ and
// lib/modules/, as in the distribution's package.
const KernelDir = "/var/lib/loadstone/guest"

// kernel is a Linux kernel with its modules, on this machine.
type kernel struct {
	version string // "6.1.0-56-cloud-amd64"
	image   string // vmlinuz
	modules string // the directory lib/modules/VERSION
}

// findKernel takes the newest cloud kernel of KernelDir, else of /boot, else the
// newest of any kind.
func findKernel() (kernel, error) {
	var found []kernel
	var closed []string
	for _, root := range []string{KernelDir, "/"} {
		images, _ := filepath.Glob(filepath.Join(root, "boot/vmlinuz-*"))
		for _, image := range images {
			version := strings.TrimPrefix(filepath.Base(image), "vmlinuz-")
			for _, lib := range []string{"lib/modules", "usr/lib/modules"} {
				modules := filepath.Join(root, lib, version)
				if _, err := os.Stat(filepath.Join(modules, "kernel")); err != nil {
					continue
				}
				f, err := os.Open(image)
				if err != nil {
					closed = append(closed, err.Error())
					break
				}
				f.Close()
				found = append(found, kernel{version, image, modules})
				break
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if len(found) == 0 {
		if len(closed) > 0 {
			return kernel{}, fmt.Errorf("no kernel for guests: %s", strings.Join(closed, ", "))
		}
		return kernel{}, fmt.Errorf("no kernel for guests: neither %s nor / has boot/vmlinuz-VERSION with lib/modules/VERSION", KernelDir)
	}
	return slices.MaxFunc(found, func(a, b kernel) int {
		cloud := func(k kernel) int { return strings.Count(k.version, "-cloud-") }
		if c := cloud(a) - cloud(b); c != 0 {
			return c
		}
		return compareVersions(a.version, b.version)
	}), nil
}

// compareVersions orders texts with numbers in them by the numbers.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		x, restA := leading(a)
		y, restB := leading(b)
		if c := len(x) - len(y); c != 0 && isDigit(a[0]) && isDigit(b[0]) {
			return c
		}
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return len(a) - len(b)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// leading splits off the first run of digits, without zeros before it, or of
// other characters.
func leading(s string) (run, rest string) {
	n := 1
	for n < len(s) && isDigit(s[n]) == isDigit(s[0]) {
		n++
	}
	run, rest = s[:n], s[n:]
	if isDigit(s[0]) {
		run = strings.TrimLeft(run, "0")
	}
	return run, rest
}

// moduleName is a module's name as modules.dep's paths have it, with dashes as
// underscores.
func moduleName(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// index is what modules.dep and modules.builtin say.
type index struct {
	needs   map[string][]string // path: paths
	paths   map[string]string   // name: path
	builtin map[string]bool     // by name
}

func (k kernel) index() (index, error) {
	x := index{map[string][]string{}, map[string]string{}, map[string]bool{}}
	builtin, err := os.ReadFile(filepath.Join(k.modules, "modules.builtin"))
	if err != nil {
		return x, fmt.Errorf("the modules of guest kernel %s: %w", k.version, err)
	}
	for path := range strings.FieldsSeq(string(builtin)) {
		x.builtin[moduleName(path)] = true
	}
	dep, err := os.ReadFile(filepath.Join(k.modules, "modules.dep"))
	if errors.Is(err, fs.ErrNotExist) {
		// The kernel's package was only unpacked.
		return x, x.scan(k.modules)
	}
	if err != nil {
		return x, fmt.Errorf("the modules of guest kernel %s: %w", k.version, err)
	}
	for line := range strings.Lines(string(dep)) {
		path, needs, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok {
			x.needs[path] = strings.Fields(needs)
			x.paths[moduleName(path)] = path
		}
	}
	return x, nil
}

// scan finds out what modules.dep would say, from what each module says of
// itself: the line depends= of its section .modinfo.
func (x index) scan(dir string) error {
	depends := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !strings.Contains(d.Name(), ".ko") || !d.Type().IsRegular() {
			return err
		}
		data, err := readModule(at)
		if err != nil {
			return err
		}
		path, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		x.paths[moduleName(path)] = path
		depends[path], err = modinfo(data, "depends")
		return err
	})
	if err != nil {
		return fmt.Errorf("the modules in %s: %w", dir, err)
	}
	for path, names := range depends {
		for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
			if need := x.paths[strings.ReplaceAll(name, "-", "_")]; need != "" {
				x.needs[path] = append(x.needs[path], need)
			}
		}
	}
	return nil
}

// modinfo returns a value of a module's section .modinfo.
func modinfo(module []byte, key string) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return "", err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return "", nil
	}
	text, err := section.Data()
	if err != nil {
		return "", err
	}
	for item := range strings.SplitSeq(string(text), "\x00") {
		if value, ok := strings.CutPrefix(item, key+"="); ok {
			return value, nil
		}
	}
	return "", nil
}

// has says whether the kernel has a driver.
func (x index) has(name string) bool { return x.builtin[name] || x.paths[name] != "" }

// load returns the paths of the modules that names need, in the order in which
// they are to be loaded. Names that the kernel has built in, or does not have,
// are left out.
func (x index) load(names []string) []string {
	var order []string
	var add func(path string)
	add = func(path string) {
		if slices.Contains(order, path) {
			return
		}
		for _, need := range x.needs[path] {
			add(need)
		}
		// Modules do not need each other in circles.
		if !slices.Contains(order, path) {
			order = append(order, path)
		}
	}
	for _, name := range names {
		if path := x.paths[name]; path != "" && !x.builtin[name] {
			add(path)
		}
	}
	return order
}

// modules that every guest needs or may use. Those of adapters come with them.
func baseModules() []string {
	return []string{"virtio_pci", "virtio_console", "virtio_blk", "virtio_net", "virtio_scsi", "sd_mod", "ext4", "overlay", "virtio_balloon"}
}

// errCompressed says that init could not load a module.
var errCompressed = errors.New("is compressed in a way that is not known")
