package proc

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSignalNames(t *testing.T) {
	t.Parallel()
	for sig, want := range map[int]string{9: "SIGKILL", 15: "SIGTERM", 32: "signal 32", 34: "SIGRTMIN", 37: "SIGRTMIN+3", 64: "SIGRTMIN+30", 70: "signal 70"} {
		if got := Name(syscall.Signal(sig)); got != want {
			t.Errorf("signal %d is %q, want %q", sig, got, want)
		}
	}
}

// TestParseStat: a process's name may hold anything that looks like the rest of the line.
func TestParseStat(t *testing.T) {
	t.Parallel()
	line := "4242 (a) Z 1 (b) T 77 4242 4242 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 123456 99 1 18446744073709551615\n"
	got, ok := parseStat([]byte(line))
	want := stat{pid: 4242, ppid: 77, threads: 3, name: "a) Z 1 (b", state: 'T', start: 123456}
	if !ok || got != want {
		t.Errorf("%+v, %v, want %+v", got, ok, want)
	}
	self, ok := readStat(os.Getpid())
	if !ok || self.pid != os.Getpid() || self.ppid != os.Getppid() || self.threads < 2 || !self.alive() {
		t.Errorf("this process is %+v, %v", self, ok)
	}
	if (stat{state: 'Z', threads: 1}).alive() || !(stat{state: 'Z', threads: 2}).alive() || !(stat{state: 'D'}).alive() {
		t.Error("a zombie is dead unless it has other threads, everybody else lives")
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5 0 0\n"))
	f.Add([]byte("1 () "))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, ok := parseStat(text)
		if ok && !bytes.Contains(text, []byte("("+s.name+")")) {
			t.Errorf("the name %q is not in %q", s.name, text)
		}
	})
}

// TestParsePids: against the simple way.
func TestParsePids(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.IntRange(1, 4<<20)).Draw(t, "pids")
		var text strings.Builder
		for _, pid := range want {
			fmt.Fprintf(&text, "%d%s", pid, rapid.SampledFrom([]string{" ", "\n", "\n0\n", "  "}).Draw(t, "separator"))
		}
		if got := parsePids([]byte(strings.TrimRight(text.String(), " \n")), nil); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func FuzzParsePids(f *testing.F) {
	f.Add([]byte("1 22 333 "))
	f.Add([]byte("99999999999999999999999"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, pid := range parsePids(text, nil) {
			if pid <= 0 || pid > 1<<30 {
				t.Errorf("%d from %q", pid, text)
			}
		}
	})
}

