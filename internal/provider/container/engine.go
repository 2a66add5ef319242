//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"
)

const (
	// idleBound is after which time without a request a Podman service of
	// ours ends by itself, should nobody end it.
	idleBound = 10 * time.Second
	// dialBound is how long a socket may take to answer.
	dialBound = 2 * time.Second
	// quitBound is how long a Podman service of ours may take to end.
	quitBound = 5 * time.Second
)

// defaultPath is where programs are looked for in the container.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// engine is how the Docker API is reached.
type engine struct {
	socket string // path; "" is a Podman service of our own
	podman string // the program
}

// sockets are where engines listen by habit, in the order of preference.
func sockets() []string { return []string{"/var/run/docker.sock", "/run/podman/podman.sock"} }

// errNoEngine says that there is none.
var errNoEngine = errors.New("no container engine: DOCKER_HOST is not set, nothing listens on " +
	strings.Join(sockets(), " or ") + ", and there is no podman program")

// errRootless says why a Podman service can't be started.
var errRootless = errors.New("a container engine of Loadstone's own (podman) needs root: without it, containers can't be given control groups of their own everywhere")

// findEngine looks for an engine: DOCKER_HOST, sockets that answer, Podman.
func findEngine() (engine, error) {
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		path, ok := strings.CutPrefix(host, "unix://")
		if !ok {
			return engine{}, fmt.Errorf("DOCKER_HOST=%s is no Unix socket: the engine must be on this machine, where its control groups and files can be read", host)
		}
		return engine{socket: path}, nil
	}
	for _, path := range sockets() {
		conn, err := net.DialTimeout("unix", path, dialBound)
		if err == nil {
			return engine{socket: path}, conn.Close()
		}
	}
	podman, err := exec.LookPath("podman")
	if err != nil {
		return engine{}, errNoEngine
	}
	if os.Geteuid() != 0 {
		return engine{}, errRootless
	}
	return engine{podman: podman}, nil
}

// with calls do with a client. A Podman service of our own runs only
// meanwhile; dir is where its configuration and its socket are.
func (e engine) with(ctx context.Context, dir string, do func(*client.Client) error) (err error) {
	socket := e.socket
	if socket == "" {
		s, err := e.serve(dir)
		if err != nil {
			return err
		}
		defer s.stop()
		socket = s.socket
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	c, err := client.New(client.WithHost("unix:///engine"), client.WithDialContext(dial))
	if err != nil {
		return fmt.Errorf("container engine: %w", err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return fmt.Errorf("container engine: %w", err)
	}
	return do(c)
}

// service is a Podman service of our own.
type service struct {
	cmd    *exec.Cmd
	dir    *os.File // holds the socket's directory
	name   string   // of the socket
	socket string   // a short path to it
	ended  chan struct{}
}

// serve starts a Podman service. Its socket is made here and handed over, as
// systemd does (sd_listen_fds(3)), so that requests wait for it rather than
// fail. It is reached through /proc/self/fd because the path of a socket may
// have 107 bytes only.
func (e engine) serve(dir string) (*service, error) {
	conf, err := configure(dir)
	if err != nil {
		return nil, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("podman service: %w", err)
	}
	s := &service{dir: d, name: fmt.Sprintf(".podman-%d-%d", os.Getpid(), d.Fd()), ended: make(chan struct{})}
	s.socket = fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), s.name)
	dropSockets(dir)
	_ = unix.Unlinkat(int(d.Fd()), s.name, 0) // of an earlier process with our id
	if err := s.start(e.podman, conf); err != nil {
		_ = unix.Unlinkat(int(d.Fd()), s.name, 0)
		d.Close()
		return nil, fmt.Errorf("podman service: %w", err)
	}
	return s, nil
}

// dropSockets removes the sockets that processes left which were killed.
func dropSockets(dir string) {
	for _, path := range deadSockets(dir) {
		_ = os.Remove(path)
	}
}

// deadSockets are the sockets in dir, and configurations that are being written,
// whose makers do not run. A process has them only while it asks the engine for
// something.
func deadSockets(dir string) (paths []string) {
	all, _ := filepath.Glob(filepath.Join(dir, ".podman-*-*"))
	for _, path := range all {
		if pid := makerOf(path); pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			paths = append(paths, path)
		}
	}
	return paths
}

// makerOf is the process that made the socket at path; 0 where its name does
// not tell.
func makerOf(path string) int {
	text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), ".podman-"), "-")
	pid, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return pid
}

func (s *service) start(podman, conf string) error {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.socket, Net: "unix"})
	if err != nil {
		return err
	}
	defer func() { _ = ln.Close() }()
	ln.SetUnlinkOnClose(false)
	f, err := ln.File()
	if err != nil {
		return err
	}
	defer f.Close()
	// The service must know its own process id beforehand.
	s.cmd = exec.Command("/bin/sh", "-c", `LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"`, "sh",
		podman, "system", "service", "--time", strconv.Itoa(int(idleBound.Seconds())))
	s.cmd.Dir = "/"
	s.cmd.Env = []string{"PATH=" + defaultPath, "LANG=C", "HOME=" + os.Getenv("HOME"), "CONTAINERS_CONF=" + conf}
	s.cmd.ExtraFiles = []*os.File{f}
	// A terminal's Ctrl-C is for Loadstone, which then needs the service to
	// clean up.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = s.cmd.Wait() // a service that was ended, or has ended itself
		close(s.ended)
	}()
	return nil
}

// stop ends the service, kindly first: it may be about to write.
func (s *service) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(context.Background(), quitBound)
	defer cancel()
	select {
	case <-s.ended:
	case <-ctx.Done():
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	_ = unix.Unlinkat(int(s.dir.Fd()), s.name, 0)
	s.dir.Close()
}

// configure writes the configuration of our Podman services
// (containers.conf(5)): no systemd where there is none; and runc where cgroup
// v1 is in use, because crun refuses machines with both versions.
func configure(dir string) (path string, err error) {
	text := "[engine]\nevents_logger = \"none\"\n"
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		text += "cgroup_manager = \"cgroupfs\"\n"
	}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		for _, runc := range []string{"/usr/bin/runc", "/usr/sbin/runc", "/usr/local/bin/runc", "/usr/local/sbin/runc"} {
			if _, err := os.Stat(runc); err == nil {
				text += fmt.Sprintf("runtime = \"runc\"\n[engine.runtimes]\nrunc = [%q]\n", runc)
				break
			}
		}
	}
	path = filepath.Join(dir, "containers.conf")
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return path, nil
	}
	tmp, err := os.CreateTemp(dir, fmt.Sprintf(".podman-%d-conf-*", os.Getpid()))
	if err != nil {
		return "", fmt.Errorf("podman's configuration: %w", err)
	}
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("podman's configuration: %w", err), os.Remove(tmp.Name()))
	}
	return path, nil
}
