//go:build linux

package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/loadstone-perf/loadstone/internal/provider/libvirt/guest"
)

// The names of the hidden commands of this program: the guest's first process
// and agent, and the one that stands on the host for a command in the guest.
const (
	AgentCommand = "guest-agent"
	ExecCommand  = "guest-exec"
)

// pipeBound is how long a command whose ctx has ended may keep its output open
// before it is cut off.
const pipeBound = 5 * time.Second

// Hidden runs the hidden command in args (without the program's name), if it is
// one, and returns its exit status. Every program that makes instances must call
// it before it does anything else, since guests are started with it.
func Hidden(args []string) (code int, ok bool) {
	switch {
	case len(args) == 1 && args[0] == AgentCommand && os.Getpid() == 1:
		guest.Init(AgentCommand)
		return 1, true
	case len(args) == 2 && args[0] == AgentCommand && args[1] == guest.ServeArg && os.Getppid() == 1:
		// It returns only when the host is gone.
		fmt.Fprintln(os.Stderr, "loadstone guest:", guest.Serve())
		return 1, true
	case len(args) >= 3 && args[0] == ExecCommand:
		return guest.Exec(args[1], args[2], args[3:]), true
	}
	return 0, false
}

// stream begins a stream to the agent.
func (i *Instance) stream() (duplex, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.link == nil || i.closed {
		return nil, errors.New("the guest does not run")
	}
	return i.link.agent.Stream()
}

// Command implements provider.Machine. The command runs in the guest as its
// unprivileged user, with the instance's directory as HOME and working
// directory, and nothing of Loadstone's environment. On the host this program
// stands for it, passes signals on, and ends with its exit status, or 128 + n
// where signal n ended it. When ctx ends, the command is killed with all
// processes that descend from it.
//
// Output that a daemon writes after the command itself has ended is lost.
func (i *Instance) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	i.fresh.used()
	_, err := exec.LookPath(name) // the guest has no program that this machine has not
	cmd := exec.CommandContext(ctx, i.self, append([]string{ExecCommand, filepath.Join(i.vm(), "exec"), name}, args...)...)
	if i.image == "" && err != nil {
		cmd.Err = err
	}
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"}
	// A terminal's Ctrl-C is for Loadstone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = pipeBound
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed && cmd.Err == nil {
		cmd.Err = fmt.Errorf("instance %s is closed", i.home.ID)
	}
	return cmd
}
