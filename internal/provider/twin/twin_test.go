package twin_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/twin"
	"github.com/loadstone-perf/loadstone/internal/unit"
)

func values(t *testing.T, texts map[string]string) unit.Values {
	t.Helper()
	v, err := unit.NewValues(twin.Params(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func of(t *testing.T, texts map[string]string) *twin.Twin {
	t.Helper()
	p, err := twin.New(values(t, texts))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Every knob of a shape is either in the model or refused by its name: none is
// ignored.
func TestWhatTheModelLacksIsRefusedByName(t *testing.T) {
	knobs := map[string]provider.Shape{
		"instance.cpus": {CPUs: 4}, "instance.cpuset": {CPUSet: "0-3"}, "instance.mems": {Mems: "0"},
		"instance.memory": {Memory: unit.GiB}, "instance.cpu_shares": {CPUShares: 512},
		"instance.disk_read": {ReadBytesPS: 1}, "instance.disk_write": {WriteBytesPS: 1},
		"instance.disk_read_ops": {ReadOpsPS: 1}, "instance.disk_write_ops": {WriteOpsPS: 1},
		"instance.cpu_reservation": {CPUs: 4, Reservation: 1}, "instance.topology": {Topology: provider.Topology{Sockets: 1, Cores: 2, Threads: 2}},
		"instance.vnuma": {CPUs: 4, VirtualNUMA: 2}, "instance.large_pages": {LargePages: "both"}, "instance.latency": {LatencySensitivity: "high"},
		"instance.disk_adapter": {DiskAdapter: "pvscsi"}, "instance.network_adapter": {NetworkAdapter: "e1000"},
		"instance.data_volume": {DataVolume: "/x"}, "instance.log_volume": {LogVolume: "/x"},
	}
	process := []string{"instance.cpus", "instance.cpuset", "instance.memory", "instance.cpu_shares"}
	machine := append([]string{"instance.cpu_reservation", "instance.vnuma", "instance.large_pages", "instance.latency"}, process...)
	for like, has := range map[string][]string{"native": process, "container": process, "libvirt": machine} {
		p := of(t, map[string]string{"host": "r920", "like": like})
		for knob, shape := range knobs {
			problems := p.Check(t.Context(), shape)
			if refused := slices.ContainsFunc(problems, func(x provider.Problem) bool { return x.Knob == knob && x.Remedy != "" }); refused == slices.Contains(has, knob) || len(problems) > 1 {
				t.Errorf("%s, %s: problems %+v", like, knob, problems)
			}
			inst, err := p.Provision(t.Context(), provider.Request{Name: "i", Shape: shape})
			if (err == nil) != (len(problems) == 0) {
				t.Errorf("%s, %s: provisioned with error %v, and there are problems %v", like, knob, err, problems)
			}
			if err != nil {
				continue
			}
			got, err := inst.(provider.Shaped).Effective(t.Context())
			i := slices.IndexFunc(got, func(k provider.Knob) bool { return k.Name == knob })
			if err != nil || i < 0 || got[i].Intended == "" || got[i].Effective != got[i].Intended || !got[i].Matches {
				t.Errorf("%s: %s reads back as %+v: %v", like, knob, got, err)
			}
			if err := inst.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWhatTheHostIsTooSmallForIsRefused(t *testing.T) {
	for knob, shape := range map[string]provider.Shape{
		"instance.cpus": {CPUs: 121}, "instance.memory": {Memory: 2 * unit.TiB}, "instance.vnuma": {CPUs: 5, VirtualNUMA: 2},
		"instance.cpu_reservation": {CPUs: 100, Reservation: 61},
	} {
		problems := of(t, map[string]string{"host": "r920", "like": "libvirt"}).Check(t.Context(), shape)
		if len(problems) != 1 || problems[0].Knob != knob {
			t.Errorf("%+v: %+v", shape, problems)
		}
	}
	if problems := of(t, map[string]string{"host": "r920", "like": "libvirt"}).Check(t.Context(), provider.Shape{CPUs: 1.5}); len(problems) != 1 {
		t.Errorf("a machine of one and a half CPUs: %v", problems)
	}
}

func TestHostsAreFilesOrThoseOfTheProgram(t *testing.T) {
	dir := t.TempDir()
	_, source, err := twin.Read("hosts/r920.yaml")
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "mine.yaml")
	text := strings.Replace(string(source), "host: r920", "host: mine", 1)
	if err := os.WriteFile(mine, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"r920": "r920", "r920.yaml": "r920", "elsewhere/r920.yaml": "r920", mine: "mine"} {
		p := of(t, map[string]string{"host": name})
		if got := p.Model().Host.Name; got != want {
			t.Errorf("%s is host %q, want %q", name, got, want)
		}
	}
	if err := os.WriteFile(mine, []byte(strings.Replace(text, "sockets: 4", "sockets: four", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{mine: mine + ":", "nobody": "nor a host of that name", "": "needs a host file"} {
		if _, err := twin.New(values(t, map[string]string{"host": name})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("host %q: error %v, want one with %q", name, err, want)
		}
	}
	if _, err := twin.New(values(t, map[string]string{"host": "r920", "data": "tape"})); err == nil || !strings.Contains(err.Error(), "tape") {
		t.Errorf("a store that there is not: %v", err)
	}
	if problems := twin.None().Check(t.Context(), provider.Shape{}); len(problems) != 1 {
		t.Errorf("no host: %v", problems)
	}
}
