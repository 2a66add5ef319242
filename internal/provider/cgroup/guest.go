//go:build linux

package cgroup

import (
	"fmt"
	"os"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// Confines says whether s limits what an instance may use, or only says where
// its files lie and which pages its buffers have.
func Confines(s provider.Shape) bool {
	s.DataVolume, s.LogVolume, s.LargePages = "", "", ""
	return s != provider.Shape{}
}

// checkGuest refuses what only virtual machines have: an instance without it
// would not be what was asked for.
func checkGuest(s provider.Shape, add func(knob, reason, remedy string)) {
	const remedy = "leave it out, or choose a provider of virtual machines"
	for _, k := range []struct {
		knob   string
		asked  bool
		reason string
	}{
		{"instance.cpu_reservation", s.Reservation != 0, "control groups share CPUs out by weight (instance.cpu_shares) and keep none for anybody"},
		{"instance.topology", s.Topology != provider.Topology{}, "the instance sees this machine's own sockets, cores and threads"},
		{"instance.vnuma", s.VirtualNUMA != 0, "the instance sees this machine's own NUMA nodes; instance.mems chooses among them"},
		{"instance.latency", s.LatencySensitivity != "", "there is no hypervisor between the instance and the machine"},
		{"instance.disk_adapter", s.DiskAdapter != "", "the instance has the machine's own file systems and no disk adapter"},
		{"instance.network_adapter", s.NetworkAdapter != "", "the instance has no network adapter"},
		{"instance.large_pages", s.LargePages == provider.LargePagesGuest || s.LargePages == provider.LargePagesBoth, "there is no guest: " + provider.LargePagesHost + " is about the database's buffers here"},
	} {
		if k.asked {
			add(k.knob, k.reason, remedy)
		}
	}
	if s.LargePages == provider.LargePagesHost {
		checkPages(add)
	}
	for _, v := range []struct{ knob, dir string }{{"instance.data_volume", s.DataVolume}, {"instance.log_volume", s.LogVolume}} {
		if v.dir == "" {
			continue
		}
		if st, err := os.Stat(v.dir); err != nil {
			add(v.knob, err.Error(), "make the directory, on the file system that is meant")
		} else if !st.IsDir() {
			add(v.knob, v.dir+" is no directory", "name a directory on the file system that is meant")
		}
	}
}

// checkPages looks whether the machine has large pages at all; how many a
// server needs, only its start tells.
func checkPages(add func(knob, reason, remedy string)) {
	var total, kib int64
	err := readMeminfo(map[string]*int64{"HugePages_Total:": &total, "Hugepagesize:": &kib})
	if err == nil && total > 0 {
		return
	}
	remedy := "this kernel has none"
	if kib > 0 {
		remedy = fmt.Sprintf("reserve as many pages of %d kB as all servers' buffers have: sysctl -w vm.nr_hugepages=N", kib)
	}
	add("instance.large_pages", "the machine has reserved no large pages", remedy)
}
