package study

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// Size is how large a machine is, as far as scaling goes.
type Size struct {
	CPUs   float64
	Memory unit.Bytes
}

// String writes s for people: "120 CPUs and 1 TiB".
func (s Size) String() string {
	name := "CPUs"
	if s.CPUs == 1 {
		name = "CPU"
	}
	return fmt.Sprintf("%s %s and %s", strconv.FormatFloat(s.CPUs, 'f', -1, 64), name, s.Memory.Human())
}

// Scale is the `scale:` section, and what became of the file's figures. CPUs,
// also the driver's, reservations, users, rates and connections are multiplied
// by the ratio of the CPUs, memory and those of the engine's settings that are
// sizes by the ratio of the memory, and the size of the data by Data.
type Scale struct {
	From Size // the machine that the file's figures are for
	To   Size // the machine that they were scaled for; zero where it is not known
	Data float64
	// Values are those that were scaled: by knob what the file sets, then what
	// varies, once for each value.
	Values []Scaled
}

// Scaled is one value before and after.
type Scaled struct{ Knob, Original, Value string }

// The least that scaled values may be.
const (
	leastScaledCPUs   = 0.01
	leastScaledMemory = 64 * unit.MiB
)

// scaling is the section scale with the places that faults need.
type scaling struct {
	key     *node // nil where the study has none
	machine bool  // to: machine
	whole   bool  // the provider's instances have whole CPUs
	values  []Scaled
}

func scaleKnobs() []knob {
	const fixed = "all cells are scaled alike"
	cpus := func(name, about string) knob {
		return knob{Param: unit.Param{Name: name, Kind: unit.Float, Min: "0.01", Max: "8192", About: about}, fixed: fixed}
	}
	memory := func(name, about string) knob {
		return knob{Param: unit.Param{Name: name, Kind: unit.Size, Min: "16MiB", Max: "1024TiB", About: about}, fixed: fixed}
	}
	return []knob{
		cpus("scale.from.cpus", "CPUs of the machine that the study's figures are for."),
		memory("scale.from.memory", "Memory of the machine that the study's figures are for."),
		cpus("scale.to.cpus", "CPUs of the machine that the figures are scaled for."),
		memory("scale.to.memory", "Memory of the machine that the figures are scaled for."),
		{Param: unit.Param{Name: "scale.data", About: "Factor for the size of the workload's data, or memory: the ratio of the memory; left out, it stays as it is."},
			also: func(t string) error {
				if t == "" || t == asMemory {
					return nil
				}
				_, err := parseRatio(t)
				return err
			},
			shape: "a ratio such as 1/1000, more than 0 and at most 1, or " + asMemory, pattern: dataPattern, fixed: fixed},
	}
}

const (
	ratioPattern = `^[1-9][0-9]{0,8} */ *[1-9][0-9]{0,8}$`
	dataPattern  = ratioPattern + "|^" + asMemory + "$"
	asMemory     = "memory" // scale.data: as the memory
	toMachine    = "machine"
	sizesShape   = "a section such as {cpus: 2, memory: 8GiB}"
)

// parseRatio reads a ratio such as 1/1000.
func parseRatio(text string) (float64, error) {
	if !regexp.MustCompile(ratioPattern).MatchString(text) {
		return 0, fmt.Errorf("%q is not a ratio", text)
	}
	a, b, _ := strings.Cut(text, "/")
	r := float(strings.TrimSpace(a)) / float(strings.TrimSpace(b))
	if r > 1 {
		return 0, fmt.Errorf("%s is out of range: at most 1/1", text)
	}
	return r, nil
}

// ParseSize reads the size of a machine as --to has it: "cpus=60,memory=512GiB".
func ParseSize(text string) (Size, error) {
	var s Size
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		k, ok := (&checker{table: scaleKnobs()}).knob("scale.to." + name)
		if !ok {
			return Size{}, fmt.Errorf("%q is not the size of a machine: it looks like cpus=60,memory=512GiB", text)
		}
		if err := k.check(value); err != nil {
			return Size{}, fmt.Errorf("%s: %w: %s", name, err, k.allowed())
		}
		if name == "cpus" {
			s.CPUs = float(value)
		} else {
			s.Memory, _ = unit.ParseBytes(value)
		}
	}
	if s.CPUs == 0 || s.Memory == 0 {
		return Size{}, fmt.Errorf("%q lacks cpus or memory: it looks like cpus=60,memory=512GiB", text)
	}
	return s, nil
}

