package enginetest

import (
	"os"
	"syscall"
)

// attributes make a command end with the test, and run it as nobody where the
// test is root.
func attributes(root bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if root {
		a.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return a
}

// alive says whether p has not been waited for.
func alive(p *os.Process) bool { return p.Signal(syscall.Signal(0)) == nil }
