//go:build linux

package home

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Account is whom an instance's commands run as.
type Account struct {
	UID, GID int
	Name     string
	Change   bool // Loadstone is root and gives its rights up for commands
}

// Unprivileged chooses the account: Loadstone's own unless that is root;
// else the user who called sudo (whose files the cache most likely is among),
// else postgres, else nobody. Database servers refuse to run as root.
func Unprivileged() (Account, error) {
	if os.Geteuid() != 0 {
		return Account{UID: os.Geteuid(), GID: os.Getegid(), Name: strconv.Itoa(os.Geteuid())}, nil
	}
	var found *user.User
	if id := os.Getenv("SUDO_UID"); id != "" && id != "0" {
		u, err := user.LookupId(id)
		if err != nil {
			return Account{}, fmt.Errorf("the user who called sudo: %w", err)
		}
		found = u
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found == nil {
			found, _ = user.Lookup(name)
		}
	}
	if found == nil {
		return Account{}, errors.New("no Unprivileged user to run servers as: neither postgres nor nobody exists")
	}
	uid, err := strconv.Atoi(found.Uid)
	if err != nil {
		return Account{}, fmt.Errorf("user %s: %w", found.Username, err)
	}
	gid, err := strconv.Atoi(found.Gid)
	if err != nil {
		return Account{}, fmt.Errorf("user %s: %w", found.Username, err)
	}
	return Account{UID: uid, GID: gid, Name: found.Username, Change: true}, nil
}

// Own gives path to the account. Where Loadstone is not root, what it makes
// is the account's already.
func (a Account) Own(path string) error {
	if !a.Change {
		return nil
	}
	return os.Lchown(path, a.UID, a.GID)
}

// MayPass explains why a command of the account could not start in dir: it
// names the first directory on the way that the account may not enter, or
// returns cause where there is none. It asks the kernel as the account, since
// permissions are more than mode bits.
func (a Account) MayPass(dir string, cause error) error {
	for at := "/"; ; {
		cmd := exec.Command("/bin/sh", "-c", `cd "$1"`, "sh", at)
		cmd.Dir = "/"
		if a.Change {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}}
		}
		if cmd.Run() != nil {
			return fmt.Errorf("user %s, whom servers run as, may not enter %s (on the way to %s): allow it (chmod o+x %s) or choose another cache directory: %w",
				a.Name, at, dir, at, cause)
		}
		rest, err := filepath.Rel(at, dir)
		if err != nil || rest == "." {
			return cause
		}
		next, _, _ := strings.Cut(rest, "/")
		at = filepath.Join(at, next)
	}
}