// readScale reads the section scale into c.base.
func (c *checker) readScale(p pair) {
	c.scale.key = p.key
	if !c.isSection("scale", p) {
		return
	}
	for _, q := range p.value.pairs {
		switch q.key.text {
		case "data":
			c.scalar("scale.data", q)
		case "from":
			c.readSize("scale.from", q)
		case "to":
			if q.value.shape == scalar && q.value.text == toMachine {
				c.scale.machine = true
				continue
			}
			c.readSize("scale.to", q)
		default:
			c.unknown(q.key, "scale", []string{"from", "to", "data"})
		}
	}
}

// readSize reads the section scale.from or scale.to.
func (c *checker) readSize(path string, p pair) {
	allowed := sizesShape
	if path == "scale.to" {
		allowed += ", or " + toMachine
	}
	// The machine was given, if wrongly: nothing more is said of it.
	c.base[path+".cpus"] = entry{p.key, &node{shape: refused, line: p.key.line, column: p.key.column}}
	switch {
	case p.value.shape == refused:
		return
	case p.value.shape == absent || p.value.shape == section && len(p.value.pairs) == 0:
		c.fault(p.key, path+" has nothing in it", allowed)
		return
	case p.value.shape != section:
		c.fault(p.value, path+" is "+p.value.what()+", not a section", allowed)
		return
	}
	delete(c.base, path+".cpus")
	for _, q := range p.value.pairs {
		if !slices.Contains(c.namesIn(path), q.key.text) {
			c.unknown(q.key, path, c.namesIn(path))
			continue
		}
		c.scalar(path+"."+q.key.text, q)
	}
	for _, leaf := range c.namesIn(path) {
		if _, ok := c.base[path+"."+leaf]; !ok {
			c.fault(p.key, fmt.Sprintf("%s has no %q", path, leaf), allowed)
		}
	}
}

// sizeAt is the machine that a section describes; ok is false where it does
// not, or wrongly.
func (c *checker) sizeAt(path string) (s Size, ok bool) {
	cpus, has := c.base[path+".cpus"]
	memory, also := c.base[path+".memory"]
	if !has || !also {
		return s, false
	}
	k1, _ := c.knob(path + ".cpus")
	k2, _ := c.knob(path + ".memory")
	if !c.value(k1, cpus) || !c.value(k2, memory) {
		return s, false
	}
	s.CPUs = float(cpus.value.text)
	s.Memory, _ = unit.ParseBytes(memory.value.text)
	return s, true
}

// rescale replaces the file's figures by those for the machine at hand, or
// returns nil where the study does not ask for it. What can't be scaled is
// reported.
func (c *checker) rescale() *Scale {
	if c.scale.key == nil {
		return nil
	}
	from, ok := c.sizeAt("scale.from")
	if _, given := c.base["scale.from.cpus"]; !given {
		c.faultOnce("no scale.from", c.scale.key, "scale does not say which machine the study's figures are for", "from: {cpus: 120, memory: 1TiB}")
	}
	to, known := c.sizeAt("scale.to")
	switch _, given := c.base["scale.to.cpus"]; {
	case c.scale.machine:
		to, known = c.known.Machine, true
	case !given:
		c.faultOnce("no scale.to", c.scale.key, "scale does not say for which machine the study's figures are scaled", "to: machine, or to: {cpus: 2, memory: 8GiB}")
	}
	if c.known.To != (Size{}) {
		to = c.known.To
	}
	s := &Scale{From: from, To: to, Data: 1}
	if ok && known {
		s.Data = c.dataRatio(*s)
	}
	if !ok || !known {
		return s
	}
	c.scale.whole = c.wholeCPUs()
	for _, path := range paths(c.base) {
		e := c.base[path]
		e.value, _ = c.scaled(*s, path, e.value)
		c.base[path] = e
	}
	for i := range c.axes {
		c.scaleAxis(*s, &c.axes[i])
	}
	s.Values = c.scale.values
	return s
}

