package dbms

import (
	"testing"

	"github.com/loadstone-perf/loadstone/internal/twin/des"
	"github.com/loadstone-perf/loadstone/internal/twin/host"
)

// TestTheHypervisorWorksOnIdleThreadsElseInTheGuestsTime has transactions of a
// millisecond and one packet each way, for each of which the hypervisor works
// a quarter of a millisecond: free where a thread idles, dear where none does.
func TestTheHypervisorWorksOnIdleThreadsElseInTheGuestsTime(t *testing.T) {
	rate := func(cores int) (perSecond, kernel float64) {
		r := &rig{t: t, sim: des.New(5)}
		r.sys = New(r.sim, machine(cores), host.Scheduler{}, func(d Done) { r.done = append(r.done, d) })
		for _, c := range []host.Client{{Name: "g", CPUs: 1}, {Name: "kernel", CPUs: cores, Loose: true}} {
			if _, err := r.sys.AddGuest(0, c); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.sys.AddInstance(Config{Name: "i", Kernel: 2, Database: oneClass(1e6), NIC: "lan", DataStore: "data", LogStore: "log",
			Costs: Costs{HostPacket: 125_000}, Load: Load{Users: 4}}); err != nil {
			t.Fatal(err)
		}
		perSecond = r.rate(4)
		return perSecond, float64(r.sys.GuestUsage(1).Run) / float64(r.sim.Now())
	}
	if perSecond, kernel := rate(2); perSecond < 995 || perSecond > 1001 || kernel < 0.245 || kernel > 0.255 {
		t.Errorf("beside an idle core %g a second, the hypervisor's share %g; want 1000 and 0.25", perSecond, kernel)
	}
	if perSecond, kernel := rate(1); perSecond < 790 || perSecond > 810 || kernel > 0.01 {
		t.Errorf("on one core %g a second, the kernel guest's share %g; want 800 and none", perSecond, kernel)
	}
}
