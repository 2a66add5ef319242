//go:build linux

package guest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/loadstone-perf/loadstone/internal/observe"
)

// settle makes the programs' root, mounts the data disk in it, and brings the
// network up.
func (a *agent) settle(c Config) (Facts, error) {
	if a.settled().Dir != "" {
		return Facts{}, errors.New("the guest is settled already")
	}
	if !filepath.IsAbs(c.Dir) {
		return Facts{}, fmt.Errorf("directory %q", c.Dir)
	}
	disk, err := a.mounts(c)
	if err != nil {
		return Facts{}, err
	}
	if err := unix.Sethostname([]byte(c.Hostname)); err != nil {
		return Facts{}, fmt.Errorf("host name: %w", err)
	}
	nic, err := network(c)
	if err != nil {
		return Facts{}, err
	}
	if err := largePages(c.LargePages); err != nil {
		return Facts{}, err
	}
	a.mu.Lock()
	a.config = c
	a.mu.Unlock()
	if c.Address != "" {
		if err := a.relay(c); err != nil {
			return Facts{}, err
		}
	}
	return a.facts(disk, nic), nil
}

// mounts makes the root of programs. It returns the data disk's name.
func (a *agent) mounts(c Config) (disk string, err error) {
	image, err := findDisk(RootLabel)
	if err != nil {
		return "", err
	}
	data, err := findDisk(DataLabel)
	if err != nil {
		return "", err
	}
	at := a.root + c.Dir
	m := mounter{}
	m.mount("/dev/"+image, "/lower", "ext4", unix.MS_RDONLY, "noload")
	m.mount("tmpfs", "/upper", "tmpfs", 0, "mode=755")
	m.dir("/upper/up", 0o755)
	m.dir("/upper/work", 0o755)
	m.mount("overlay", a.root, "overlay", 0, "lowerdir=/lower,upperdir=/upper/up,workdir=/upper/work")
	m.mount("devtmpfs", a.root+"/dev", "devtmpfs", 0, "")
	m.mount("proc", a.root+"/proc", "proc", 0, "")
	m.mount("sysfs", a.root+"/sys", "sysfs", 0, "")
	m.mount("tmpfs", a.root+"/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	m.mount("tmpfs", a.root+"/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	m.mount("tmpfs", a.root+"/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755")
	m.mount("/dev/"+data, at, "ext4", unix.MS_NOATIME, "")
	for link, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		_ = os.Symlink(to, a.root+"/dev/"+link)
	}
	if m.err != nil {
		return "", m.err
	}
	// lost+found would be among the files of the instance.
	_ = os.Remove(at + "/lost+found")
	if err := os.Chown(at, c.UID, c.GID); err != nil {
		return "", err
	}
	return data, os.Chmod(at, 0o700)
}

// mounter mounts until something fails.
type mounter struct{ err error }

func (m *mounter) dir(at string, mode os.FileMode) {
	if m.err == nil {
		m.err = os.MkdirAll(at, mode)
	}
}

func (m *mounter) mount(what, at, kind string, flags uintptr, options string) {
	m.dir(at, 0o755)
	if m.err == nil {
		if err := unix.Mount(what, at, kind, flags, options); err != nil {
			m.err = fmt.Errorf("mount %s on %s: %w", what, at, err)
		}
	}
}

// diskTries is how often, 10 ms apart, disks are looked for: drivers find them
// in their own time.
const diskTries = 1000

// findDisk finds the block device whose ext4 file system has this label.
func findDisk(label string) (name string, err error) {
	var names []string
	for range diskTries {
		entries, _ := os.ReadDir("/sys/class/block")
		names = names[:0]
		for _, e := range entries {
			if names = append(names, e.Name()); diskLabel(e.Name()) == label {
				return e.Name(), nil
			}
		}
		nap()
	}
	return "", fmt.Errorf("no disk labelled %s among %s: has the guest's kernel the driver of its adapter?", label, strings.Join(names, ", "))
}

// diskLabel reads the label of an ext4 file system: 16 bytes at 0x78 in the
// superblock, which begins at 1024 and has its magic number 0xEF53 at 0x38
// (Documentation/filesystems/ext4/super.rst).
func diskLabel(name string) string {
	f, err := os.Open("/dev/" + name)
	if err != nil {
		return ""
	}
	defer f.Close()
	var super [0x88]byte
	if _, err := f.ReadAt(super[:], 1024); err != nil || super[0x38] != 0x53 || super[0x39] != 0xEF {
		return ""
	}
	return string(bytes.TrimRight(super[0x78:0x88], "\x00"))
}

