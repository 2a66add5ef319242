//go:build linux

package home

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
)

// Owner is the process that made something, as marks hold it.
type Owner struct {
	PID       int    `json:"pid"`
	StartTime uint64 `json:"start_time"` // of the process, in clock ticks since boot
	Boot      string `json:"boot"`       // the kernel's boot id
	// Space names the namespace in which PID counts; "" in marks of versions
	// that did not write it.
	Space string `json:"pid_namespace,omitempty"`
}

// Self is this process as an owner.
func Self() (Owner, error) {
	boot, err := cgroup.BootID()
	if err != nil {
		return Owner{}, err
	}
	self, err := cgroup.ReadStat(os.Getpid())
	if err != nil {
		return Owner{}, fmt.Errorf("this process: %w", err)
	}
	return Owner{PID: os.Getpid(), StartTime: self.Start, Boot: boot, Space: Space()}, nil
}

// Space names the namespace in which this process's ids count.
func Space() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return name
}

// SameBoot says whether the machine has run since the owner made what it made:
// else process ids and control groups mean nothing.
func (o Owner) SameBoot() bool {
	boot, err := cgroup.BootID()
	return err == nil && boot == o.Boot
}

// Runs says whether the owner runs. It is not known of a process that counts
// in another namespace.
func (o Owner) Runs() (runs, known bool) {
	if boot, err := cgroup.BootID(); err != nil || boot != o.Boot {
		return false, err == nil
	}
	if o.Space != "" && o.Space != Space() {
		return false, false
	}
	now, err := cgroup.ReadStat(o.PID)
	return err == nil && now.Start == o.StartTime && now.State != 'Z', true
}

// Ended says in words why an owner that does not run is believed dead.
func (o Owner) Ended() string {
	if !o.SameBoot() {
		return "the machine was started anew since it was made"
	}
	if o.Space != "" && o.Space != Space() {
		return fmt.Sprintf("process %d of another process namespace, which made it, has given its lock up", o.PID)
	}
	return fmt.Sprintf("process %d, which made it and began %s, has ended", o.PID, clockTime(o.Started()))
}

// clockTime writes a time for people.
func clockTime(t time.Time) string {
	if t.IsZero() {
		return "at a time that is not known"
	}
	return "at " + t.Local().Format("2006-01-02 15:04:05")
}

// Started is when the owner began; zero where that is not known.
func (o Owner) Started() time.Time {
	began, err := cgroup.Booted()
	if err != nil || !o.SameBoot() {
		return time.Time{}
	}
	return began.Add(cgroup.Ticks(o.StartTime))
}

// For people is the owner of the file at path, who is the user as whom the
// owner ran.
func (o Owner) For(path string) provider.Owner {
	out := provider.Owner{PID: o.PID, Started: o.Started()}
	info, err := os.Stat(path)
	if err != nil {
		return out
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return out
	}
	out.User = strconv.Itoa(int(st.Uid))
	if u, err := user.LookupId(out.User); err == nil {
		out.User = u.Username
	}
	return out
}
