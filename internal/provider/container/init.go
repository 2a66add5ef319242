//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// pipeBound is how long a command whose ctx has ended may keep its output
// open before it is cut off.
const pipeBound = 5 * time.Second

// firstScript is process 1 of the container. $1 is the instance's run
// directory. An order is a line "COMMAND start" or "COMMAND SIGNAL"; what
// belongs to a command is in run/COMMAND:
//
//	in out err  named pipes
//	status      named pipe, gets the exit status
//	script      runs the command
//	pid         of the command, as the container counts
//
// A shell's children in the background ignore INT and QUIT, which they could
// not undo themselves; env does. The pid file is awaited before a signal is
// sent, so that none is lost to a command that is just starting.
const firstScript = `
run=$1
trap '' HUP INT QUIT TERM
exec 3<"$run/orders" || exit 1
reset="env --default-signal=HUP,INT,QUIT,TERM"
$reset true 2>/dev/null || { echo "the container's env can't reset signals: it needs coreutils 8.31 or later" >"$run/failed"; exit 1; }
one() {
  exec 3<&- 5<"$run/$1/in" 6>"$run/$1/out" 7>"$run/$1/err" 9>"$run/$1/status" 2>/dev/null
  $reset /bin/sh "$run/$1/script" <&5 >&6 2>&7 5<&- 6>&- 7>&- 9>&-
  echo $? >&9
}
pass() {
  exec 3<&- 2>/dev/null
  n=0
  until [ -s "$run/$1/pid" ] || [ $n -ge 100 ]; do sleep 0.05; n=$((n+1)); done
  read -r p <"$run/$1/pid" && kill -s "$2" "$p"
}
: >"$run/ready"
while read -r command order <&3; do
  case $order in
    start) one "$command" & ;;
    *) pass "$command" "$order" & ;;
  esac
done
`

// standIn is the process on the host that stands for a command. $1 is the
// instance's run directory, $2 the command's name there. It leaves a note of
// itself, so that it can be found when nobody else ends it. Its input is
// copied by a child of its own, which is killed with the command. Its outputs
// are copied to their ends even if it has ended before: a daemon may hold them
// open. What the command wrote before it ended is out when the stand-in ends,
// unless that takes more than a second.
const standIn = `
run=$1 name=$2 d=$1/$2
for s in HUP INT QUIT TERM USR1 USR2 CONT; do
  trap "echo \"\$name $s\" >\"\$run/orders\"" $s
done
read -r note </proc/$$/stat && printf '%s\n' "$note" >"$run/$$"
exec 4<&0
cat <&4 >"$d/in" 2>/dev/null & in=$!
exec 4<&- </dev/null
cat "$d/out" 2>/dev/null & out=$!
cat "$d/err" >&2 & err=$!
cat "$d/status" >"$d/code" 2>/dev/null & status=$!
echo "$name start" >"$run/orders"
while :; do
  wait $status
  kill -0 $status 2>/dev/null || break
done
kill $in 2>/dev/null
{ sleep 1; kill -s ALRM $$; } >/dev/null 2>&1 & alarm=$!
trap : ALRM
wait $out $err
kill $alarm 2>/dev/null
rm -f "$run/$$"
code=
read -r code <"$d/code"
exit ${code:-137}
`

// newOrders makes the pipe for orders and opens it.
func newOrders(run string, who home.Account) (*os.File, error) {
	path := filepath.Join(run, "orders")
	if err := pipe(path, who); err != nil {
		return nil, err
	}
	// Opened for both directions, it waits for nobody.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("pipe for orders: %w", err)
	}
	return f, nil
}

// pipe makes a named pipe of who's.
func pipe(path string, who home.Account) error {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return fmt.Errorf("make pipe %s: %w", path, err)
	}
	return who.Own(path)
}

