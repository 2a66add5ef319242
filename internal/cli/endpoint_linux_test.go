package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loadstone-perf/loadstone/internal/engine/postgres/pgtest"
)

// TestOnARunningServer plays testdata/endpoint: conversations about a server
// that somebody else started.
func TestOnARunningServer(t *testing.T) {
	f := pgtest.StartForeign(t)
	f.Exec(t, "postgres", "CREATE DATABASE precious OWNER bench")
	cache := openDir(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/endpoint",
		Setup: func(e *testscript.Env) error {
			e.Setenv("LOADSTONE_CACHE", cache)
			e.Setenv("NO_COLOR", "1")
			e.Setenv("PORT", strconv.Itoa(f.Port))
			e.Setenv("CA", f.CA)
			e.Setenv("OTHER_CA", f.OtherCA)
			e.Setenv("BENCH_PASSWORD", pgtest.ForeignPassword)
			return os.WriteFile(filepath.Join(e.WorkDir, "secret.txt"), []byte(pgtest.ForeignPassword+"\n"), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// fill FILE…: put the environment's values into study files.
			"fill": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, name := range args {
					text := os.Expand(ts.ReadFile(name), ts.Getenv)
					ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
				}
			},
			// databases TEXT: say whether a database's name contains TEXT.
			"databases": func(ts *testscript.TestScript, neg bool, args []string) {
				if has := strings.Contains(f.Databases(t), args[0]); has == neg {
					ts.Fatalf("the databases are %s", f.Databases(t))
				}
			},
			// sql DATABASE STATEMENT: as an administrator.
			"sql": func(_ *testscript.TestScript, _ bool, args []string) { f.Exec(t, args[0], args[1]) },
			// nosecret DIR…: fail where a file or the last output has the
			// password.
			"nosecret": func(ts *testscript.TestScript, _ bool, args []string) { noSecret(ts, args) },
		},
		RequireExplicitExec: true,
	})
}

func noSecret(ts *testscript.TestScript, dirs []string) {
	for _, name := range []string{"stdout", "stderr"} {
		if strings.Contains(ts.ReadFile(name), pgtest.ForeignPassword) {
			ts.Fatalf("%s has the password", name)
		}
	}
	files := 0
	for _, dir := range dirs {
		ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), pgtest.ForeignPassword) {
				ts.Fatalf("%s has the password", path)
			}
			return err
		}))
	}
	if len(dirs) > 0 && files < 10 {
		ts.Fatalf("only %d files below %s", files, dirs)
	}
}
