package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/provider/external"
	"github.com/loadstone-perf/loadstone/internal/record"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/trial"
	"github.com/loadstone-perf/loadstone/internal/workload"
)

// attachBound is how long looking at a running server may take.
const attachBound = 60 * time.Second

// mostPassword bounds a file with a password.
const mostPassword = 4096

// endpoint is the server that the study measures; its URL is "" where
// Loadstone starts servers.
func (j *job) endpoint() study.Endpoint { return j.plan.Study.Base.Endpoint }

// attach connects to the study's server and looks at it; nothing is changed
// there. What stands in the way is in j.missing.
func (j *job) attach(e *env) {
	j.server, j.missing = nil, nil
	attacher, ok := j.engine.(engine.Attacher)
	if !ok {
		j.missing = fmt.Errorf("%s can't be measured where it runs already", j.engine.Name())
		return
	}
	at := j.endpoint()
	password, err := readPassword(at)
	if err != nil {
		j.missing = err
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, attachBound)
	defer cancel()
	if j.server, j.missing = attacher.Attach(ctx, engine.Endpoint{URL: at.URL, Password: password, Version: j.plan.Study.Base.Version}); j.missing != nil {
		return
	}
	a := j.server.About()
	j.provider = external.New(external.Server{Where: a.Address.Where, User: a.Address.User, Encryption: a.Address.Encryption, Unobserved: a.NotHere})
}

// detach ends the connections to the study's server, if there is one.
func (j *job) detach() {
	if j.server != nil {
		_ = j.server.Close() // it runs on, and nothing is left to do there
	}
}

// readPassword reads the password from where the study says. The errors name
// the place and never what was found there.
func readPassword(at study.Endpoint) (engine.Secret, error) {
	switch {
	case at.PasswordEnv != "":
		text, ok := os.LookupEnv(at.PasswordEnv)
		if !ok {
			return "", fmt.Errorf("the environment has no variable %s (engine.password_env)", at.PasswordEnv)
		}
		return engine.Secret(text), nil
	case at.PasswordFile != "":
		text, err := os.ReadFile(at.PasswordFile)
		if err != nil {
			return "", fmt.Errorf("engine.password_file: %w", err)
		}
		if len(text) > mostPassword {
			return "", fmt.Errorf("engine.password_file: %s has %d bytes: that is no password", at.PasswordFile, len(text))
		}
		return engine.Secret(strings.TrimRight(string(text), "\r\n")), nil
	}
	return "", nil
}

// foreignProblems lists what stands in the way of measuring the study's
// server.
func (j *job) foreignProblems(e *env) (all []problem) {
	if j.missing != nil {
		return []problem{{j.missing.Error(), "check engine.endpoint and the password, and that the server lets this machine in"}}
	}
	ctx, cancel := context.WithTimeout(e.ctx, attachBound)
	defer cancel()
	a := j.server.About()
	for _, c := range j.configs() {
		defs, err := trial.Definitions(j.kind, c)
		if err != nil {
			continue // newJob saw the error
		}
		if n := trial.Sessions(c, defs); n > a.Free {
			all = append(all, problem{fmt.Sprintf("%d sessions are needed at %s, where %d are free", n, a.Address.Where, max(a.Free, 0)), "fewer users or connections, or raise the server's max_connections"})
		}
	}
	settings, err := j.server.Settings(ctx, j.plan.Study.Base.Settings)
	if err != nil {
		return append(all, problem{err.Error(), "leave the setting out of the study"})
	}
	for _, s := range settings {
		if !s.Matches {
			all = append(all, problem{
				fmt.Sprintf("engine.settings.%s: %s was asked for, and the server at %s runs with %s", s.Name, s.Intended, a.Address.Where, orNothing(s.Effective)),
				"Loadstone does not alter a server that it did not start: change it there, or leave the setting out",
			})
		}
	}
	return append(all, j.goldenProblems(ctx)...)
}

