package report

import "github.com/loadstone-perf/loadstone/internal/analyse"

const attack = `"'><script>window.owned=1</script><img src=x onerror="window.owned=1"></svg></title></style>{{.}} &amp; ]]> ` + "\x1b[31m\x00\x07\u202e"

// hostile is an ordinary study in which every text from outside is an attack.
func hostile() *analyse.Study {
	s := quickstart()
	for _, p := range []*string{&s.Name, &s.Question, &s.Answer, &s.Loadstone, &s.Metric.Name, &s.Metric.Short, &s.Source,
		&s.Limit.Resource, &s.Limit.Summary, &s.Curve.Knob, &s.Curve.Lines[0].Label, &s.Curve.Lines[0].Saturation, &s.Curve.Lines[0].Model.Warning} {
		*p += attack
	}
	s.Notes, s.Factors, s.Limit.Evidence = []string{attack}, []string{attack}, []string{attack}
	s.Machine, s.System = []analyse.Fact{{Name: attack, Value: attack}}, []analyse.Fact{{Name: attack, Value: attack}}
	s.Settings = append(s.Settings, analyse.Knob{Name: attack, Intended: attack, Effective: attack, Default: attack, Why: attack})
	for i := range s.Cells {
		cl := &s.Cells[i]
		cl.Label += attack
		cl.Factors[0].Knob = s.Curve.Knob
		cl.Throughput.Method += attack
		cl.Limit.Resource += attack
		cl.Usage[0].Name, cl.Usage[0].Unit = attack, attack
		for k := range cl.Types {
			cl.Types[k].Type += attack
			cl.Types[k].About += attack
		}
	}
	s.Search = []analyse.Decision{{Base: attack, Knob: attack, Why: attack}, {Base: attack, Done: true, Why: attack}}
	s.Comparisons, s.Sweeps, s.Cells[0].Fairness = varied().Comparisons, scaled().Sweeps, scaled().Cells[s.Peak].Fairness
	s.Comparisons[0].EqualCPU = scaled().Comparisons[0].EqualCPU
	for _, p := range []*string{&s.Comparisons[0].EqualCPU[0].Label, &s.Comparisons[0].EqualCPU[0].Note, &s.Sweeps[1].Knob, &s.Sweeps[1].Lines[0].Label,
		&s.Sweeps[1].Lines[0].Points[0].Text, &s.Sweeps[1].Lines[0].Points[0].Label, &s.Sweeps[1].Lines[0].Fall.From, &s.Cells[0].Fairness.Instances[0].Name} {
		*p += attack
	}
	s.Curve.Lines[0].Stop = &analyse.Stop{Label: attack, Limit: "cpu", Text: attack}
	x := &s.Comparisons[0]
	for _, p := range []*string{&x.Base.Name, &x.Other.Name, &x.Verdict, &x.Unmatched[0], &x.Cells[0].Label, &x.Cells[0].Effects[1].Quantity, &x.Cells[0].Effects[1].Type, &x.Cells[0].Effects[1].Text} {
		*p += attack
	}
	for i := range s.Trials {
		hostileTrial(&s.Trials[i])
	}
	return s
}

func hostileTrial(t *analyse.Trial) {
	for _, p := range []*string{&t.Label, &t.Dir, &t.Reason, &t.Window.Why, &t.RestoreWay, &t.Verified} {
		*p += attack
	}
	t.Warnings = []string{attack}
	t.Gates = append(t.Gates, analyse.Gate{Name: attack, Found: attack, Want: attack})
	t.Checks = append(t.Checks, analyse.Check{Name: attack, About: attack, Found: attack, Want: attack})
	t.Shape = append(t.Shape, analyse.Knob{Name: attack, Intended: attack, Effective: attack, Why: attack})
	t.Settings = append(t.Settings, analyse.Knob{Name: attack, Effective: attack, Why: attack})
	for k := range t.Waits {
		t.Waits[k].State += attack
	}
	for k := range t.Timeline.Tracks {
		tr := &t.Timeline.Tracks[k]
		tr.Name += attack
		if k%2 == 0 {
			tr.Unit += attack
		}
		if tr.Group == "network" {
			tr.Group += "../../" + attack
		}
	}
}
