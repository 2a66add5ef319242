package study

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const foreign = `
study: foreign
workload: {name: dvdstore}
engine:
  name: postgres
  endpoint: postgres://bench@db.example.com:5432/postgres?sslmode=verify-full
  password_file: /run/secrets/bench
  load: allowed
`

func TestAnEndpointTakesThePlaceOfAProvider(t *testing.T) {
	s, err := Parse("test.yaml", []byte(foreign), known())
	if err != nil {
		t.Fatal(err)
	}
	want := Endpoint{URL: "postgres://bench@db.example.com:5432/postgres?sslmode=verify-full", PasswordFile: "/run/secrets/bench", Load: true}
	if got := s.cells[0].Config; got.Endpoint != want || got.Provider.Name != External {
		t.Errorf("endpoint %+v, provider %q; want %+v, %q", got.Endpoint, got.Provider.Name, want, External)
	}
	if _, err := Parse("test.yaml", []byte(minimal), known()); err != nil {
		t.Errorf("a study without an endpoint: %v", err)
	}
}

func TestInstancesNeedConsentOnAnEndpointOnly(t *testing.T) {
	two := foreign + "instances: 2\n"
	if _, err := Parse("test.yaml", []byte(two), known()); err != nil {
		t.Errorf("with consent: %v", err)
	}
	if _, err := Parse("test.yaml", []byte(strings.Replace(two, "  load: allowed\n", "", 1)), known()); err == nil || !strings.Contains(err.Error(), "instance") {
		t.Errorf("without consent: %v; want instances refused", err)
	}
	search := strings.Replace(strings.Replace(two, "instances: 2", "instances: saturate", 1), "  load: allowed\n", "", 1)
	if _, err := Parse("test.yaml", []byte(search), known()); err == nil || !strings.Contains(err.Error(), "may not make") {
		t.Errorf("a search for instances without consent: %v; want it refused", err)
	}
}

func TestAnEngineThatCannotBeAttachedRefusesAnEndpoint(t *testing.T) {
	k := known()
	k.Engines[0].Endpoint = nil
	if _, err := Parse("test.yaml", []byte(foreign), k); err == nil || !strings.Contains(err.Error(), "6:3: postgres can't be measured") {
		t.Errorf("got %v; want the endpoint refused at its place", err)
	}
}

// TestNoErrorRepeatsAPassword breaks studies with a password in them in many
// ways; whatever is said of them, the password is not.
func TestNoErrorRepeatsAPassword(t *testing.T) {
	const secret = "Zx9-marker"
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{
			"endpoint: postgres://u:" + secret + "@h/db", `endpoint: "postgres://u:` + secret + `@h:1/db?x=y"`,
			"endpoint: postgres://:" + secret + "@h/db", "endpoint: postgres://u:a/b" + secret + "@h/db",
			"endpoint: postgres://u@h/db?password=" + secret, "endpoint: postgres://u@h/db?sslmode=require&sslpassword=" + secret,
			"password: " + secret, `"password": "` + secret + `, and"`, "passwd: " + secret, "Password: [" + secret + "]",
		}).Draw(t, "line")
		wrong := rapid.SampledFrom([]string{"nme: x", "version: new", "load: [", "settings: 3", "version: @", "\tx: y"}).Draw(t, "wrong")
		form := rapid.SampledFrom([]string{"engine: {name: postgres, %1, %2}\n", "engine: {%2, %1}\n", "engine:\n  %1\n  %2\n", "engine:\n  %2\n  %1\n", "%1\nengine: {%2}\n"}).Draw(t, "form")
		src := "study: x\nworkload: {name: dvdstore}\n" + strings.NewReplacer("%1", line, "%2", wrong).Replace(form)
		_, err := Parse("test.yaml", []byte(src), known())
		if err == nil {
			t.Fatalf("taken for right:\n%s", src)
		}
		var all Errors
		if !errors.As(err, &all) {
			t.Fatalf("error of type %T", err)
		}
		for _, e := range all {
			if strings.Contains(e.Error()+e.Found+e.Source+e.Message+e.Allowed, secret) {
				t.Fatalf("the password is in the error:\n%v\nof:\n%s", e, src)
			}
		}
	})
}

func TestMaskingKeepsEveryPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z:/@?&=" ä{},]{0,60}`).Draw(t, "text")
		if got, want := len([]rune(masked(text))), len([]rune(text)); got != want {
			t.Fatalf("%q has %d characters, masked %d: %q", text, want, got, masked(text))
		}
	})
	if got := masked("engine: {endpoint: postgres://u@h/db}"); strings.Contains(got, "*") {
		t.Errorf("%q is masked where there is no password", got)
	}
}

func TestTheBrokenEndpointsSayNoPassword(t *testing.T) {
	files, err := filepath.Glob("testdata/endpoint-*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		if strings.Contains(string(read(t, f)), "hunter2") {
			t.Errorf("%s has the password", f)
		}
	}
}
