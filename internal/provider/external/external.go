// Package external is the place of a database server that runs already: it
// makes nothing, confines nothing and removes nothing. Its instances are no
// machines, since no program of Loadstone's runs in them; they only tell where
// the server is, for the record.
package external

import (
	"context"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// Name is the provider's name in records. A study does not name it: it names
// an endpoint.
const Name = "external"

// Server is what is known of the server.
type Server struct {
	Where      string // "db.example.com:5432", or the path of a socket
	User       string
	Encryption string // "none", "TLS 1.3, certificate and host name verified"
	// Unobserved is why the host's counters are not about the server, "" where
	// it runs on this machine and they are.
	Unobserved string
}

// New returns the provider of instances on s.
func New(s Server) provider.Provider { return place{s} }

type place struct{ server Server }

// Name implements provider.Provider.
func (place) Name() string { return Name }

// Check implements provider.Provider: each knob of a shape is a problem.
func (place) Check(_ context.Context, s provider.Shape) (problems []provider.Problem) {
	for _, k := range []struct {
		name  string
		asked bool
	}{
		{"instance.cpus", s.CPUs != 0}, {"instance.cpuset", s.CPUSet != ""}, {"instance.mems", s.Mems != ""},
		{"instance.memory", s.Memory != 0}, {"instance.cpu_shares", s.CPUShares != 0},
		{"instance.disk_read", s.ReadBytesPS != 0}, {"instance.disk_write", s.WriteBytesPS != 0},
		{"instance.disk_read_ops", s.ReadOpsPS != 0}, {"instance.disk_write_ops", s.WriteOpsPS != 0},
		{"instance.cpu_reservation", s.Reservation != 0}, {"instance.topology", s.Topology != provider.Topology{}},
		{"instance.vnuma", s.VirtualNUMA != 0}, {"instance.large_pages", s.LargePages != ""},
		{"instance.latency", s.LatencySensitivity != ""},
		{"instance.disk_adapter", s.DiskAdapter != ""}, {"instance.network_adapter", s.NetworkAdapter != ""},
		{"instance.data_volume", s.DataVolume != ""}, {"instance.log_volume", s.LogVolume != ""},
	} {
		if k.asked {
			problems = append(problems, provider.Problem{
				Knob: k.name, Reason: "a server that runs already can't be confined",
				Remedy: "leave " + k.name + " out, or let Loadstone start a server (provider instead of engine.endpoint)",
			})
		}
	}
	return problems
}

// Provision implements provider.Provider.
func (p place) Provision(_ context.Context, _ provider.Request) (provider.Instance, error) {
	return instance(p), nil
}

// instance is a place that needs no making.
type instance struct{ server Server }

// Close implements provider.Instance: there is nothing to remove.
func (instance) Close(context.Context) error { return nil }

// Effective implements provider.Shaped: where the server is, as found.
func (i instance) Effective(context.Context) ([]provider.Knob, error) {
	host := "observed: the server runs on this machine"
	if i.server.Unobserved != "" {
		host = "not observed: " + i.server.Unobserved
	}
	return []provider.Knob{
		{Name: "endpoint.address", Effective: i.server.Where, Matches: true},
		{Name: "endpoint.user", Effective: i.server.User, Matches: true},
		{Name: "endpoint.encryption", Effective: i.server.Encryption, Matches: true},
		{Name: "endpoint.host", Effective: host, Matches: true},
	}, nil
}
