//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/loadstone-perf/loadstone/internal/clock"
	"github.com/loadstone-perf/loadstone/internal/provider/cgroup"
)

// The labels of containers: the directory of the instance, and its owner.
const (
	labelHome  = "io.loadstone.home"
	labelBoot  = "io.loadstone.boot"
	labelPID   = "io.loadstone.pid"
	labelStart = "io.loadstone.start"
	labelSpace = "io.loadstone.pidns" // in which the process id counts
)

// start makes and starts the container and waits until it obeys.
func (i *Instance) start(ctx context.Context, c *client.Client) error {
	version, err := c.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return fmt.Errorf("container engine: %w", err)
	}
	i.about = describe(version)
	image, err := ensureImage(ctx, c, i.image, i.user)
	if err != nil {
		return err
	}
	hostConfig, err := i.hostConfig()
	if err != nil {
		return err
	}
	made, err := c.ContainerCreate(ctx, client.ContainerCreateOptions{Name: i.container(), Config: i.config(image), HostConfig: hostConfig})
	if err != nil {
		return fmt.Errorf("create container: %w", err)
	}
	if _, err := c.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start container: %w", err)
	}
	seen, err := c.ContainerInspect(ctx, made.ID, client.ContainerInspectOptions{})
	if err != nil {
		return fmt.Errorf("look at the container: %w", err)
	}
	if seen.Container.State == nil || seen.Container.State.Pid <= 1 {
		return errors.Join(errors.New("the container ended as soon as it was started"), i.lastWords())
	}
	if i.group, err = cgroup.Of(seen.Container.State.Pid, made.ID, i.shape, i.Dir()); err != nil {
		return err
	}
	i.group.Weigh(i.shape.CPUShares)
	if i.watch, err = newWatch(i.clk, seen.Container.State.Pid, i.home.Run()); err != nil {
		return err
	}
	return i.obeys(ctx)
}

// describe names the engine: "Podman Engine 4.3.1".
func describe(v client.ServerVersionResult) string {
	name := strings.TrimSpace(v.Platform.Name)
	if len(v.Components) > 0 {
		name = v.Components[0].Name
	}
	return strings.TrimSpace(name + " " + v.Version)
}

func (i *Instance) config(image string) *container.Config {
	path := defaultPath
	if host := os.Getenv("PATH"); host != "" && i.image == "" {
		path = host
	}
	return &container.Config{
		Image:      image,
		Entrypoint: []string{"/bin/sh", "-c", firstScript, "loadstone", i.home.Run()},
		User:       fmt.Sprintf("%d:%d", i.user.UID, i.user.GID),
		Env:        []string{"PATH=" + path, "LANG=C", "TZ=UTC", "HOME=" + i.Dir()},
		WorkingDir: "/",
		Labels: map[string]string{
			labelHome: i.home.Dir, labelBoot: i.home.Mark.Boot,
			labelPID: strconv.Itoa(i.home.Mark.PID), labelStart: strconv.FormatUint(i.home.Mark.StartTime, 10),
			labelSpace: i.home.Mark.Space,
		},
	}
}

func (i *Instance) hostConfig() (*container.HostConfig, error) {
	limits, err := resources(i.shape, i.home.Dir)
	if err != nil {
		return nil, err
	}
	return &container.HostConfig{
		AutoRemove:  true,
		NetworkMode: "host",
		IpcMode:     "private",
		CapDrop:     []string{"ALL"},
		// Labels of SELinux would have to be set on the host's programs.
		SecurityOpt: []string{"no-new-privileges", "label=disable"},
		ShmSize:     shmBytes(),
		Mounts:      mounts(i.home, i.cache, i.image == ""),
		Resources:   limits,
	}, nil
}

// obeys waits until the first process reads orders.
func (i *Instance) obeys(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyBound)
	defer cancel()
	for !exists(filepath.Join(i.home.Run(), "ready")) {
		if err := i.lastWords(); err != nil {
			return err
		}
		if i.group.Running() == 0 {
			return errors.Join(errors.New("the container ended before it took orders"), i.lastWords())
		}
		if err := cgroup.Pause(ctx, i.clk); err != nil {
			return fmt.Errorf("the container takes no orders: %w", err)
		}
	}
	return nil
}

// lastWords is what the first process said about its failure.
func (i *Instance) lastWords() error {
	text, _ := os.ReadFile(filepath.Join(i.home.Run(), "failed"))
	if len(text) == 0 {
		return nil
	}
	return errors.New(strings.TrimSpace(string(text)))
}

// remove kills and removes the container with this name, if there is one, and
// returns when it is gone. The engine may be about to remove it by itself;
// then its refusal is no error.
func remove(ctx context.Context, clk clock.Clock, c *client.Client, name string) error {
	for {
		all, err := labelled(ctx, c)
		if err != nil {
			return err
		}
		there := false
		for _, l := range all {
			there = there || l.name == name
		}
		if !there {
			return nil
		}
		_, refused := c.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err := cgroup.Pause(ctx, clk); err != nil {
			return fmt.Errorf("remove container %s: %w", name, errors.Join(err, refused))
		}
	}
}
