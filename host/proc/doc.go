// Package proc owns process trees: it starts a command so that everything the command will ever start can be found
// again, and it can signal, count, kill and wait for all of it. It knows nothing of sessions, output or policy.
//
// A [Table] is the process's way of starting trees, a [Tree] is one command and its descendants. Two invariants hold on
// every system: a signal goes only to a process that is known to be the one that was meant (an unreaped child, a
// verified pidfd, a job), never to a bare number; and a kill is over when it has been seen that nothing is left, or its
// report names what is left.
//
// # Rungs
//
// How a tree is kept together depends on what the system allows. [Open] tries by doing, best first.
//
// "cgroup" (Linux, cgroup v2 writable: root, or a delegated subtree that this process itself was started in). A tree
// lives in a cgroup directory of its own, taken from a pool. Killing is cgroup.kill, the proof is "populated 0". Needs
// Linux 5.14.
//
// "mark" (Linux, needs nothing but Linux 5.4). A tree inherits a mark that clearing the environment does not remove:
// its soft RLIMIT_RTTIME, a number that no other tree has, set on ourselves under a lock just before the clone and
// reset after it. (The limit concerns real-time scheduling only and is larger than any program's use.) A second sign is
// an environment variable. This process becomes a child sub-reaper, so that whoever loses its parent in a tree becomes
// our child. Then killing needs no walk: kill the direct children that carry the mark and reap them, which makes their
// children ours, until there are none. The proof is one reading of the list of our children that began after the main
// process was reaped and holds nothing of the tree: any process of a tree has an ancestor that is a direct child of
// ours. A process that changes one of the two signs to another tree's belongs to both. One that removes both is killed
// as soon as it loses its parent, as an orphan that nobody owns.
//
// "job" (Windows): a Job Object without breakaway that dies with its handle; TERM is CTRL_BREAK to the process group.
//
// "group" (macOS and other Unix): a session and its process group, and on macOS the processes whose environment carries
// the marker. A program that leaves its group (setsid, a daemon) and clears its environment is lost: neither its life
// nor its death can be seen.
//
// # Own
//
// With [Options.Own] the process has no other purpose than its trees: it becomes a child sub-reaper, reaps adopted
// orphans within milliseconds, and ends those that no live tree owns. Exit statuses of children that other code of this
// process started (os/exec) are never taken. The one condition: such children stay in this process's own session, as
// they do unless they are given Setsid. Without Own nothing outside of the trees is touched, and the mark rung is weaker:
// it finds processes by reading all of /proc for the mark, which a program that forks and exits faster than that can
// outrun; then the report names survivors, or [Table.Caveats] is all the warning there is.
//
// # What a child inherits
//
// A new session without a controlling terminal, the three standard descriptors, and the marker variables. No other
// descriptors: Go opens none that would be inherited, and with Own those that this process has inherited are closed, too.
// Signals have their default action, except those that this process ignores: Go's runtime resets handlers at a fork but
// leaves SIG_IGN alone. With Own, HUP and INT, which a process started by nohup or in the background ignores, are caught
// instead, so that children get the default. The signal mask is the one that this process was started with; Go offers
// no way to change it for a child. There is no parent-death signal: it would fire when a thread ends.
//
// # Limits on tasks
//
// [Spec.Pids] is enforced by the first of these that works. The pids controller of cgroup v2: exact, per tree. Its v1
// hierarchy, as root: the thread that forks enters a directory of the tree, which costs about 0.05 ms a start (10 ms after
// a pause) and counts that thread as one more. RLIMIT_NPROC, as an ordinary user: it counts all tasks of the user, so the
// limit is what the user had at the start plus Pids, and what else the user starts later eats into it: use it with large
// numbers only. Otherwise there is no limit. [Table.Caveats] says which of the last two it is.
//
// # What stays outside
//
// A process that another daemon starts on a tree's behalf (a tmux server, systemd-run, at, a container engine) is not
// the tree's and is not found. A program that raises its privileges (sudo) may be one that we have no right to kill: it is
// reported as a survivor. And a command is our child, so its "kill $PPID" means us: who must survive that takes its orders
// from elsewhere than signals.
package proc
