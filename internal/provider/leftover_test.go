package provider

import "testing"

func TestOwnersAreNamedAsFarAsTheyAreKnown(t *testing.T) {
	for want, o := range map[string]Owner{
		"process 7 of root": {PID: 7, User: "root"}, "process 7": {PID: 7}, "a process of root": {User: "root"}, "not known": {},
	} {
		if got := o.String(); got != want {
			t.Errorf("%+v is %q, want %q", o, got, want)
		}
	}
}
