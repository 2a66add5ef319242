//go:build linux

// Package cgroup is what an instance of this machine may use and has used:
// the control groups (cgroup v1, v2, or both at once) that confine and count
// it, and its processes.
//
// Layout is how the machine offers control groups; Group is those of one
// instance, made by us (Layout.Plan, Group.Create) or by a container engine
// (Of). Room is the most that an instance can have here, and Check says why
// a shape can't be had.
//
// The files are read and written directly: a dozen small files with fixed
// formats, of which a library would hide the read-back that proof of
// configuration needs.
package cgroup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider"
)

// Layout is how this machine offers control groups to this process.
type Layout struct {
	// v1 holds our own cgroup of each v1 controller; v2 that of the v2
	// hierarchy, with an empty dir where there is none. In a hybrid layout
	// both are there, and v2 has the controllers that v1 has not.
	V1 map[string]Place
	V2 Place
}

// Place is a cgroup and the mount point above which nothing can be seen.
type Place struct {
	Mount, Dir string
	// with lists the v1 controllers mounted together here, in order.
	with []string
}

// Discover reads the layout from /proc.
func Discover() (Layout, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Layout{}, fmt.Errorf("control groups: %w", err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Layout{}, fmt.Errorf("control groups: %w", err)
	}
	return parseLayout(string(mounts), string(own)), nil
}

// parseLayout joins /proc/self/mountinfo and /proc/self/cgroup
// (proc_pid_mountinfo(5), cgroups(7)).
func parseLayout(mountinfo, self string) Layout {
	paths := map[string]string{} // controller, or "" for v2 → our path
	for _, line := range strings.Split(self, "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, c := range strings.Split(f[1], ",") {
			paths[c] = f[2]
		}
	}
	l := Layout{V1: map[string]Place{}}
	for _, line := range strings.Split(mountinfo, "\n") {
		head, tail, ok := strings.Cut(line, " - ")
		h, t := strings.Fields(head), strings.Fields(tail)
		if !ok || len(h) < 5 || len(t) < 3 {
			continue
		}
		root, mount := unescape(h[3]), unescape(h[4])
		switch t[0] {
		case "cgroup2":
			if path, ok := paths[""]; ok && l.V2.Dir == "" {
				l.V2 = Place{Mount: mount, Dir: below(mount, root, path)}
			}
		case "cgroup":
			var with []string
			for _, c := range strings.Split(t[2], ",") {
				if _, ok := paths[c]; ok && c != "" {
					with = append(with, c)
				}
			}
			slices.Sort(with)
			for _, c := range with {
				if _, seen := l.V1[c]; !seen {
					l.V1[c] = Place{Mount: mount, Dir: below(mount, root, paths[c]), with: with}
				}
			}
		}
	}
	return l
}

// below finds the cgroup path in a hierarchy of which root is mounted at
// mount. Inside a container the path may lie outside of what is mounted; then
// the mount itself is the nearest that can be seen.
func below(mount, root, path string) string {
	rest, err := filepath.Rel(root, path)
	if err != nil || strings.HasPrefix(rest, "..") {
		return mount
	}
	return filepath.Join(mount, rest)
}

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Group is the cgroups of one instance. A nil group is one that could not be
// had.
type Group struct {
	V1 map[string]string // controller → directory
	V2 string            // directory, "" for none
	// enable holds the v2 controllers to switch on in v2's parent.
	enable []string
	// Entry is V2 opened, for clone3; nil until created.
	Entry *os.File
	// device is the disk ("major:minor") that the limits of disks are for.
	device string
}

// Of returns the cgroups that the process pid is in, of those whose path names
// the container id: what contains more than the container is none of its
// own. The limits of disks are those of s for the disk of dir.
func Of(pid int, id string, s provider.Shape, dir string) (*Group, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("control groups: %w", err)
	}
	in, err := os.ReadFile(pidText(pid) + "/cgroup")
	if err != nil {
		return nil, fmt.Errorf("control groups: %w", err)
	}
	l := parseLayout(string(mounts), string(in))
	g := &Group{V1: map[string]string{}, V2: own(l.V2.Dir, id)}
	for c, at := range l.V1 {
		if d := own(at.Dir, id); d != "" {
			g.V1[c] = d
		}
	}
	if len(g.Dirs()) == 0 {
		return nil, fmt.Errorf("the container has no control groups of its own: its processes are in %q", in)
	}
	return g, g.find(s, dir)
}

