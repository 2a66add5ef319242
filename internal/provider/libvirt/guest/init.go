//go:build linux

package guest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// ModuleList is the file in the initial file system that names, one a line and
// in the order of loading, the kernel modules in it.
const ModuleList = "/modules.list"

// ServeArg is the agent's argument after the command's name.
const ServeArg = "serve"

// Init is the guest's first process: it mounts the kernel's file systems, loads
// modules, starts the agent, reaps orphans, and powers the machine off when the
// agent ends. It does not return.
func Init(command string) {
	if err := begin(); err != nil {
		fmt.Println("loadstone guest:", err)
	}
	self := exec.Command("/init", command, ServeArg)
	self.Stdout, self.Stderr = os.Stdout, os.Stderr
	self.Env = os.Environ()
	if err := self.Start(); err != nil {
		fmt.Println("loadstone guest: start the agent:", err)
	} else {
		reap(self.Process.Pid)
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}

// reap waits for whatever ends until child does.
func reap(child int) {
	for {
		var s unix.WaitStatus
		pid, err := unix.Wait4(-1, &s, 0, nil)
		if pid == child && (s.Exited() || s.Signaled()) {
			fmt.Println("loadstone guest: the agent ended:", s)
			return
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// begin makes the kernel's file systems and devices there.
func begin() error {
	var errs []error
	for _, m := range []struct{ kind, at string }{
		{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}, {"cgroup2", "/sys/fs/cgroup"},
	} {
		errs = append(errs, os.MkdirAll(m.at, 0o755))
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
			errs = append(errs, fmt.Errorf("mount %s: %w", m.at, err))
		}
	}
	errs = append(errs, os.MkdirAll(commandGroups, 0o755))
	return errors.Join(append(errs, loadModules())...)
}

// loadModules loads what ModuleList names. A module whose device is not there
// may refuse; what is needed and missing is noticed when it is used.
func loadModules() error {
	list, err := os.ReadFile(ModuleList)
	if err != nil {
		return err
	}
	for path := range strings.FieldsSeq(string(list)) {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENODEV) {
			fmt.Printf("loadstone guest: %s: %v\n", path, err)
		}
	}
	return nil
}