// network brings up loopback and, where there is an address, the network
// device. It returns the device's name.
func network(c Config) (nic string, err error) {
	if err := configure("lo", "127.0.0.1/8"); err != nil {
		return "", err
	}
	entries, _ := os.ReadDir("/sys/class/net")
	for _, e := range entries {
		// Real devices are on a bus.
		if _, err := os.Stat("/sys/class/net/" + e.Name() + "/device"); err == nil {
			nic = e.Name()
			break
		}
	}
	if c.Address == "" {
		return nic, nil
	}
	if nic == "" {
		return "", errors.New("there is no network device: has the guest's kernel the driver of its adapter?")
	}
	return nic, configure(nic, c.Address)
}

// configure gives an address to a network device and brings it up
// (netdevice(7)).
func configure(name, address string) error {
	ip, mask, err := net.ParseCIDR(address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("network device %s: %w", name, err)
	}
	defer func() { _ = unix.Close(fd) }()
	for _, step := range []struct {
		request uint
		set     func(*unix.Ifreq) error
	}{
		{unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(ip.To4()) }},
		{unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(mask.Mask) }},
		{unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }},
	} {
		r, err := unix.NewIfreq(name)
		if err == nil {
			err = step.set(r)
		}
		if err == nil {
			err = unix.IoctlIfreq(fd, step.request, r)
		}
		if err != nil {
			return fmt.Errorf("network device %s, address %s: %w", name, address, err)
		}
	}
	return nil
}

// largePages lets programs take memory in large pages, up to n bytes. They are
// made when they are taken, so that what nobody takes is not lost.
func largePages(n int64) error {
	if n == 0 {
		return nil
	}
	size := meminfo("Hugepagesize")
	if size == 0 {
		return errors.New("the guest's kernel has no large pages")
	}
	if err := os.WriteFile("/proc/sys/vm/nr_overcommit_hugepages", []byte(strconv.FormatInt(n/size, 10)), 0o644); err != nil {
		return fmt.Errorf("large pages: %w", err)
	}
	return nil
}

// meminfo is a line of /proc/meminfo in bytes; 0 where there is none.
func meminfo(name string) int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if f := strings.Fields(value); key == name && len(f) > 0 {
			n, _ := strconv.ParseInt(f[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// facts are what the guest sees.
func (a *agent) facts(disk, nic string) Facts {
	f := Facts{
		CPUs:        len(glob("/sys/devices/system/cpu/cpu[0-9]*")),
		MemoryBytes: meminfo("MemTotal"),
		NUMANodes:   max(1, len(glob("/sys/devices/system/node/node[0-9]*"))),
		DiskDriver:  driver("/sys/class/block/" + disk + "/device"),
		NetDriver:   driver("/sys/class/net/" + nic + "/device"),
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if n, err := strconv.ParseInt(word("/proc/sys/vm/nr_overcommit_hugepages"), 10, 64); err == nil {
		f.LargePages = n * meminfo("Hugepagesize")
	}
	f.Sockets, f.Cores, f.Threads = topology()
	if host, err := observe.NewHost(); err == nil {
		a.mu.Lock()
		a.host = host
		a.mu.Unlock()
		f.Columns = host.Columns()
	}
	return f
}

// topology counts what the guest's CPUs say of their places.
func topology() (sockets, cores, threads int) {
	inSocket, inCore := map[string]int{}, map[string]int{}
	for _, cpu := range glob("/sys/devices/system/cpu/cpu[0-9]*") {
		s, c := word(cpu+"/topology/physical_package_id"), word(cpu+"/topology/core_id")
		if inCore[s+" "+c]++; inCore[s+" "+c] == 1 {
			inSocket[s]++
		}
	}
	for s, n := range inSocket {
		sockets, cores = sockets+1, max(cores, n)
		for at, n := range inCore {
			if strings.HasPrefix(at, s+" ") {
				threads = max(threads, n)
			}
		}
	}
	return sockets, cores, threads
}

// driver is the name of the driver of a device, or of the nearest device above
// it that has one.
func driver(device string) string {
	at, err := filepath.EvalSymlinks(device)
	if err != nil {
		return ""
	}
	for ; strings.HasPrefix(at, "/sys/devices/"); at = filepath.Dir(at) {
		if link, err := os.Readlink(at + "/driver"); err == nil && filepath.Base(link) != "sd" {
			return filepath.Base(link)
		}
	}
	return ""
}

func glob(pattern string) []string {
	all, _ := filepath.Glob(pattern) // the patterns are well formed
	return all
}

func word(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}
