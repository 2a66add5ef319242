//go:build linux

package container

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/loadstone-perf/loadstone/internal/provider"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
	"github.com/loadstone-perf/loadstone/internal/provider/home"
)

// ask runs do with a client of the engine that tests use.
func ask(t *testing.T, dir string, do func(*client.Client)) {
	t.Helper()
	eng, err := findEngine()
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.with(t.Context(), dir, func(c *client.Client) error { do(c); return nil }); err != nil {
		t.Fatal(err)
	}
}

func present(t *testing.T, c *client.Client, name string) bool {
	t.Helper()
	found, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("name", name)})
	if err != nil {
		t.Fatal(err)
	}
	return len(found.Items) > 0
}

// TestContainersOfTheDeadAreRemovedAndNoOthers makes, beside a living
// instance, containers that only were created: one of ours whose directory and
// process are gone, one whose process lives, one without our labels.
func TestContainersOfTheDeadAreRemovedAndNoOthers(t *testing.T) {
	cache := open(t)
	live := made(t, cache, provider.Shape{})
	unique := filepath.Base(cache)
	ours := func(pid int, start uint64, boot string) map[string]string {
		return map[string]string{
			labelHome: filepath.Join(cache, "nowhere"), labelBoot: boot, labelSpace: home.Space(),
			labelPID: strconv.Itoa(pid), labelStart: strconv.FormatUint(start, 10),
		}
	}
	self, err := cgroup.ReadStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	boot := live.home.Mark.Boot
	elsewhere := ours(1<<22-1, 1, boot)
	elsewhere[labelSpace] = "pid:[1]"
	cases := []struct {
		name   string
		labels map[string]string
		stays  bool
	}{
		{"dead", ours(os.Getpid(), self.Start+1, boot), false},
		{"rebooted", ours(os.Getpid(), self.Start, "another boot"), false},
		{"alive", ours(os.Getpid(), self.Start, boot), true},
		{"elsewhere", elsewhere, true},
		{"foreign", map[string]string{"com.example": "x"}, true},
	}
	var image string
	ask(t, containers(cache), func(c *client.Client) {
		if image, err = ensureImage(t.Context(), c, "", live.user); err != nil {
			t.Fatal(err)
		}
		for _, x := range cases {
			_, err := c.ContainerCreate(t.Context(), client.ContainerCreateOptions{
				Name: unique + "-" + x.name, Config: &container.Config{Image: image, Entrypoint: []string{"/bin/true"}, Labels: x.labels},
				HostConfig: &container.HostConfig{NetworkMode: "host"},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Cleanup(func() {
		eng, _ := findEngine()
		_ = eng.with(context.Background(), cache, func(c *client.Client) error {
			for _, x := range cases {
				_, _ = c.ContainerRemove(context.Background(), unique+"-"+x.name, client.ContainerRemoveOptions{Force: true})
			}
			return nil
		})
	})
	made(t, cache, provider.Shape{})
	ask(t, containers(cache), func(c *client.Client) {
		for _, x := range cases {
			if got := present(t, c, unique+"-"+x.name); got != x.stays {
				t.Errorf("%s: there after the next provision: %v", x.name, got)
			}
		}
	})
	if out, err := live.Command(t.Context(), "echo", "alive").Output(); err != nil || string(out) != "alive\n" {
		t.Errorf("the living instance says %q, %v", out, err)
	}
}

// TestAnAbandonedInstanceIsRemoved leaves an instance as a death of Loadstone
// would that also hit the engine's own clean-up: the lock is free, and the
// container runs on.
func TestAnAbandonedInstanceIsRemoved(t *testing.T) {
	cache := open(t)
	i := made(t, cache, provider.Shape{})
	cmd := i.Command(context.Background(), "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := i.home.Abandon(); err != nil {
		t.Fatal(err)
	}
	made(t, cache, provider.Shape{})
	if err := cmd.Wait(); err == nil {
		t.Error("the abandoned command succeeded")
	}
	if exists(i.home.Dir) {
		t.Errorf("%s is still there", i.home.Dir)
	}
	ask(t, containers(cache), func(c *client.Client) {
		if present(t, c, i.container()) {
			t.Errorf("container %s is still there", i.container())
		}
	})
}

// TestNothingOfOursRunsBesideALoad holds that no service of ours, and none of
// its sockets nor of those of a killed process, is there between provision and
// release.
func TestNothingOfOursRunsBesideALoad(t *testing.T) {
	cache := open(t)
	need(t, provider.Shape{})
	if err := os.Mkdir(containers(cache), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(containers(cache), ".podman-4194303-7"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	made(t, cache, provider.Shape{})
	if left, _ := filepath.Glob(filepath.Join(containers(cache), ".podman-*")); len(left) > 0 {
		t.Errorf("sockets are left: %v", left)
	}
	out, _ := exec.Command("pgrep", "-P", strconv.Itoa(os.Getpid()), "-a").Output()
	if strings.Contains(string(out), "podman") {
		t.Errorf("a service runs:\n%s", out)
	}
}

func TestAnImageThatIsNotThereIsNamed(t *testing.T) {
	need(t, provider.Shape{})
	cache := open(t)
	_, err := New().Provision(t.Context(), provider.Request{Name: "subject", Cache: cache, Image: "localhost/no-such-image:1"})
	if err == nil || !strings.Contains(err.Error(), `image "localhost/no-such-image:1" is not among`) {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(containers(cache))
	for _, e := range entries {
		if err != nil || e.IsDir() {
			t.Errorf("left behind: %v, %v", e, err)
		}
	}
}

// TestANamedImageWithoutAShellIsRefused uses the image of the host's programs as if somebody had
// named it. It holds mount points only, so its shell is not there.
func TestANamedImageWithoutAShellIsRefused(t *testing.T) {
	cache := open(t)
	i := made(t, cache, provider.Shape{})
	var image string
	ask(t, containers(cache), func(c *client.Client) {
		var err error
		if image, err = ensureImage(t.Context(), c, "", i.user); err != nil {
			t.Fatal(err)
		}
	})
	_, err := New().Provision(t.Context(), provider.Request{Name: "bare", Cache: cache, Image: image})
	if err == nil || !strings.Contains(err.Error(), "start container") {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(containers(cache), "bare-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestEnginesThatCantBeUsedAreExplained(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"tcp://10.0.0.1:2375", "is no Unix socket"},
		{"ssh://host", "is no Unix socket"},
	} {
		t.Setenv("DOCKER_HOST", c.host)
		found := New().Check(t.Context(), provider.Shape{})
		if len(found) != 1 || !strings.Contains(found[0].Reason, c.want) || found[0].Remedy == "" {
			t.Errorf("%s: %+v", c.host, found)
		}
	}
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	_, err := New().Provision(t.Context(), provider.Request{Name: "subject", Cache: open(t)})
	if err == nil || !strings.Contains(err.Error(), "container engine") {
		t.Errorf("a socket without an engine: %v", err)
	}
	t.Setenv("DOCKER_HOST", "")
	if problems := New().Check(t.Context(), provider.Shape{}); len(problems) == 0 {
		t.Setenv("PATH", "/nowhere")
		found := New().Check(t.Context(), provider.Shape{})
		if eng, err := findEngine(); err == nil && eng.socket != "" {
			t.Skip("an engine listens here")
		}
		if len(found) != 1 || !strings.Contains(found[0].Remedy, "apt install podman") {
			t.Errorf("without podman: %+v", found)
		}
	}
}

func TestTheImageIsTheSameAsLongAsTheMachineIs(t *testing.T) {
	i := Instance{}
	i.user.Name, i.user.UID, i.user.GID = "someone", 7, 8
	one, err := skeleton(i.user)
	if err != nil {
		t.Fatal(err)
	}
	two, err := skeleton(i.user)
	if err != nil || string(one) != string(two) {
		t.Errorf("two images of one machine differ (%d and %d bytes), %v", len(one), len(two), err)
	}
	i.user.UID = 9
	if other, err := skeleton(i.user); err != nil || string(other) == string(one) {
		t.Errorf("another user, and the same image, %v", err)
	}
}