// Command implements provider.Machine. The command gets the instance's
// directory as HOME and working directory, and nothing of Loadstone's
// environment but, where the host's programs are the container's, PATH. When
// ctx ends, it is killed with all processes that descend from it.
func (i *Instance) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	n := "command-" + strconv.FormatInt(i.commands.Add(1), 10)
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", standIn, name, i.home.Run(), n)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + defaultPath, "LANG=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if i.user.Change {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(i.user.UID), Gid: uint32(i.user.GID)}
	}
	cmd.Cancel = func() error { return i.cancel(cmd.Process.Pid, n) }
	cmd.WaitDelay = pipeBound
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		cmd.Err = fmt.Errorf("instance %s is closed", i.home.ID)
		return cmd
	}
	if i.watch != nil && i.watch.ended.Load() {
		cmd.Err = fmt.Errorf("the container of instance %s has ended", i.home.ID)
		return cmd
	}
	path := name
	if i.image == "" {
		// The container has the host's programs.
		if path, cmd.Err = exec.LookPath(name); cmd.Err != nil {
			return cmd
		}
	}
	cmd.Err = i.prepare(n, append([]string{path}, args...))
	return cmd
}

// prepare makes what belongs to a command in the run directory.
func (i *Instance) prepare(name string, argv []string) error {
	dir := filepath.Join(i.home.Run(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("command %s: %w", argv[0], err)
	}
	for _, p := range []string{"in", "out", "err", "status"} {
		if err := pipe(filepath.Join(dir, p), i.user); err != nil {
			return fmt.Errorf("command %s: %w", argv[0], err)
		}
	}
	var words []string
	for _, a := range argv {
		words = append(words, quote(a))
	}
	script := fmt.Sprintf("echo $$ >%s\n[ -e %s ] && exit 137\ncd %s || exit 126\nexec %s\n",
		quote(dir+"/pid"), quote(dir+"/cancelled"), quote(i.Dir()), strings.Join(words, " "))
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600); err != nil {
		return fmt.Errorf("command %s: %w", argv[0], err)
	}
	if err := errors.Join(i.user.Own(filepath.Join(dir, "script")), i.user.Own(dir)); err != nil {
		return fmt.Errorf("command %s: %w", argv[0], err)
	}
	return nil
}

// quote makes one word of s for the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// cancel kills a command with all that descend from it, and its stand-in. The
// mark is made before the pid is looked for, and the command looks for the
// mark after it has written its pid: one of both sees the other.
func (i *Instance) cancel(standIn int, name string) error {
	dir := filepath.Join(i.home.Run(), name)
	err := os.WriteFile(filepath.Join(dir, "cancelled"), nil, 0o644)
	text, _ := os.ReadFile(filepath.Join(dir, "pid"))
	inside, notYet := strconv.Atoi(strings.TrimSpace(string(text)))
	if pid, ok := i.HostPID(inside); notYet == nil && ok {
		err = errors.Join(err, cgroup.KillTree(pid))
	}
	// Its group are the copiers, too.
	if killed := syscall.Kill(-standIn, syscall.SIGKILL); killed != nil && !errors.Is(killed, syscall.ESRCH) {
		err = errors.Join(err, killed)
	}
	if notYet != nil {
		err = errors.Join(err, i.release(dir))
	}
	return err
}

// release lets a cancelled command that is still on its way into the container
// come to where it sees the mark: without a stand-in, opening its pipes would
// wait for ever. The pipes stay open until Close, because nothing tells when
// it has passed them.
func (i *Instance) release(dir string) (err error) {
	for _, p := range []string{"in", "out", "err", "status"} {
		f, openErr := os.OpenFile(filepath.Join(dir, p), os.O_RDWR, 0)
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		i.mu.Lock()
		i.held = append(i.held, f)
		i.mu.Unlock()
	}
	return err
}

// HostPID returns the process that has the id inside of the container, as the
// host counts (NSpid in proc_pid_status(5)).
func (i *Instance) HostPID(inside int) (pid int, ok bool) {
	for _, pid := range i.group.PIDs() {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			list, found := strings.CutPrefix(line, "NSpid:")
			if f := strings.Fields(list); found && len(f) > 1 && f[len(f)-1] == strconv.Itoa(inside) {
				return pid, true
			}
		}
	}
	return 0, false
}