// own is path up to the element that names id, "" where none does. Some
// engines put processes below the cgroup that has the limits.
func own(path, id string) string {
	for ; id != "" && len(path) > 1; path = filepath.Dir(path) {
		if strings.Contains(filepath.Base(path), id) {
			return path
		}
	}
	return ""
}

// Weigh gives the cgroups the weight that the shares stand for: container
// engines convert shares to v2's weights in ways of their own. Where that is
// not allowed, reading back tells.
func (g *Group) Weigh(shares int) {
	if version, dir := g.DirOf("cpu"); version == 2 && shares > 0 {
		_ = writeFile(filepath.Join(dir, "cpu.weight"), strconv.Itoa(weightOf(shares)))
	}
}

// Name is the name of the cgroups of the instance with this id.
func Name(id string) string { return "loadstone-" + id }

// needed lists the controllers that s needs.
func needed(s provider.Shape) []string {
	var need []string
	if s.CPUs > 0 || s.CPUShares > 0 {
		need = append(need, "cpu")
	}
	if s.CPUSet != "" || s.Mems != "" {
		need = append(need, "cpuset")
	}
	if s.Memory > 0 {
		need = append(need, "memory")
	}
	if LimitsDisk(s) {
		need = append(need, "io")
	}
	return need
}

// Plan chooses where the cgroups of an instance will be; it makes nothing.
// It returns nil where no cgroup can be had and none is needed.
func (l Layout) Plan(id string, s provider.Shape) (*Group, error) {
	g := &Group{V1: map[string]string{}}
	var fromV2 []string
	for _, c := range needed(s) {
		name := c
		if c == "io" {
			name = "blkio"
		}
		at, ok := l.V1[name]
		if !ok {
			fromV2 = append(fromV2, c)
			continue
		}
		if err := mayMake(at.Dir); err != nil {
			return nil, err
		}
		g.V1[name] = filepath.Join(at.Dir, Name(id))
	}
	// Controllers that only count. A cpuacct that is mounted together with
	// cpu would bring the scheduler's grouping with it.
	for _, c := range []string{"cpuacct", "memory", "blkio"} {
		at, ok := l.V1[c]
		weighs := slices.Contains(at.with, "cpu") && g.V1["cpu"] == ""
		if ok && !weighs && mayMake(at.Dir) == nil {
			g.V1[c] = filepath.Join(at.Dir, Name(id))
		}
	}
	parent, err := l.parent2(fromV2)
	switch {
	case err == nil:
		g.V2, g.enable = filepath.Join(parent, Name(id)), fromV2
	case len(fromV2) > 0:
		return nil, err
	}
	if g.V2 == "" && len(g.V1) == 0 {
		return nil, nil
	}
	return g, nil
}

// mayMake says why cgroups can't be made in dir.
func mayMake(dir string) error {
	for _, path := range []string{dir, filepath.Join(dir, "cgroup.procs")} {
		if err := unix.Access(path, unix.W_OK); err != nil {
			return fmt.Errorf("no right to make a control group in %s: %w", dir, err)
		}
	}
	return nil
}

