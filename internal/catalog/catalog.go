// Package catalog is the one place that lists what this build offers. Adding
// a workload, an engine or a provider adds its folder and one line here.
package catalog

import (
	"errors"

	"github.com/loadstone-perf/loadstone/internal/engine"
	"github.com/loadstone-perf/loadstone/internal/engine/mysql"
	"github.com/loadstone-perf/loadstone/internal/engine/postgres"
	"github.com/loadstone-perf/loadstone/internal/engine/sqlite"
	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/container"
	"github.com/loadstone-perf/loadstone/internal/provider/libvirt"
	"github.com/loadstone-perf/loadstone/internal/provider/native"
	"github.com/loadstone-perf/loadstone/internal/provider/twin"
	"github.com/loadstone-perf/loadstone/internal/study"
	"github.com/loadstone-perf/loadstone/internal/unit"
	"github.com/loadstone-perf/loadstone/internal/workload"
	"github.com/loadstone-perf/loadstone/internal/workload/brokerage"
	"github.com/loadstone-perf/loadstone/internal/workload/dvdstore"
	"github.com/loadstone-perf/loadstone/internal/workload/orderentry"
)

// Workloads are the workloads that a study can name.
func Workloads() []workload.Kind {
	return []workload.Kind{
		dvdstore.Kind(),
		orderentry.Kind(),
		brokerage.Kind(),
	}
}

// Engine is an engine that a study can name.
type Engine struct {
	Name, About string
	New         func() engine.Engine
}

// Engines are the database products that a study can name.
func Engines() []Engine {
	return []Engine{
		{"postgres", "PostgreSQL: the server on this machine, else fetched binaries", postgres.New},
		{"mysql", "MariaDB, or else MySQL: the server on this machine", mysql.New},
		{"sqlite", "SQLite: built in, inside Loadstone's own process; no procedures", sqlite.New},
	}
}

// Provider is a provider that a study can name.
type Provider struct {
	Name, About string
	New         func() provider.Provider
	WholeCPUs   bool // its instances have whole CPUs only
	Params      []unit.Param
}

// Providers are the places where instances can live.
func Providers() []Provider {
	return []Provider{
		{"native", "this machine itself, each instance in a control group of its own", native.New, false, nil},
		{"container", "a container each instance, with this machine's own programs or an image", container.New, false, nil},
		{"libvirt", "a virtual machine each instance, by libvirt and QEMU: with KVM, else emulated and slow", libvirt.New, true, nil},
		{twin.Name, "a model of a host, on which everything is calculated and marked SIMULATED", twin.None, false, twin.Params()},
	}
}

// Known is the catalogue as study files see it.
func Known() study.Known {
	k := study.Known{Fit: newFit()}
	for _, w := range Workloads() {
		k.Workloads = append(k.Workloads, study.Offer{Name: w.Name, About: w.About, Params: w.Params, Types: types(w), Size: sizes()[w.Name].param, SizeStep: sizes()[w.Name].step, Check: func(v unit.Values) error {
			_, err := w.New(v, 1)
			return err
		}})
	}
	for _, e := range Engines() {
		k.Engines = append(k.Engines, study.Offer{Name: e.Name, About: e.About, Endpoint: endpoint(e.New())})
	}
	for _, p := range Providers() {
		k.Providers = append(k.Providers, study.Offer{Name: p.Name, About: p.About, Params: p.Params, Check: complete(p), WholeCPUs: p.WholeCPUs, Events: happenings(p.New())})
	}
	return k
}

// complete finds parameters of a provider that may not be left out.
func complete(p Provider) func(unit.Values) error {
	return func(v unit.Values) error {
		if p.Name == twin.Name && v.Text("host") == "" {
			return errors.New("provider twin needs a host: a file such as hosts/r920.yaml, or the name of one that comes with the program")
		}
		return nil
	}
}

// size is the parameter that says how much data a workload has, and of what it
// must be a multiple.
type size struct {
	param string
	step  int64
}

// sizes are those of the workloads, by name.
func sizes() map[string]size {
	return map[string]size{"dvdstore": {"size", 1}, "orderentry": {"warehouses", 1}, "brokerage": {"customers", 1000}}
}

// endpoint checks the URL of a running server; nil for an engine that can't be
// attached to one.
func endpoint(e engine.Engine) func(url string) error {
	a, ok := e.(engine.Attacher)
	if !ok {
		return nil
	}
	return func(url string) error {
		_, err := a.Address(url)
		return err
	}
}

// types are the names that a study's response limits may use: those of the
// workload's transactions, with the defaults of its parameters, and its unit.
func types(w workload.Kind) []string {
	v, err := unit.NewValues(w.Params, nil)
	if err != nil {
		panic("catalog: " + w.Name + ": " + err.Error())
	}
	d, err := w.New(v, 1)
	if err != nil {
		panic("catalog: " + w.Name + ": " + err.Error())
	}
	var names []string
	for _, t := range d.Transactions {
		names = append(names, t.Name)
	}
	if d.Unit != "" {
		names = append(names, d.Unit)
	}
	return names
}
