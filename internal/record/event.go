package record

// Event is something that happened to an instance while load ran on it, as
// the study asked. Times are seconds since the epoch.
type Event struct {
	Instance int     `json:"instance"` // from 1: its place among Trial.Instances
	Do       string  `json:"do"`       // "set", "migrate", "move-storage"
	Asked    string  `json:"asked"`    // in words: "set instance.cpus = 0.5"
	DueS     float64 `json:"due_s"`    // when it was to begin
	BeginS   float64 `json:"begin_s"`
	EndS     float64 `json:"end_s"`
	// DowntimeS is how long the instance stood still, as the hypervisor tells,
	// and Bytes what was moved; both 0 where nothing moved.
	DowntimeS float64 `json:"downtime_s,omitempty"`
	Bytes     int64   `json:"bytes,omitempty"`
	// Set are the limits that were changed, read back when they were in force.
	Set []Knob `json:"set,omitempty"`
}
