//go:build linux

package libvirt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/digitalocean/go-libvirt"
	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

const (
	// daemonIdle is after how many seconds without a client or a guest a libvirt
	// daemon of ours ends by itself.
	daemonIdle = "20"
	// daemonBound is how long a daemon of ours may take to answer. At its first
	// start it asks every emulator for its capabilities.
	daemonBound = 60 * time.Second
	// dialBound is how long a socket may take to answer.
	dialBound = 2 * time.Second
)

// systemSockets are where the system's daemons listen: the one for everything,
// and the one for QEMU alone of newer distributions.
func systemSockets() []string {
	return []string{"/run/libvirt/virtqemud-sock", "/run/libvirt/libvirt-sock", "/var/run/libvirt/libvirt-sock"}
}

// daemon is a libvirt daemon that manages QEMU guests.
type daemon struct {
	socket string
	about  string // for people
	own    bool
}

// findDaemon returns the system's daemon where one answers, else one of our own
// below dir, which is started if need be.
//
// A daemon that runs as root keeps its state in fixed places, where the machine's
// owner may have guests of his own defined. Ours runs in a mount namespace in
// which those places are directories below dir: it sees no guest but ours, and
// nobody else sees ours.
func findDaemon(ctx context.Context, clk clock.Clock, dir string) (daemon, error) {
	if d, ok := systemDaemon(); ok {
		return d, nil
	}
	return privateDaemon(ctx, clk, dir, nil)
}

// systemDaemon is the system's, where it answers.
func systemDaemon() (daemon, bool) {
	for _, path := range systemSockets() {
		if conn, err := net.DialTimeout("unix", path, dialBound); err == nil {
			_ = conn.Close()
			return daemon{socket: path, about: "the system's libvirt at " + path}, true
		}
	}
	return daemon{}, false
}

// runningDaemon is the daemon that findDaemon would return without starting one.
func runningDaemon(dir string) (daemon, bool) {
	if d, ok := systemDaemon(); ok {
		return d, true
	}
	for _, name := range privateSockets() {
		d := daemon{socket: filepath.Join(dir, "run", name), about: privateAbout, own: true}
		if conn, err := dialShort(d.socket); err == nil {
			_ = conn.Close()
			return d, true
		}
	}
	return daemon{}, false
}

// privateSockets are the names that daemons of our own listen by.
func privateSockets() []string { return []string{"libvirt-sock", "virtqemud-sock"} }

const privateAbout = "a libvirt daemon of Loadstone's own"

// privateDaemon returns our own daemon below dir; settings are added to its
// configuration.
func privateDaemon(ctx context.Context, clk clock.Clock, dir string, settings []string) (daemon, error) {
	d := daemon{socket: filepath.Join(dir, "run", "libvirt-sock"), about: privateAbout, own: true}
	program, err := daemonProgram()
	if err != nil {
		return d, err
	}
	if filepath.Base(program) == "virtqemud" {
		d.socket = filepath.Join(dir, "run", "virtqemud-sock")
	}
	if os.Geteuid() != 0 {
		return d, errRootless
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return d, err
	}
	lock, err := home.LockFile(ctx, clk, filepath.Join(dir, "lock"), unix.LOCK_EX)
	if err != nil {
		return d, err
	}
	defer lock.Close()
	if conn, err := dialShort(d.socket); err == nil {
		return d, conn.Close()
	}
	if err := startDaemon(dir, program, settings); err != nil {
		return d, fmt.Errorf("start a libvirt daemon: %w", err)
	}
	wait, cancel := context.WithTimeout(ctx, daemonBound)
	defer cancel()
	for {
		conn, err := dialShort(d.socket)
		if err == nil {
			return d, conn.Close()
		}
		if cgroup.Pause(wait, clk) != nil {
			return d, fmt.Errorf("the libvirt daemon does not answer on %s: %w; its log ends:\n%s", d.socket, err, tail(filepath.Join(dir, "daemon.log")))
		}
	}
}

// dialShort connects to a socket whose path may be longer than the 107 bytes
// that an address holds.
func dialShort(path string) (net.Conn, error) {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return net.DialTimeout("unix", fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), filepath.Base(path)), dialBound)
}

// errRootless says why there is no daemon of our own.
var errRootless = errors.New("no libvirt daemon answers, and starting one needs root")

// daemonProgram finds the program.
func daemonProgram() (string, error) {
	for _, path := range []string{"/usr/sbin/libvirtd", "/usr/sbin/virtqemud", "/usr/bin/virtqemud"} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no libvirt daemon answers, and there is no libvirtd or virtqemud program to start")
}

// startScript makes the fixed places private and becomes the daemon. $1 is the
// directory, $2 the program, $3 the idle bound.
const startScript = `
set -e
for d in etc run lib cache log; do mkdir -p "$1/$d"; done
mkdir -p "$1/etc/qemu" /etc/libvirt /run/libvirt /var/lib/libvirt /var/cache/libvirt /var/log/libvirt
mount --make-rprivate /
mount --bind "$1/etc" /etc/libvirt
mount --bind "$1/run" /run/libvirt
mount --bind "$1/lib" /var/lib/libvirt
mount --bind "$1/cache" /var/cache/libvirt
mount --bind "$1/log" /var/log/libvirt
exec "$2" --timeout "$3" --pid-file "$1/run/daemon.pid" --config "$1/daemon.conf"
`

// startDaemon starts the daemon; it outlives this process only until it is
// idle.
func startDaemon(dir, program string, settings []string) error {
	for name, text := range map[string]string{
		"daemon.conf": strings.Join(append([]string{`auth_unix_rw = "none"`, `unix_sock_rw_perms = "0700"`, `log_outputs = "3:stderr"`}, settings...), "\n") + "\n",
		// Logs go to files, so that no second daemon is needed for them, and
		// no security driver labels files: there are none but ours.
		"etc/qemu.conf": "security_driver = \"none\"\nstdio_handler = \"file\"\nuser = \"root\"\ngroup = \"root\"\nremember_owner = 0\nnamespaces = []\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	log, err := os.Create(filepath.Join(dir, "daemon.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("/bin/sh", "-c", startScript, "sh", dir, program, daemonIdle)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C", "HOME=/root"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Unshareflags: syscall.CLONE_NEWNS}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it ends when it is idle
	return nil
}

// tail returns the end of a log.
func tail(path string) string {
	text, _ := os.ReadFile(path)
	const most = 2000
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return strings.TrimSpace(string(text))
}

// socketDialer dials a daemon for go-libvirt.
type socketDialer struct{ path string }

// Dial implements socket.Dialer.
func (d socketDialer) Dial() (net.Conn, error) { return dialShort(d.path) }

// connect opens a connection to the daemon.
func (d daemon) connect() (*libvirt.Libvirt, error) {
	l := libvirt.NewWithDialer(socketDialer{d.socket})
	if err := l.ConnectToURI(libvirt.QEMUSystem); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", d.about, err)
	}
	return l, nil
}
