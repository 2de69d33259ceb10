package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/sallyport-sh/sallyport"
)

// place is where a tree is kept: a Job Object.
type place struct {
	job windows.Handle // closed by release
}

// A child is the main process of a tree. Its handle keeps its number from being given away.
type child struct {
	pid    int
	handle windows.Handle
	job    windows.Handle

	mu     sync.Mutex
	reaped bool
	killed bool // by us: the exit code says nothing
	exit   Exit // valid once reaped
}

// wait takes a thread: Windows offers no other way without callbacks.
func (c *child) wait() {
	_, err := windows.WaitForSingleObject(c.handle, windows.INFINITE)
	var code uint32
	if err == nil {
		err = windows.GetExitCodeProcess(c.handle, &code)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	c.exit = Exit{Code: int(int32(code)), At: time.Now(), Lost: err != nil}
	if c.killed {
		c.exit.Code, c.exit.Signal = -1, syscall.SIGKILL
	}
	_ = windows.CloseHandle(c.handle)
}

func (c *child) isReaped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reaped
}

// signalGroup turns KILL into the end of the job, and everything else into CTRL_BREAK.
func (c *child) signalGroup(sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return os.ErrProcessDone
	}
	if sig == syscall.SIGKILL {
		c.killed = true
		return windows.TerminateJobObject(c.job, killedCode)
	}
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(c.pid))
}

// killedCode is the exit code of what we end: that of a process that CTRL_C ended.
const killedCode = 0xC000013A

// signalMember can end a process that the main one left behind, and nothing else.
func signalMember(m member, sig syscall.Signal) error {
	if sig != syscall.SIGKILL {
		return fmt.Errorf("%s can't be sent to a single process: %w", Name(sig), errors.ErrUnsupported)
	}
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(m.pid))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	if started(h) != m.start {
		return os.ErrProcessDone
	}
	return windows.TerminateProcess(h, killedCode)
}

// terminate asks the main process's group to end, and reports whether it was asked.
func terminate(tr *Tree, _ []member) bool { return tr.main.signalGroup(syscall.SIGTERM) == nil }

// jobRung keeps every tree in a Job Object.
type jobRung struct{}

func findWays(o Options) (ways, error) {
	if o.Rung != "" && o.Rung != Auto {
		return ways{}, fmt.Errorf("rung %s does not work here: it is Linux's", o.Rung)
	}
	return ways{
		rung: jobRung{}, name: "job", orphans: func() []sallyport.Process { return nil },
		caveats: []string{"A command is ended without being asked first, unless it shares our console."},
	}, nil
}

func (jobRung) spawn(_ context.Context, tr *Tree, l launch) error {
	job, err := newJob(tr.pids)
	if err != nil {
		return &StartError{Step: StepFork, Err: err}
	}
	c, err := startIn(job, l)
	if err != nil {
		return errors.Join(err, windows.CloseHandle(job))
	}
	tr.main, tr.place.job = c, job
	return nil
}

// newJob makes a job that kills what is in it when its last handle is closed: ours, be it by our own death.
func newJob(pids int) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("create job: %w", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if pids > 0 {
		info.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		info.BasicLimitInformation.ActiveProcessLimit = uint32(pids)
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		return 0, errors.Join(fmt.Errorf("limit job: %w", err), windows.CloseHandle(job))
	}
	return job, nil
}

// startIn starts a process that is in the job before its first instruction.
func startIn(job windows.Handle, l launch) (*child, error) {
	attr := *l.attr
	attr.Sys = &syscall.SysProcAttr{
		CmdLine:       l.line,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP,
	}
	pid, h, err := syscall.StartProcess(l.path, l.argv, &attr)
	if err != nil {
		e := &StartError{Step: StepExec, Path: l.path, Err: err}
		if info, serr := os.Stat(attr.Dir); attr.Dir != "" && (serr != nil || !info.IsDir()) {
			e.Step, e.Path = StepChdir, attr.Dir
		}
		return nil, e
	}
	handle := windows.Handle(h)
	err = windows.AssignProcessToJobObject(job, handle)
	if err == nil {
		err = resume(pid)
	}
	if err != nil {
		_ = windows.TerminateProcess(handle, killedCode)
		return nil, &StartError{Step: StepFork, Err: errors.Join(err, windows.CloseHandle(handle))}
	}
	return &child{pid: pid, handle: handle, job: job}, nil
}

// resume lets a process begin: it has one thread, which is suspended.
func resume(pid int) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != uint32(pid) {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("open thread: %w", err)
		}
		defer func() { _ = windows.CloseHandle(thread) }()
		if _, err := windows.ResumeThread(thread); err != nil {
			return fmt.Errorf("resume thread: %w", err)
		}
		return nil
	}
	return fmt.Errorf("find the thread of process %d: %w", pid, err)
}

// maxListed is how many processes of a job are listed.
const maxListed = 1024

func (jobRung) members(tr *Tree) (found []member) {
	// JOBOBJECT_BASIC_PROCESS_ID_LIST, which ends in an array.
	var ids struct {
		assigned, listed uint32
		pids             [maxListed]uintptr
	}
	err := windows.QueryInformationJobObject(tr.place.job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&ids)), uint32(unsafe.Sizeof(ids)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return nil
	}
	for _, pid := range ids.pids[:min(ids.listed, maxListed)] {
		m := describe(int(pid))
		if m.pid == tr.main.pid && len(found) > 0 {
			found = append([]member{m}, found...)
			continue
		}
		found = append(found, m)
	}
	return found
}

func describe(pid int) member {
	m := member{pid: pid, name: "?"}
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return m
	}
	defer func() { _ = windows.CloseHandle(h) }()
	m.start = started(h)
	name := make([]uint16, windows.MAX_LONG_PATH)
	n := uint32(len(name))
	if windows.QueryFullProcessImageName(h, 0, &name[0], &n) == nil {
		m.name = filepath.Base(windows.UTF16ToString(name[:n]))
	}
	return m
}

// started is when a process began; 0 if that cannot be seen.
func started(h windows.Handle) uint64 {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(h, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	return uint64(created.Nanoseconds())
}

func (r jobRung) empty(tr *Tree) bool { return len(r.members(tr)) == 0 }

func (r jobRung) slay(tr *Tree, k *kill) {
	if tr.main.signalGroup(syscall.SIGKILL) != nil {
		_ = windows.TerminateJobObject(tr.place.job, killedCode) // the main process has ended
	}
	began, last := time.Now(), -1
	for {
		found := r.members(tr)
		for _, m := range found {
			k.saw(m.pid)
		}
		if len(found) == 0 && tr.main.isReaped() || time.Since(began) > stamina {
			return
		}
		if len(found) != last {
			began, last = time.Now(), len(found)
		} else if time.Since(began) > patience {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (jobRung) release(tr *Tree) { _ = windows.CloseHandle(tr.place.job) }

func (jobRung) close() error { return nil }

// Holders are not known here: nil.
func (tr *Tree) Holders(*os.File) []sallyport.Process { return nil }