// dataRatio is the factor for the workload's data, 1 where it stays.
func (c *checker) dataRatio(s Scale) float64 {
	e, ok := c.base["scale.data"]
	k, _ := c.knob("scale.data")
	switch {
	case !ok || !c.value(k, e):
		return 1
	case e.value.text == asMemory:
		return s.memoryRatio()
	}
	r, _ := parseRatio(e.value.text)
	return r
}

// wholeCPUs says whether a provider that the study names has instances with
// whole CPUs only.
func (c *checker) wholeCPUs() bool {
	for _, o := range c.known.Providers {
		if e, ok := c.base["provider.name"]; ok && e.value.text == o.Name && o.WholeCPUs {
			return true
		}
		_, varies := c.varied["provider.name"]
		if varies && o.WholeCPUs {
			return true
		}
	}
	return false
}

// scaleAxis scales the steps of an axis; two that become the same are a fault.
func (c *checker) scaleAxis(s Scale, a *axis) {
	var right [][]*node
	for i, step := range a.steps {
		next, all := slices.Clone(step), true
		for k, name := range a.knobs {
			var ok bool
			next[k], ok = c.scaled(s, name.text, step[k])
			all = all && ok
		}
		for _, earlier := range right {
			if all && c.equal(a, earlier, next) {
				c.fault(step[0], fmt.Sprintf("%s becomes %s on %s, as does %s in line %d: %s", texts(step), texts(next), s.To, originals(earlier), earlier[0].line, c.keepsApart(s, a, earlier, step)),
					"values that stay apart, or a larger machine")
				a.faulty = true
			}
		}
		a.steps[i] = next
		if a.faulty = a.faulty || !all; all {
			right = append(right, next)
		}
	}
}

// originals are the texts of a step as the file has them.
func originals(step []*node) string {
	out := make([]string, len(step))
	for i, v := range step {
		if out[i] = v.text; v.from != "" {
			out[i] = v.from
		}
	}
	return strings.Join(out, ", ")
}

// keepsApart says on which machine two steps would not become the same: where
// the difference of two values is at least the step in which they are rounded.
func (c *checker) keepsApart(s Scale, a *axis, earlier, later []*node) string {
	for k, name := range a.knobs {
		_, path := inGroup(name.text)
		step := map[string]float64{"users": 1, "connections": 1, "instance.cpus": 0.01, "instance.cpu_reservation": 0.01}[path]
		if ofCPUs(path) && c.scale.whole {
			step = 1
		}
		x, err1 := strconv.ParseFloat(originals(earlier[k:k+1]), 64)
		y, err2 := strconv.ParseFloat(later[k].text, 64)
		if d := math.Abs(x - y); err1 == nil && err2 == nil && d > 0 && step > 0 {
			return fmt.Sprintf("a machine with %s CPUs keeps them apart", roundUp(step*s.From.CPUs/d))
		}
	}
	return fmt.Sprintf("a machine nearer to %s keeps them apart", s.From)
}

// roundUp writes a number of CPUs that is enough.
func roundUp(cpus float64) string { return strconv.FormatFloat(math.Ceil(cpus-1e-9), 'f', -1, 64) }

// scaled is the value v of path as it is on the machine at hand: v itself
// where path is not scaled, where v is wrong anyhow, and where nobody knows
// the machine. ok is false where there is no such value, which is reported.
func (c *checker) scaled(s Scale, path string, v *node) (out *node, ok bool) {
	if v.shape != scalar {
		return v, true
	}
	text, why := c.rule(path)(s, v.text)
	if why != "" {
		c.fault(v, fmt.Sprintf("%s: %s", path, why), "")
		return v, false
	}
	if text == v.text {
		return v, true
	}
	c.scale.values = append(c.scale.values, Scaled{Knob: path, Original: v.text, Value: text})
	next := *v
	next.text, next.from = text, v.text
	return &next, true
}

