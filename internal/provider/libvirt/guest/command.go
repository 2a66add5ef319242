//go:build linux

package guest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// searchPath is where programs are looked for.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// commandGroups is where each command has a cgroup of its own, so that all its
// processes can be found and killed. No controller is enabled in them: they
// weigh nothing in the scheduler.
const commandGroups = "/sys/fs/cgroup/commands"

// run runs one command to its end.
func (a *agent) run(st duplex, r Request) {
	defer func() { _ = st.Close() }()
	defer a.inputs.forget(r.ID)
	out := &frames{w: st}
	code, err := a.command(st, r, out)
	if err != nil {
		_, _ = out.of(frameErr).Write([]byte(err.Error() + "\n"))
	}
	_ = out.exit(code)
	_ = st.CloseWrite()
	// The host closes when it has read all of it.
	_, _ = io.Copy(io.Discard, st)
}

// frames writes frames of several kinds to one stream.
type frames struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frames) write(kind byte, p []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return writeFrame(f.w, kind, p)
}

func (f *frames) exit(code int) error { return f.write(frameExit, []byte{byte(code)}) }

// of is a writer of frames of one kind.
func (f *frames) of(kind byte) io.Writer { return framed{f, kind} }

type framed struct {
	*frames
	kind byte
}

// Write implements io.Writer.
func (f framed) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n := min(len(p)-done, frameBound)
		if err := f.write(f.kind, p[done:done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return len(p), nil
}

// command starts a command and returns its exit status.
func (a *agent) command(st duplex, r Request, out *frames) (code int, err error) {
	path, err := lookPath(a.root, r.Name)
	if err != nil {
		return exitNotFound, err
	}
	group, err := newGroup(r.ID)
	if err != nil {
		return exitCantRun, err
	}
	defer group.remove()
	var pipes [3]pipe
	for n := range pipes {
		if pipes[n], err = newPipe(); err != nil {
			return exitCantRun, err
		}
		defer pipes[n].close()
	}
	cmd := a.prepare(path, r, group)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0].r, pipes[1].w, pipes[2].w
	if err := cmd.Start(); err != nil {
		return exitCantRun, err
	}
	_, _, _ = pipes[0].r.Close(), pipes[1].w.Close(), pipes[2].w.Close()
	go a.feed(r.ID, pipes[0].w)
	ended := make(chan struct{})
	go obey(st, cmd.Process, group, ended)
	var copies sync.WaitGroup
	copies.Go(func() { drain(pipes[1].r, out.of(frameOut), ended) })
	copies.Go(func() { drain(pipes[2].r, out.of(frameErr), ended) })
	err = cmd.Wait()
	close(ended)
	for _, p := range pipes[1:] {
		// Wakes who waits for more of what a daemon may say later.
		_ = p.r.SetReadDeadline(time.Unix(1, 0))
	}
	copies.Wait()
	return status(err), nil
}

func (a *agent) prepare(path string, r Request, g *group) *exec.Cmd {
	return &exec.Cmd{
		Path: path,
		Args: append([]string{r.Name}, r.Args...),
		Dir:  a.config.Dir,
		Env:  []string{"PATH=" + searchPath, "LANG=C", "TZ=UTC", "HOME=" + a.config.Dir},
		SysProcAttr: &syscall.SysProcAttr{
			Chroot: a.root, Setpgid: true, UseCgroupFD: true, CgroupFD: int(g.dir.Fd()),
			Credential: &syscall.Credential{Uid: uint32(a.config.UID), Gid: uint32(a.config.GID)},
		},
	}
}

// status is the exit status for the host.
func status(err error) int {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return 0
	case !ok:
		return exitCantRun
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return exitSignal + int(s.Signal())
	}
	return exit.ExitCode()
}

// feed copies the host's input into the command's.
func (a *agent) feed(id string, to *os.File) {
	defer to.Close()
	var from io.ReadCloser
	select {
	case from = <-a.inputs.of(id):
	case <-a.session.Done():
		return
	}
	// A command may end without reading its input.
	_, _ = io.Copy(to, from)
	_ = from.Close()
}

// obey passes signals on, and kills the command when the stream ends before it
// does: whoever stands for it on the host is gone. Daemons that a command leaves
// when it ends by itself live on.
func obey(st io.Reader, p *os.Process, g *group, ended <-chan struct{}) {
	for {
		kind, payload, err := readFrame(st)
		if err != nil || kind != frameSignal || len(payload) != 1 {
			select {
			case <-ended:
			default:
				g.kill()
			}
			return
		}
		// A failure means that the process has just ended.
		_ = p.Signal(syscall.Signal(payload[0]))
	}
}

// drain copies from until its end, or until the command has ended and nothing
// more is in the pipe: a daemon that the command left may hold it for ever.
func drain(from *os.File, to io.Writer, ended <-chan struct{}) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err == nil {
			continue
		}
		select {
		case <-ended:
		default:
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			drainRest(from, to, buf)
		}
		return
	}
}

// drainRest copies what is in the pipe now.
func drainRest(from *os.File, to io.Writer, buf []byte) {
	raw, err := from.SyscallConn()
	if err != nil {
		return
	}
	for {
		n := 0
		err := raw.Control(func(fd uintptr) { n, _ = unix.Read(int(fd), buf) })
		if err != nil || n <= 0 {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// lookPath finds a program below root, as the shell would in searchPath.
func lookPath(root, name string) (string, error) {
	candidates := []string{name}
	if !strings.Contains(name, "/") {
		candidates = nil
		for _, dir := range filepath.SplitList(searchPath) {
			candidates = append(candidates, filepath.Join(dir, name))
		}
	}
	for _, c := range candidates {
		st, err := os.Stat(root + c)
		if err != nil { // a link that is absolute leads elsewhere from out here
			st, err = os.Lstat(root + c)
		}
		if err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return c, nil
		}
	}
	return "", fmt.Errorf("%s: no such program in the guest's image", name)
}

// pipe is two ends.
type pipe struct{ r, w *os.File }

func newPipe() (pipe, error) {
	r, w, err := os.Pipe()
	return pipe{r, w}, err
}

func (p pipe) close() { _, _ = p.r.Close(), p.w.Close() }

// group is the cgroup of one command.
type group struct {
	path string
	dir  *os.File
}

func newGroup(id string) (*group, error) {
	path := filepath.Join(commandGroups, id)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("a cgroup for the command: %w", err)
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("a cgroup for the command: %w", err)
	}
	return &group{path, dir}, nil
}

// kill kills every process of the command.
func (g *group) kill() { _ = os.WriteFile(filepath.Join(g.path, "cgroup.kill"), []byte("1"), 0) }

// remove gives the cgroup up; one in which a daemon lives stays, and is counted
// by busy.
func (g *group) remove() {
	g.dir.Close()
	_ = os.Remove(g.path)
}

// busy counts the processes of commands, daemons that they left included, and
// removes the cgroups of those that have gone.
func busy() int {
	all, _ := filepath.Glob(commandGroups + "/*/cgroup.procs")
	n := 0
	for _, path := range all {
		text, _ := os.ReadFile(path)
		if c := bytes.Count(text, []byte("\n")); c > 0 {
			n += c
		}
	}
	return n
}

// killAll kills every process of every command.
func killAll() {
	all, _ := filepath.Glob(commandGroups + "/*/cgroup.kill")
	for _, path := range all {
		_ = os.WriteFile(path, []byte("1"), 0)
	}
}