func orNothing(value string) string {
	if value == "" {
		return "no such setting"
	}
	return value
}

// goldenProblems looks whether the data is there, or may be made.
func (j *job) goldenProblems(ctx context.Context) (all []problem) {
	load := j.endpoint().Load
	keep, keeps := j.server.(engine.Keeper)
	if load && !keeps {
		return []problem{{j.engine.Name() + " can't keep golden states on a server that runs already", "leave engine.load out and name a database that Loadstone loaded"}}
	}
	if a := j.server.About(); load && !a.MayCreate {
		return []problem{{fmt.Sprintf("user %s may not make databases at %s", a.Address.User, a.Address.Where), "ALTER ROLE … CREATEDB, or another user"}}
	}
	for _, d := range j.definitions() {
		var err error
		if load {
			_, _, err = keep.Find(ctx, d)
		} else {
			err = j.useful(ctx, d)
		}
		if err != nil {
			all = append(all, problem{err.Error(), "see 'An existing server' in the guide (endpoint.md)"})
		}
	}
	return all
}

// useful says why the endpoint's own database can't be measured with d.
func (j *job) useful(ctx context.Context, d *workload.Definition) error {
	db, _, err := j.server.Use(ctx, d, engine.Config{})
	if err != nil {
		return err
	}
	return db.Stop(ctx)
}

// definitions are the workloads of all configurations, each data once.
func (j *job) definitions() (out []*workload.Definition) {
	seen := map[string]bool{}
	for _, c := range j.configs() {
		defs, _ := trial.Definitions(j.kind, c) // newJob saw the error
		for _, d := range defs {
			if !seen[d.DataKey] {
				seen[d.DataKey] = true
				out = append(out, d)
			}
		}
	}
	return out
}

// serverText tells of the study's server in a line.
func (j *job) serverText() string {
	if j.server == nil {
		return "not reached"
	}
	a := j.server.About()
	text := fmt.Sprintf("%s %s, running already at %s as %s, encryption: %s", j.engine.Name(), a.Version, a.Address.Where, a.Address.User, a.Address.Encryption)
	if a.Here {
		return text + ", on this machine"
	}
	return text + "; host counters not observed: " + a.NotHere
}

// seenFrom is the machine as the record of a study with an endpoint has it:
// where the server is elsewhere, only what is true of the driver's machine and
// can't be taken for the server's. Its disk is not the database's in any case.
func (j *job) seenFrom(m record.Machine) record.Machine {
	if j.server == nil {
		return m
	}
	m.Disk = record.Disk{}
	if a := j.server.About(); !a.Here {
		m.Host += " (drives the load; the machine of the server at " + a.Address.Where + " was not observed)"
		m.MemBytes, m.SwapBytes = 0, 0
	}
	return m
}

// aboutStudy tells how a study finds its server: one line for the server, one
// for the data, or one for each problem.
func aboutStudy(e *env, name string) ([]finding, error) {
	file, source, err := readStudy(name)
	if err != nil {
		return nil, err
	}
	j, err := newJob(e, file, source, study.Size{})
	if err != nil {
		return nil, err
	}
	if j.endpoint().URL == "" {
		return nil, usageError{errors.New("loadstone: " + name + " names no engine.endpoint: 'loadstone plan' tells what it needs")}
	}
	j.attach(e)
	defer j.detach()
	var all []finding
	if j.server != nil {
		all = append(all, finding{State: ok, What: "endpoint", Found: j.serverText()})
		if a := j.server.About(); a.MayCreate && !j.endpoint().Load {
			all = append(all, finding{State: note, What: "endpoint's data", Found: "not restored before each repeat", Remedy: "engine.load: allowed lets Loadstone make databases of its own there"})
		}
	}
	for _, p := range j.foreignProblems(e) {
		all = append(all, finding{missing, "endpoint", p.What, p.Remedy, true})
	}
	return all, nil
}
