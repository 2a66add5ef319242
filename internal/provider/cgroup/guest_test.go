//go:build linux

package cgroup

import (
	"os"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// TestWhatOnlyGuestsHaveIsRefusedWithItsReason asks for each knob alone.
func TestWhatOnlyGuestsHaveIsRefusedWithItsReason(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for knob, s := range map[string]provider.Shape{
		"instance.cpu_reservation": {Reservation: 0.5},
		"instance.topology":        {Topology: provider.Topology{Sockets: 1, Cores: 1, Threads: 2}},
		"instance.vnuma":           {VirtualNUMA: 1},
		"instance.latency":         {LatencySensitivity: "normal"},
		"instance.disk_adapter":    {DiskAdapter: "virtio-blk"},
		"instance.network_adapter": {NetworkAdapter: "e1000"},
		"instance.large_pages":     {LargePages: provider.LargePagesGuest},
		"instance.data_volume":     {DataVolume: "/no/such/volume"},
		"instance.log_volume":      {LogVolume: file},
	} {
		found := Room{}.Check(s)
		if len(found) != 1 || found[0].Knob != knob || found[0].Reason == "" || found[0].Remedy == "" {
			t.Errorf("%s: %+v; want one problem, with reason and remedy", knob, found)
		}
	}
	if found := (Room{}).Check(provider.Shape{DataVolume: t.TempDir(), LogVolume: t.TempDir(), LargePages: provider.LargePagesOff}); len(found) > 0 {
		t.Errorf("what can be had is refused: %+v", found)
	}
}

// TestLargePagesNeedReservedOnes holds the check to what the machine says.
func TestLargePagesNeedReservedOnes(t *testing.T) {
	none := hugePagesKnob().Effective == "none reserved"
	found := Room{}.Check(provider.Shape{LargePages: provider.LargePagesHost})
	if none != (len(found) == 1 && found[0].Knob == "instance.large_pages" && strings.Contains(found[0].Remedy, "nr_hugepages")) {
		t.Errorf("none reserved: %v; problems %+v", none, found)
	}
}

func TestOnlyWhatLimitsAnInstanceConfinesIt(t *testing.T) {
	if Confines(provider.Shape{DataVolume: "/a", LogVolume: "/b", LargePages: "off"}) || Confines(provider.Shape{}) {
		t.Error("places of files were taken for limits")
	}
	if !Confines(provider.Shape{DataVolume: "/a", CPUShares: 2}) {
		t.Error("a limit was taken for none")
	}
}
