package testenv

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// start runs a shell text with a token in its environment, and kills it with the test.
func start(t *testing.T, text, token string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", text)
	cmd.Env = append(os.Environ(), "TESTENV_TOKEN="+token)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range append(Descendants(t, cmd.Process.Pid), Process{PID: cmd.Process.Pid}) {
			if p, err := os.FindProcess(p.PID); err == nil {
				_ = p.Kill() // it may have ended by itself
			}
		}
		_ = cmd.Wait() // killed
	})
	return cmd
}

func TestProcessesWith(t *testing.T) {
	t.Parallel()
	token := "token-" + t.TempDir()
	if got := ProcessesWith(token); len(got) != 0 {
		t.Fatalf("before the start: %v", got)
	}
	cmd := start(t, "sleep 60 & sleep 60", token)
	Eventually(t, 5*time.Second, func() bool { return len(ProcessesWith(token)) == 3 }, "the shell and two sleeps are seen")
	if got := len(Descendants(t, cmd.Process.Pid)); got != 2 {
		t.Errorf("%d descendants, want 2", got)
	}
	if got := len(Children(t, cmd.Process.Pid)); got != 2 {
		t.Errorf("%d children, want 2", got)
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	p, ok := Look(os.Getpid())
	if !ok || p.PPID != os.Getppid() || p.State == 'Z' || p.Cmdline == "" {
		t.Errorf("this process looks like %v (%v)", p, ok)
	}
	cmd := exec.Command("/bin/true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	Eventually(t, 5*time.Second, func() bool { p, ok := Look(cmd.Process.Pid); return ok && p.State == 'Z' }, "true is a zombie")
	if Alive(cmd.Process.Pid) {
		t.Error("a zombie is not alive")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, ok := Look(cmd.Process.Pid); ok {
		t.Error("a reaped process is not there")
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	if u := Use(t, os.Getpid()); u.RSS < 1<<20 || u.Peak < u.RSS/2 || u.FDs < 3 || u.Threads < 1 {
		t.Errorf("this process uses %+v", u)
	}
}

func TestSmallDisk(t *testing.T) {
	t.Parallel()
	dir := SmallDisk(t, 64<<10)
	if err := os.WriteFile(dir+"/full", make([]byte, 1<<20), 0o600); err == nil {
		t.Error("a megabyte fits on a disk of 64 KiB")
	}
}

func TestCgroup(t *testing.T) {
	t.Parallel()
	leaf := Cgroup(t, Nobody)
	cmd := start(t, "exec sleep 60", "cgroup")
	if err := os.WriteFile(leaf+"/cgroup.procs", []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	// The user that owns the leaf may make cgroups beside it, as a server in it would.
	mkdir := exec.Command("mkdir", leaf+"/../run")
	AsNobody(t, mkdir)
	if out, err := mkdir.CombinedOutput(); err != nil {
		t.Errorf("mkdir: %v: %s", err, out)
	}
}

func TestAsNobody(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("id", "-u")
	AsNobody(t, cmd)
	out, err := cmd.Output()
	if err != nil || string(out) != "65534\n" {
		t.Errorf("id -u: %q, %v", out, err)
	}
}
