package external

import (
	"reflect"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/provider"
)

// TestEveryKnobOfAShapeIsRefused sets each field of a shape in turn, those that
// may be added later too.
func TestEveryKnobOfAShapeIsRefused(t *testing.T) {
	p := New(Server{})
	if got := p.Check(t.Context(), provider.Shape{}); len(got) != 0 {
		t.Errorf("a shape that asks for nothing has problems: %+v", got)
	}
	fields := reflect.TypeFor[provider.Shape]()
	seen := map[string]bool{}
	for i := range fields.NumField() {
		var s provider.Shape
		switch f := reflect.ValueOf(&s).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("0")
		case reflect.Float64:
			f.SetFloat(1)
		case reflect.Struct:
			f.Field(0).SetInt(1)
		default:
			f.SetInt(1)
		}
		got := p.Check(t.Context(), s)
		if len(got) != 1 || !strings.HasPrefix(got[0].Knob, "instance.") || got[0].Remedy == "" || seen[got[0].Knob] {
			t.Errorf("%s is set: problems %+v, want one of its own", fields.Field(i).Name, got)
			continue
		}
		seen[got[0].Knob] = true
	}
}

func TestAnInstanceTellsWhereTheServerIsAndIsNoMachine(t *testing.T) {
	for why, want := range map[string]string{"": "observed: ", "it is elsewhere": "not observed: it is elsewhere"} {
		inst, err := New(Server{Where: "db:5432", User: "bench", Encryption: "none", Unobserved: why}).Provision(t.Context(), provider.Request{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := inst.(provider.Machine); ok {
			t.Error("programs can be run in it")
		}
		knobs, err := inst.(provider.Shaped).Effective(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, k := range knobs {
			if !k.Matches || k.Intended != "" {
				t.Errorf("%+v: nobody asked for it", k)
			}
			got[k.Name] = k.Effective
		}
		if got["endpoint.address"] != "db:5432" || got["endpoint.user"] != "bench" || got["endpoint.encryption"] != "none" || !strings.HasPrefix(got["endpoint.host"], want) {
			t.Errorf("knobs %v, want the address, user, encryption and %q", got, want)
		}
		if err := inst.Close(t.Context()); err != nil || inst.Close(t.Context()) != nil {
			t.Errorf("close: %v", err)
		}
	}
}