// parent2 finds the nearest v2 cgroup, from our own up, in which a cgroup
// with the controllers can be made. Processes and controllers exclude each
// other in one cgroup, so this is often the one above ours; it never goes
// past a cgroup that limits us, since the instance would then have more than
// its surroundings allow.
func (l Layout) parent2(need []string) (string, error) {
	if l.V2.Dir == "" {
		if len(need) > 0 {
			return "", fmt.Errorf("this kernel offers no controller %s", strings.Join(need, ", "))
		}
		return "", errors.New("no v2 hierarchy")
	}
	var why error
	for dir := l.V2.Dir; ; dir = filepath.Dir(dir) {
		if err := mayMake(dir); err != nil {
			return "", errors.Join(why, err)
		}
		err := offers(dir, need)
		if err == nil {
			return dir, nil
		}
		why = errors.Join(why, err)
		if dir == l.V2.Mount {
			return "", why
		}
		if own, err := limitsOf(2, dir); err != nil || own.any() {
			return "", errors.Join(why, fmt.Errorf("%s has limits of its own, which the instance must not leave", dir))
		}
	}
}

// offers says why a child of the v2 cgroup dir can't have the controllers.
func offers(dir string, need []string) error {
	have := words(filepath.Join(dir, "cgroup.controllers"))
	on := words(filepath.Join(dir, "cgroup.subtree_control"))
	for _, c := range need {
		switch {
		case slices.Contains(on, c):
		case !slices.Contains(have, c):
			return fmt.Errorf("controller %s is not available in %s", c, dir)
		case unix.Access(filepath.Join(dir, "cgroup.subtree_control"), unix.W_OK) != nil:
			return fmt.Errorf("no right to enable controller %s in %s", c, dir)
		case holdsProcesses(dir):
			return fmt.Errorf("controller %s can't be enabled in %s while processes are in it", c, dir)
		}
	}
	return nil
}

// holdsProcesses says whether dir is a v2 cgroup whose own processes keep it
// from enabling controllers. The real root, which has no cgroup.type, may.
func holdsProcesses(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.type")); err != nil {
		return false
	}
	return len(words(filepath.Join(dir, "cgroup.procs"))) > 0
}

