package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

// roles are what this test binary can be when it is started again: a process with other rights, in another place, or
// one that must not share its children with the tests.
var roles = map[string]func(in order) (any, error){
	"escape": escapes,
	"bomb":   bomb,
	"live":   live,
	"ignore": ignoring,
}

// An order is what a role is to do.
type order struct {
	Rung  string
	Runs  int
	Trees int
	Pids  int
}

const roleVariable = "SALLYPORT_PROC_ROLE"

func TestMain(m *testing.M) {
	if name := os.Getenv(roleVariable); name != "" {
		os.Exit(play(name))
	}
	goleak.VerifyTestMain(m)
}

// play reads an order from standard input, carries it out, and writes what came of it to standard output.
func play(name string) int {
	var in order
	err := json.NewDecoder(os.Stdin).Decode(&in)
	var out any
	if err == nil {
		out, err = roles[name](in)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// A setting is what is ordered of a role, and where and as whom it is played.
type setting struct {
	order  order
	uid    int    // an ordinary user; 0: as we are
	cgroup string // v2 directory to be started in
	ignore bool   // with HUP and INT ignored
	tasks  string // v1 pids directory to be put into before the order is given
}

// perform plays a role and decodes its answer into out.
func perform(t testing.TB, name string, at setting, out any) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	if at.uid != 0 {
		cmd = exec.Command(copyOfSelf(t))
	}
	if at.ignore {
		cmd = exec.Command("/bin/sh", "-c", `trap "" HUP INT; exec "$0"`, copyOfSelf(t))
	}
	cmd.Env = append(os.Environ(), roleVariable+"="+name)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if at.uid != 0 {
		testenv.AsNobody(t, cmd)
		cmd.SysProcAttr.Credential.Uid = uint32(at.uid)
	}
	if at.cgroup != "" {
		dir, err := os.Open(at.cgroup)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if at.tasks != "" {
		if err := writeSmall(filepath.Join(at.tasks, "cgroup.procs"), fmt.Sprint(cmd.Process.Pid)); err != nil {
			t.Error(err)
		}
	}
	err = json.NewEncoder(stdin).Encode(at.order)
	err = errors.Join(err, stdin.Close(), cmd.Wait())
	if err != nil {
		t.Fatalf("role %s: %v\n%s", name, err, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Logf("role %s: %s", name, stderr.String())
	}
	if err := json.Unmarshal([]byte(stdout.String()), out); err != nil {
		t.Fatalf("role %s answers %q: %v", name, stdout.String(), err)
	}
}

// copyOfSelf is this test binary at a place where every user can run it.
func copyOfSelf(t testing.TB) string {
	t.Helper()
	path := filepath.Join(testenv.OpenDir(t), "proc.test")
	// No fork meanwhile: a child that has the file open for writing would make it busy.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
