//go:build linux

package native

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// pipeBound is how long a command whose ctx has ended may keep its output
// open before it is cut off.
const pipeBound = 5 * time.Second

// defaultPath is used where Loadstone itself has no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// command prepares name for the instance. A v2 cgroup is entered by the
// kernel at the fork (clone3 with CLONE_INTO_CGROUP); v1 has no such thing,
// there a shell enters and then becomes the program, so that the program's
// first instruction is already confined.
func command(ctx context.Context, h *home.Home, g *cgroup.Group, who home.Account, name string, args []string) *exec.Cmd {
	path, err := exec.LookPath(name)
	argv := append([]string{name}, args...)
	if entry := entryScript(g, h); entry != "" {
		// "$0" is the program's own name in the shell's messages.
		argv = append([]string{"/bin/sh", "-c", entry, name, path}, args...)
		path = "/bin/sh"
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Path, cmd.Args = path, argv
	if err != nil {
		cmd.Err = err
	}
	cmd.Dir = h.Data()
	search := os.Getenv("PATH")
	if search == "" {
		search = defaultPath
	}
	cmd.Env = []string{"PATH=" + search, "LANG=C", "TZ=UTC", "HOME=" + h.Data()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if who.Change {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(who.UID), Gid: uint32(who.GID)}
	}
	if g != nil && g.Entry != nil {
		cmd.SysProcAttr.UseCgroupFD = true
		cmd.SysProcAttr.CgroupFD = int(g.Entry.Fd())
	}
	cmd.Cancel = func() error { return cgroup.KillTree(cmd.Process.Pid) }
	cmd.WaitDelay = pipeBound
	return cmd
}

// entryScript is what a shell does before it becomes the program: enter the
// v1 cgroups (or, without any cgroup, leave a note of its process), and give
// up where the owner has died meanwhile, since the watchdog may then have
// looked already. It is empty where the kernel does all of it.
func entryScript(g *cgroup.Group, h *home.Home) string {
	var s strings.Builder
	switch {
	case g == nil:
		fmt.Fprintf(&s, "read -r s </proc/$$/stat && printf '%%s\\n' \"$s\" >%s/$$ || exit 126\n", quote(h.Run()))
	case len(g.V1) == 0:
		return ""
	default:
		for _, dir := range g.V1Dirs() {
			fmt.Fprintf(&s, "echo 0 >%s || exit 126\n", quote(dir+"/cgroup.procs"))
		}
	}
	fmt.Fprintf(&s, "read -r s </proc/$$/stat && s=${s##*) } && s=${s#* } && [ \"${s%%%% *}\" = %d ] || exit 126\n", os.Getpid())
	s.WriteString("exec \"$@\"\n")
	return s.String()
}

// quote makes one word of s for the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// watchdog is the process that ends an instance whose owner has died.
type watchdog struct {
	cmd  *exec.Cmd
	pipe io.Closer
}

// watchScript waits until its input ends and then kills, and removes emptied
// cgroups, which nothing would lead to once somebody removes the cache by
// hand, and what the killed processes shared under names of the system's: see
// cgroup.Shared. Arguments: the run directory, or "" followed by cgroup
// directories. It goes on until nothing is left, for about ten seconds at most;
// a machine on which a killed process lives longer is beyond its help.
const watchScript = `
trap '' HUP INT QUIT TERM
since=$(date +%s)
while read -r _; do :; done
run=$1; shift
# note keeps what the processes "$@" share, to be removed once they have ended:
# what was there before the instance can't be its.
seen=" " files= segments=
note() {
  new=
  for p in "$@"; do
    case $seen in *" $p "*) ;; *) new="$new /proc/$p/maps" seen="$seen$p ";; esac
  done
  [ "$new" ] || return
  files="$files $(sed -n 's|.* \(/dev/shm/[^ ]*\)$|\1|p' $new | sort -u)"
  while read -r _ id _ _ maker _ _ _ _ _ _ _ _ made _; do
    case " $* " in *" $maker "*) [ "$made" -ge "$since" ] && segments="$segments $id";; esac
  done </proc/sysvipc/shm
}
forget() {
  for f in $files; do
    [ "$(stat -c %Y "$f")" -ge "$since" ] && rm -f "$f"
  done
  for s in $segments; do ipcrm -m "$s"; done
}
groups() {
  note $(for g in "$@"; do cat "$g/cgroup.procs"; done | sort -un)
  for g in "$@"; do
    [ -d "$g" ] || continue
    [ -w "$g/cgroup.kill" ] && echo 1 >"$g/cgroup.kill"
    while read -r p; do
      [ "$p" -gt 1 ] && kill -9 "$p"
    done <"$g/cgroup.procs"
    rmdir "$g" || alive=1
  done
}
# pids holds the processes to kill: those noted in $run, if they are still the
# same ones, and all that descend from them or are of their group or session.
pids=" "
trees() {
  for f in "$run"/*; do
    read -r noted <"$f" && read -r now <"/proc/${f##*/}/stat" || continue
    [ "$(start "$noted")" = "$(start "$now")" ] && pids="$pids${f##*/} "
  done
  grown=1
  while [ "$grown" ]; do
    grown=
    for d in /proc/[0-9]*; do
      p=${d#/proc/}
      case $pids in *" $p "*) continue;; esac
      read -r s <"$d/stat" || continue
      set -- ${s##*) }
      [ "$1" = Z ] && continue
      case $pids in *" $2 "*|*" $3 "*|*" $4 "*) pids="$pids$p "; grown=1;; esac
    done
  done
  note $pids
  for p in $pids; do
    read -r s <"/proc/$p/stat" || continue
    s=${s##*) }
    [ "${s%% *}" = Z ] || { alive=1; kill -9 "$p"; }
  done
}
start() { set -- ${1##*) }; shift 19; echo "$1"; }
n=0
while [ $n -lt 200 ]; do
  alive=
  if [ "$run" ]; then trees; else groups "$@"; fi
  [ "$alive" ] || { forget; exit 0; }
  sleep 0.05
  n=$((n + 1))
done 2>/dev/null
`

// startWatchdog starts the watchdog of an instance, in a session of its own
// and outside the instance's cgroups.
func startWatchdog(g *cgroup.Group, h *home.Home) (*watchdog, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	defer r.Close()
	args := []string{"-c", watchScript, "loadstone-watchdog"}
	if g == nil {
		args = append(args, h.Run())
	} else {
		args = append(append(args, ""), g.Dirs()...)
	}
	cmd := exec.Command("/bin/sh", args...)
	cmd.Stdin = r
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + defaultPath, "LANG=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, pipe: w}, nil
}

// stop ends the watchdog without letting it act. w may be nil.
func (w *watchdog) stop() {
	if w == nil {
		return
	}
	// Neither error matters: a watchdog that is gone has nothing to stop,
	// and its exit status is always that of a killed process.
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	_ = w.pipe.Close()
}