// ruling scales a text; a text that it can't read stays as it is. why is not ""
// where the result is less than there can be.
type ruling func(s Scale, text string) (out, why string)

// rule is how path is scaled.
func (c *checker) rule(path string) ruling {
	_, rest := inGroup(path)
	searching := c.search.key != nil && (rest == "saturate.from" || rest == "saturate.to")
	if searching {
		rest = c.search.key.text
	}
	switch {
	case strings.HasPrefix(rest, settingsPrefix):
		return scaleSetting
	case rest == "users", rest == "connections":
		return Scale.count
	case rest == "rate":
		return Scale.rate
	case rest == "driver.cpus", c.scale.whole && ofCPUs(rest):
		return Scale.wholeCPUs
	case ofCPUs(rest):
		return Scale.cpus
	case rest == "instance.memory":
		return Scale.memory
	case strings.HasPrefix(rest, "workload."):
		if step := c.dataStep(strings.TrimPrefix(rest, "workload.")); step > 0 {
			return func(s Scale, text string) (string, string) { return s.data(text, step) }
		}
	}
	return func(_ Scale, text string) (string, string) { return text, "" }
}

// ofCPUs says whether a knob is the CPU time of an instance.
func ofCPUs(knob string) bool { return knob == "instance.cpus" || knob == "instance.cpu_reservation" }

// dataStep is of what a workload's parameter that is the size of its data must
// be a multiple; 0 where it is none.
func (c *checker) dataStep(param string) int64 {
	for _, o := range c.known.Workloads {
		if o.Size == param && param != "" {
			return max(1, o.SizeStep)
		}
	}
	return 0
}

// cpuRatio and memoryRatio are 1 where the machine is not known.
func (s Scale) cpuRatio() float64 {
	if s.To.CPUs == 0 {
		return 1
	}
	return s.To.CPUs / s.From.CPUs
}

func (s Scale) memoryRatio() float64 {
	if s.To.Memory == 0 {
		return 1
	}
	return float64(s.To.Memory) / float64(s.From.Memory)
}

// enough says with how many CPUs a value would be at least `least`.
func (s Scale) enough(value, least float64) string {
	return fmt.Sprintf("a machine with %s CPUs is large enough", roundUp(least*s.From.CPUs/value))
}

// count scales users and connections to the nearest whole number.
func (s Scale) count(text string) (string, string) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || s.cpuRatio() == 1 {
		return text, ""
	}
	x := float64(n) * s.cpuRatio()
	if x < 1-1e-9 {
		return "", fmt.Sprintf("%s on %s becomes %.2g on %s, less than 1: %s", text, s.From, x, s.To, s.enough(float64(n), 1))
	}
	return strconv.FormatFloat(math.Round(x), 'f', -1, 64), ""
}

// rate scales a rate to three significant digits.
func (s Scale) rate(text string) (string, string) {
	if _, err := parseRate(text); err != nil || s.cpuRatio() == 1 {
		return text, ""
	}
	count, per, _ := strings.Cut(text, "/")
	return digits(float(strings.TrimSpace(count))*s.cpuRatio(), 3) + "/" + strings.TrimSpace(per), ""
}

// digits writes x with n significant digits and no exponent.
func digits(x float64, n int) string {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', n-1, 64), 64)
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// cpus scales CPUs to hundredths.
func (s Scale) cpus(text string) (string, string) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || s.cpuRatio() == 1 {
		return text, ""
	}
	x := n * s.cpuRatio()
	if x < leastScaledCPUs-1e-9 {
		return "", fmt.Sprintf("%s on %s becomes %.2g on %s, less than %g: %s", text, s.From, x, s.To, leastScaledCPUs, s.enough(n, leastScaledCPUs))
	}
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64), ""
}

