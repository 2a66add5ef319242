package replay

import "context"

// Debug is temporary.
func (s *Study) Debug(x *Experiment, hosts Hosts) map[string]float64 {
	out, err := s.run(context.Background(), x, hosts, s.values(s.start(), s.assumed()), 1)
	if err != nil {
		panic(err)
	}
	return out
}
