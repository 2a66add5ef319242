// Package cli is the command line: one file a command. It reads flags, tells
// people what happens, and leaves the work to the packages below.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt"
)

// The exit codes.
const (
	exitGood    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitInvalid = 3 // ran, but a check or the validity gate said no
)

// commands is the whole command line.
type commands struct {
	Run       runCommand       `cmd:"" help:"Run a study and write its report."`
	Plan      planCommand      `cmd:"" help:"Show what a study would run, how long it takes and how much disk it needs; starts nothing."`
	Resume    resumeCommand    `cmd:"" help:"Run what is missing in a result directory, then write its report."`
	Report    reportCommand    `cmd:"" help:"Analyse a result directory again and write or print its report."`
	Compare   compareCommand   `cmd:"" help:"Say whether the results of two or more runs differ, and by how much."`
	History   historyCommand   `cmd:"" help:"Follow the throughput of a study over many runs and find where it changed."`
	List      listCommand      `cmd:"" help:"List workloads, engines, providers and ready-made studies."`
	Doctor    doctorCommand    `cmd:"" help:"Tell what this machine can and cannot do, each with the remedy."`
	Clean     cleanCommand     `cmd:"" help:"Remove what runs that were killed left on this machine."`
	Calibrate calibrateCommand `cmd:"" help:"Fit a model of this machine to the results of real trials: a host file to plan with."`
	Whatif    whatifCommand    `cmd:"" help:"Ask a model of a host what a configuration would do: how many instances fit, what size is right; simulated."`
	Replay    replayCommand    `cmd:"" help:"Calculate the published studies again on a model of their hosts; simulated."`
	Schema    schemaCommand    `cmd:"" help:"Print the JSON Schema of study files, for editors."`
	Version   versionCommand   `cmd:"" help:"Print the version."`

	Cache string `help:"Directory for server programs, golden states and instances. Default: ${cache}" env:"LOADSTONE_CACHE" placeholder:"DIR"`
}

// env is what a command works with.
type env struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	clock          clock.Clock
	cache          string
}

// invalidError is a result that the checks or the gate refuse.
type invalidError struct{ error }

// usageError is a mistake in what the user wrote.
type usageError struct{ error }

// Main runs the command in args (without the program's name) and returns the
// exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	// Virtual machines, and what stands on the host for commands in them, are
	// started with this program.
	if code, ok := libvirt.Hidden(args); ok {
		return code
	}
	ctx, stop := untilInterrupted(stderr)
	defer stop()
	var c commands
	code := -1
	parser, err := kong.New(&c,
		kong.Name("loadstone"),
		kong.Description(description),
		kong.Writers(stdout, stderr),
		kong.Exit(func(n int) { code = n }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Vars{"cache": defaultCache()},
	)
	if err != nil {
		panic(err) // our own grammar
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if code >= 0 { // --help has been printed
		return code
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "loadstone: %v\nTry 'loadstone --help'.\n", err)
		return exitUsage
	}
	e := &env{ctx: ctx, stdin: os.Stdin, stdout: stdout, stderr: stderr, clock: clock.Real{}, cache: c.Cache}
	if e.cache == "" {
		e.cache = defaultCache()
	}
	return e.exit(parsed.Run(e))
}

const description = `Characterize databases on the machines they run on.

A study file says what to vary; Loadstone provisions the database instances, loads and restores them, drives standard workloads, watches every counter on one clock, and writes a report in which each figure leads back to its raw data.

Examples:
  loadstone run quickstart              a first study: three minutes, then a report
  loadstone plan studies/quickstart.yaml
  loadstone report results/quickstart-20260102-150405 --format text
  loadstone doctor`

// exit prints err and chooses the exit code.
func (e *env) exit(err error) int {
	var invalid invalidError
	var usage usageError
	switch {
	case err == nil:
		return exitGood
	case errors.As(err, &invalid):
		_, _ = fmt.Fprintln(e.stderr, "loadstone:", err)
		return exitInvalid
	case errors.As(err, &usage):
		_, _ = fmt.Fprintln(e.stderr, err)
		return exitUsage
	default:
		_, _ = fmt.Fprintln(e.stderr, "loadstone:", err)
		return exitFailed
	}
}

// printf writes for people; a closed pipe is not worth an error.
func (e *env) printf(format string, args ...any) { _, _ = fmt.Fprintf(e.stdout, format, args...) }

// json writes v for programs.
func (e *env) json(v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// defaultCache is where an unprivileged server can reach its files: root's
// home is closed to it.
func defaultCache() string {
	if os.Getuid() == 0 {
		return "/var/cache/loadstone"
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(os.TempDir(), fmt.Sprintf("loadstone-%d", os.Getuid()))
	}
	return filepath.Join(dir, "loadstone")
}
