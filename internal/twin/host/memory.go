package host

// PageSize is the size of the pages that back a database's memory.
type PageSize uint8

// The page sizes.
const (
	SmallPages PageSize = iota
	LargePages
)

// PageCosts are what a miss of the translation buffer costs in nanoseconds at
// nominal speed, by page size: t_guest in the guest's (or the only) tables and
// t_host in the hypervisor's. Calibration finds them.
type PageCosts struct{ Guest, Host [2]float64 }

// Walk is the time of one miss, t_guest[guest] + t_host[host], in nanoseconds.
func (p PageCosts) Walk(guest, host PageSize) float64 { return p.Guest[guest] + p.Host[host] }