// wholeCPUs scales CPUs to the nearest whole number.
func (s Scale) wholeCPUs(text string) (string, string) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || s.cpuRatio() == 1 {
		return text, ""
	}
	x := n * s.cpuRatio()
	if x < 1-1e-9 {
		return "", fmt.Sprintf("%s on %s becomes %.2g on %s, where whole CPUs are needed: %s", text, s.From, x, s.To, s.enough(n, 1))
	}
	return strconv.FormatFloat(math.Round(x), 'f', -1, 64), ""
}

// memory scales an amount of memory to whole MiB.
func (s Scale) memory(text string) (string, string) {
	b, err := unit.ParseBytes(text)
	if err != nil || b <= 0 || s.memoryRatio() == 1 {
		return text, ""
	}
	x := unit.Bytes(math.Round(float64(b)*s.memoryRatio()/float64(unit.MiB))) * unit.MiB
	if x < leastScaledMemory {
		enough := float64(leastScaledMemory) * float64(s.From.Memory) / float64(b)
		return "", fmt.Sprintf("%s on %s becomes %s on %s, less than %s: a machine with %s of memory is large enough",
			text, s.From, x, s.To, leastScaledMemory, unit.Bytes(math.Ceil(enough/float64(unit.MiB)))*unit.MiB)
	}
	return x.String(), ""
}

// data scales the size of a workload's data, by its own factor, to multiples
// of step where it is a number.
func (s Scale) data(text string, step int64) (string, string) {
	if s.Data == 1 {
		return text, ""
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		x, least := float64(n)*s.Data, float64(step)
		if x < least*(1-1e-9) {
			return "", fmt.Sprintf("%s becomes %.4g with scale.data, less than %d: %s", text, x, step, s.enoughData(n, step))
		}
		return strconv.FormatFloat(least*math.Round(x/least), 'f', -1, 64), ""
	}
	b, err := unit.ParseBytes(text)
	if err != nil {
		return "", fmt.Sprintf("%q is not a size that scale.data can make smaller: write it as a size such as 100GB", text)
	}
	kB := int64(math.Round(float64(b) * s.Data / 1000))
	for _, name := range []string{"kB", "MB", "GB"} {
		if kB%1000 != 0 || kB == 0 {
			return fmt.Sprintf("%d%s", kB, name), ""
		}
		kB /= 1000
	}
	return fmt.Sprintf("%dTB", kB), ""
}

// enoughData says what would make n rows or customers at least step.
func (s Scale) enoughData(n, step int64) string {
	enough := fmt.Sprintf("it would have to be %s or more", roundUp(float64(step)/s.Data))
	if s.Data != s.memoryRatio() {
		return enough
	}
	memory := unit.Bytes(math.Ceil(float64(step)/float64(n)*float64(s.From.Memory)/float64(unit.MiB))) * unit.MiB
	return fmt.Sprintf("%s, or a machine with %s of memory is large enough", enough, memory)
}

// settingSize is the value of a setting that is a size in a product's own
// notation: 64MB, 2 GB, 512K.
var settingSize = regexp.MustCompile(`^([0-9]+)( ?)(?:([kKMGT])(i?B)?)$`)

// scaleSetting scales a setting that is a size; it becomes a whole number of
// the same unit or, below a hundred, of a smaller one. Other settings stay.
func scaleSetting(s Scale, text string) (string, string) {
	m := settingSize.FindStringSubmatch(text)
	if m == nil || s.memoryRatio() == 1 {
		return text, ""
	}
	letters := "kMGT"
	at := strings.Index(letters, strings.Replace(m[3], "K", "k", 1))
	x := float(m[1]) * s.memoryRatio()
	for x < 100 && at > 0 && x != math.Round(x) {
		x, at = x*1024, at-1
	}
	if x < 1 {
		return "", fmt.Sprintf("%s on %s becomes less than 1 kB on %s", text, s.From, s.To)
	}
	x = math.Round(x)
	letter := letters[at : at+1]
	if letter == "k" && (m[3] == "K" || m[4] != "B") {
		letter = "K"
	}
	return strconv.FormatFloat(x, 'f', -1, 64) + m[2] + letter + m[4], ""
}
