package clustertest

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// runLabel is on everything that a test makes, with the name of the run.
const runLabel = "dorisgo.chaos"

// dockerTime bounds one request to the Docker engine.
const dockerTime = 2 * time.Minute

// docker makes containers, networks, volumes and images, and removes each at
// the end of the test, by its id.
type docker struct {
	tb  testing.TB
	cli *client.Client
	run string
	// ctx ends with the test, or when somebody interrupts it.
	ctx context.Context
}

func newDocker(tb testing.TB) *docker {
	tb.Helper()
	cli, err := client.New(client.FromEnv)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { cli.Close() })
	ctx, restore := signal.NotifyContext(tb.Context(), os.Interrupt, syscall.SIGTERM)
	tb.Cleanup(restore)
	if _, err := cli.Ping(ctx, client.PingOptions{}); err != nil {
		tb.Fatalf("the test needs a Docker engine: %s", err)
	}
	return &docker{tb: tb, cli: cli, run: fmt.Sprintf("dorisgo-chaos-%08x", rand.Uint32()), ctx: ctx}
}

// undo runs a removal when the test ends, also when it was cancelled.
func (d *docker) undo(what string, f func(context.Context) error) {
	d.tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), dockerTime)
		defer cancel()
		if err := f(ctx); err != nil {
			d.tb.Errorf("cannot remove %s: %s", what, err)
		}
	})
}

func (d *docker) labels() map[string]string { return map[string]string{runLabel: d.run} }

// image builds an image of the binary with the Dockerfile beside it, under a
// tag of this run, and returns its id. The run's label makes the id its own.
func (d *docker) image(dockerfile, binary string) string {
	d.tb.Helper()
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(writeContext(w, map[string]string{"Dockerfile": dockerfile, "bin/dorisgo": binary}))
	}()
	defer r.Close()
	ctx, cancel := context.WithTimeout(d.ctx, dockerTime)
	defer cancel()
	res, err := d.cli.ImageBuild(ctx, r, client.ImageBuildOptions{
		Tags: []string{d.run}, Labels: d.labels(), Remove: true, ForceRemove: true, Version: build.BuilderV1,
	})
	if err != nil {
		d.tb.Fatalf("build the image: %s", err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	id := ""
	for lines.Scan() {
		var m struct {
			Error string              `json:"error"`
			Aux   struct{ ID string } `json:"aux"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m.Error != "" {
			d.tb.Fatalf("build the image: %s (%v)", lines.Bytes(), err)
		}
		if m.Aux.ID != "" {
			id = m.Aux.ID
		}
	}
	if err := lines.Err(); err != nil || id == "" {
		d.tb.Fatalf("build the image: no id (%v)", err)
	}
	d.undo("image "+id, func(ctx context.Context) error {
		_, err := d.cli.ImageRemove(ctx, id, client.ImageRemoveOptions{PruneChildren: true})
		return err
	})
	return id
}

// writeContext writes the files as a tar archive.
func writeContext(w io.Writer, files map[string]string) error {
	t := tar.NewWriter(w)
	for name, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: info.Size(), Format: tar.FormatPAX}); err != nil {
			return err
		}
		if _, err := io.CopyN(t, f, info.Size()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return t.Close()
}

// network makes a network with a subnet of its own: only then containers may
// choose addresses that stay over restarts.
func (d *docker) network() (id string, subnet netip.Prefix) {
	d.tb.Helper()
	var last error
	for range 20 {
		subnet = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(192 + rand.IntN(64)), byte(rand.IntN(256)), 0}), 24)
		if used(subnet) {
			continue
		}
		res, err := d.cli.NetworkCreate(d.ctx, d.run, client.NetworkCreateOptions{
			Driver: "bridge", Labels: d.labels(), IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: subnet}}},
		})
		if err != nil {
			last = err
			continue
		}
		d.undo("network "+res.ID, func(ctx context.Context) error {
			_, err := d.cli.NetworkRemove(ctx, res.ID, client.NetworkRemoveOptions{})
			return err
		})
		return res.ID, subnet
	}
	d.tb.Fatalf("no free subnet: %v", last)
	return "", subnet
}

// used says whether this machine has an address in the subnet.
func used(subnet netip.Prefix) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Overlaps(subnet) {
			return true
		}
	}
	return false
}

// volume makes a named volume.
func (d *docker) volume(name string) string {
	d.tb.Helper()
	res, err := d.cli.VolumeCreate(d.ctx, client.VolumeCreateOptions{Name: d.run + "-" + name, Labels: d.labels()})
	if err != nil {
		d.tb.Fatal(err)
	}
	d.undo("volume "+res.Volume.Name, func(ctx context.Context) error {
		_, err := d.cli.VolumeRemove(ctx, res.Volume.Name, client.VolumeRemoveOptions{})
		return err
	})
	return res.Volume.Name
}

// endpoint is a container's place in the network.
func endpoint(ip netip.Addr) *network.EndpointSettings {
	return &network.EndpointSettings{IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: ip}}
}

// container makes a container that runs the command with the volume at /data.
func (d *docker) container(name, image, netID, volume string, ip netip.Addr, command []string) string {
	d.tb.Helper()
	res, err := d.cli.ContainerCreate(d.ctx, client.ContainerCreateOptions{
		Name:             d.run + "-" + name,
		Config:           &container.Config{Image: image, Cmd: command, Labels: d.labels()},
		HostConfig:       &container.HostConfig{NetworkMode: container.NetworkMode(netID), Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: volume, Target: "/data"}}},
		NetworkingConfig: &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{netID: endpoint(ip)}},
	})
	if err != nil {
		d.tb.Fatal(err)
	}
	d.undo("container "+res.ID, func(ctx context.Context) error {
		_, err := d.cli.ContainerRemove(ctx, res.ID, client.ContainerRemoveOptions{Force: true})
		return err
	})
	d.tb.Cleanup(func() { d.keepLogs(name, res.ID) }) // before the removal
	return res.ID
}

// logDir is where the logs of a failed run go: CHAOS_LOGS, or a directory
// under the system's temporary one.
func (d *docker) logDir() string {
	if dir := os.Getenv("CHAOS_LOGS"); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), d.run)
}

// keepLogs writes a container's log to a file if the test failed. A node that
// still runs ends with the stacks of all goroutines.
func (d *docker) keepLogs(name, id string) {
	if !d.tb.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dockerTime)
	defer cancel()
	wait := d.cli.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	if _, err := d.cli.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: "SIGQUIT"}); err == nil {
		select {
		case <-wait.Result:
		case <-wait.Error:
		case <-time.After(10 * time.Second): // it is paused, or hangs
		}
	}
	b, err := d.logs(ctx, id)
	if err == nil {
		err = os.MkdirAll(d.logDir(), 0o755)
	}
	path := filepath.Join(d.logDir(), name+".log")
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		d.tb.Logf("log of %s: %s", name, err)
		return
	}
	d.tb.Logf("log of %s: %s", name, path)
}

// logs is what a container wrote in all its lives.
func (d *docker) logs(ctx context.Context, id string) ([]byte, error) {
	res, err := d.cli.ContainerLogs(ctx, id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Timestamps: true})
	if err != nil {
		return nil, err
	}
	defer res.Close()
	var b bytes.Buffer
	_, err = stdcopy.StdCopy(&b, &b, res)
	return b.Bytes(), err
}

// lastLines are a text's last lines, for messages.
func lastLines(b []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