// words reads a file's words; an unreadable file has none.
func words(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// V1Dirs returns the v1 directories, each once, in a fixed order.
func (g *Group) V1Dirs() []string {
	var dirs []string
	for _, d := range g.V1 {
		dirs = append(dirs, d)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Dirs returns every directory of the group.
func (g *Group) Dirs() []string {
	if g == nil {
		return nil
	}
	if g.V2 == "" {
		return g.V1Dirs()
	}
	return append(g.V1Dirs(), g.V2)
}

// Create makes the cgroups with the limits of s, for an instance whose files
// are below dir. own gives a file to the user as whom commands enter.
func (g *Group) Create(s provider.Shape, dir string, own func(path string) error) error {
	if g == nil {
		return nil
	}
	if err := g.find(s, dir); err != nil {
		return err
	}
	for _, dir := range g.Dirs() {
		if dir == g.V2 {
			if err := enable(filepath.Dir(dir), g.enable); err != nil {
				return err
			}
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("control group: %w", err)
		}
	}
	if err := g.limit(s); err != nil {
		return err
	}
	// The shell that enters a v1 cgroup has given its rights up already. The
	// file alone is handed over: its owner can move only own processes, and
	// only into here.
	for _, dir := range g.V1Dirs() {
		if err := own(filepath.Join(dir, "cgroup.procs")); err != nil {
			return fmt.Errorf("control group: %w", err)
		}
	}
	if g.V2 == "" {
		return nil
	}
	var err error
	g.Entry, err = os.OpenFile(g.V2, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	return nil
}

// find finds out which disk the limits are for.
func (g *Group) find(s provider.Shape, dir string) (err error) {
	if !LimitsDisk(s) {
		return nil
	}
	if g.device, _, err = DeviceOf(dir); err != nil {
		return fmt.Errorf("%s: %w", diskKnobNames(s), err)
	}
	return nil
}

// enable switches v2 controllers on for the children of dir, and io, which
// only counts, where it can be had.
func enable(dir string, controllers []string) error {
	on := words(filepath.Join(dir, "cgroup.subtree_control"))
	if len(controllers) > 0 && offers(dir, []string{"io"}) == nil && !slices.Contains(on, "io") {
		_ = writeFile(filepath.Join(dir, "cgroup.subtree_control"), "+io")
	}
	for _, c := range controllers {
		if slices.Contains(on, c) {
			continue
		}
		if err := writeFile(filepath.Join(dir, "cgroup.subtree_control"), "+"+c); err != nil {
			return fmt.Errorf("enable controller %s: %w", c, err)
		}
	}
	return nil
}

// Holds checks what a command of the instance saw in its /proc/self/cgroup.
func (g *Group) Holds(self string) error {
	if g == nil {
		return nil
	}
	for _, dir := range g.Dirs() {
		if !strings.Contains(self, "/"+filepath.Base(dir)+"\n") {
			return fmt.Errorf("a first command did not enter the control group %s: it was in %q", dir, self)
		}
	}
	seen := strings.Count(self, "/"+filepath.Base(g.Dirs()[0])+"\n")
	if seen != len(g.Dirs()) {
		return fmt.Errorf("a first command entered %d of %d control groups", seen, len(g.Dirs()))
	}
	return nil
}

// PIDs returns the processes in the group.
func (g *Group) PIDs() []int {
	var pids []int
	if g.V2 != "" {
		return procsBelow(g.V2)
	}
	for _, dir := range g.V1Dirs() {
		pids = append(pids, procs(dir)...)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// procsBelow returns the processes in dir and in the cgroups below it.
func procsBelow(dir string) (pids []int) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			pids = append(pids, procs(path)...)
		}
		return nil // a cgroup that has gone has no processes
	})
	return pids
}

func procs(dir string) []int {
	var pids []int
	for _, w := range words(filepath.Join(dir, "cgroup.procs")) {
		// 0 stands for processes of a pid namespace that we can't see.
		if pid, err := strconv.Atoi(w); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Kill kills every process in the cgroups and waits until they are empty.
func (g *Group) Kill(ctx context.Context, clk clock.Clock) error {
	// In every directory, since a process that is just entering is only in
	// some.
	var errs []error
	for _, dir := range g.Dirs() {
		errs = append(errs, KillDir(ctx, clk, dir))
	}
	return errors.Join(errs...)
}

// KillDir kills every process in the cgroup and waits until it is empty.
func KillDir(ctx context.Context, clk clock.Clock, dir string) error {
	for {
		pids := procs(dir)
		if len(pids) == 0 {
			return nil
		}
		if writeFile(filepath.Join(dir, "cgroup.kill"), "1") != nil {
			for _, pid := range pids {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
					return fmt.Errorf("kill process %d in %s: %w", pid, dir, err)
				}
			}
		}
		if err := Pause(ctx, clk); err != nil {
			return fmt.Errorf("%d processes in %s do not end: %w", len(pids), dir, err)
		}
	}
}

// Remove removes the cgroups, which must be empty. g may be nil.
func (g *Group) Remove(ctx context.Context, clk clock.Clock) error {
	if g == nil {
		return nil
	}
	if g.Entry != nil {
		g.Entry.Close()
	}
	var errs []error
	for _, dir := range g.Dirs() {
		errs = append(errs, RemoveDir(ctx, clk, dir))
	}
	return errors.Join(errs...)
}

// RemoveDir removes an empty cgroup. The kernel says "busy" for a moment
// after the last process has ended.
func RemoveDir(ctx context.Context, clk clock.Clock, dir string) error {
	for {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("remove control group %s: %w", dir, err)
		}
		if ended := Pause(ctx, clk); ended != nil {
			return fmt.Errorf("remove control group %s: %w", dir, err)
		}
	}
}

// IsCgroup says whether dir is in a cgroup file system.
func IsCgroup(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && (fs.Type == unix.CGROUP_SUPER_MAGIC || fs.Type == unix.CGROUP2_SUPER_MAGIC)
}

// writeFile writes to a file that the kernel provides: no creating, no
// truncating.
func writeFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// readLine reads a file that the kernel provides, without its end of line.
func readLine(path string) (string, error) {
	text, err := os.ReadFile(path)
	return string(bytes.TrimSpace(text)), err
}