func TestParseLimits(t *testing.T) {
	t.Parallel()
	const head = "Limit                     Soft Limit           Hard Limit           Units     \n"
	for text, want := range map[string]uint64{
		head + "Max realtime priority     0                    0                    \nMax realtime timeout      1234567890123        unlimited            us        \n": 1234567890123,
		head + "Max realtime timeout      unlimited            unlimited            us        \n":                                                                       0,
		head: 0, "": 0, "Max realtime timeout": 0,
	} {
		if got := parseLimits([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestMarkOf reads one mark by both ways.
func TestMarkOf(t *testing.T) {
	t.Parallel()
	table := open(t, Options{Rung: Mark, Own: true})
	tree := begin(t, table, shell("exec sleep 999"))
	text, err := os.ReadFile(procPath(tree.PID(), "limits"))
	if got := parseLimits(text); got != tree.place.mark || err != nil {
		t.Errorf("limits say %d, %v, want %d", got, err, tree.place.mark)
	}
	if got := markOf(tree.PID()); got != tree.place.mark {
		t.Errorf("prlimit says %d, want %d", got, tree.place.mark)
	}
	if got := markOf(os.Getpid()); got == tree.place.mark {
		t.Error("we carry the mark ourselves")
	}
	other := begin(t, table, shell("exec sleep 999"))
	if other.place.mark == tree.place.mark {
		t.Error("two trees have one mark")
	}
}

func FuzzParseLimits(f *testing.F) {
	f.Add([]byte("Max realtime timeout      1234567890123        unlimited            us        \n"))
	f.Add([]byte("Max realtime timeout -1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n := parseLimits(text); n != 0 && !bytes.Contains(text, []byte("Max realtime timeout")) {
			t.Errorf("%d from %q", n, text)
		}
	})
}

const mountinfo = `24 30 0:22 / /proc rw,nosuid - proc proc rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
41 31 0:38 /user.slice/a\040b /sys/fs/cgroup/with\134slash rw,relatime - cgroup2 cgroup2 rw,nsdelegate
`

func TestParseMountinfo(t *testing.T) {
	t.Parallel()
	want := []mount{
		{root: "/", dir: "/sys/fs/cgroup/pids", pids: true},
		{root: "/user.slice/a b", dir: `/sys/fs/cgroup/with\slash`, v2: true},
	}
	if diff := cmp.Diff(want, parseMountinfo([]byte(mountinfo)), cmp.AllowUnexported(mount{})); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseMountinfo(f *testing.F) {
	f.Add([]byte(mountinfo))
	f.Add([]byte("a b c d e f - cgroup2 x y"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n := len(parseMountinfo(text)); n > bytes.Count(text, []byte("\n"))+1 {
			t.Errorf("%d mounts in %q", n, text)
		}
	})
}

func TestParseCgroup(t *testing.T) {
	t.Parallel()
	const text = "9:name=systemd:/init.scope\n8:pids:/a\n4:cpu,cpuacct:/b:c\n0::/user.slice/x.scope (deleted)\n"
	for controller, want := range map[string]string{
		"": "/user.slice/x.scope (deleted)", "pids": "/a", "cpuacct": "/b:c", "memory": "", "name=systemd": "/init.scope",
	} {
		if got := parseCgroup([]byte(text), controller); got != want {
			t.Errorf("%q: %q, want %q", controller, got, want)
		}
	}
}

func FuzzParseCgroup(f *testing.F) {
	f.Add([]byte("8:pids:/a\n0::/b\n"), "pids")
	f.Add([]byte("0::"), "")
	f.Fuzz(func(t *testing.T, text []byte, controller string) {
		if path := parseCgroup(text, controller); !bytes.Contains(text, []byte(path)) {
			t.Errorf("%q is not in %q", path, text)
		}
	})
}

func TestBelow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path, dir, rel string
		ok             bool
	}{
		{"/a/b", "/", "a/b", true},
		{"/", "/", "", true},
		{"/a/b", "/a", "b", true},
		{"/a", "/a", "", true},
		{"/ab", "/a", "", false},
		{"/../x", "/", "", false},
		{"", "/", "", false},
	} {
		rel, ok := below(tt.path, tt.dir)
		if ok != tt.ok || ok && rel != tt.rel {
			t.Errorf("below(%q, %q) = %q, %v", tt.path, tt.dir, rel, ok)
		}
	}
}

func FuzzFindVariables(f *testing.F) {
	f.Add([]byte("A=1\x00S=x\x00SS=y\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want []string
		for kv := range strings.SplitSeq(string(text), "\x00") {
			if v, ok := strings.CutPrefix(kv, "S="); ok {
				want = append(want, v)
			}
		}
		if got := findVariables(text, []string{"S"}); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestMarkEnvironment(t *testing.T) {
	t.Parallel()
	got := mark([]string{"A=1", "M=old", "MM=2", "M=older", "=odd", "N"}, []string{"M", "N"}, "id")
	if diff := cmp.Diff([]string{"A=1", "MM=2", "=odd", "M=id", "N=id"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWalkOfNobody(t *testing.T) {
	t.Parallel()
	if found := walk([]int{1 << 29}); found != nil {
		t.Errorf("found %v", found)
	}
	if n := nameOf(1 << 29); n != "?" {
		t.Errorf("named %q", n)
	}
	if !slices.Contains(tasks(os.Getpid()), os.Getpid()) {
		t.Error("our first thread is not among " + strconv.Itoa(len(tasks(os.Getpid()))))
	}
}
