//! The processes that a command started, so that none is left afterwards.
//!
//! Killing the process group is not enough: a child that calls `setsid` leaves the group. On Linux
//! git-cowork makes itself the subreaper while a command runs, so every descendant of the command
//! stays below it. Direct children that belong to the command are recognized by their session:
//! git-cowork's other children (git, an editor) are in git-cowork's session, which the command's
//! processes cannot join. On other systems only the process group is killed.

#[cfg(target_os = "linux")]
pub(crate) use linux::ProcessTree;
#[cfg(target_os = "linux")]
pub use linux::abandon;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::ProcessTree;
#[cfg(not(target_os = "linux"))]
pub use other::abandon;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeSet, HashMap};
    use std::time::{Duration, Instant};

    use rustix::process::{
        Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
    };

    /// Maximum time for killed processes to end; only one stuck in the kernel takes longer.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// The processes of one command. Dropping it kills the remaining ones. The caller ensures that
    /// only one exists at a time.
    pub(crate) struct ProcessTree {
        /// Children that existed before the command.
        strangers: BTreeSet<i32>,
        leader: Option<i32>,
    }

    impl ProcessTree {
        pub(crate) fn begin() -> Self {
            if let Err(error) = set_child_subreaper(Some(getpid())) {
                tracing::warn!("cannot track orphaned child processes of commands: {error}");
            }
            let me = getpid().as_raw_pid();
            let strangers =
                processes().iter().filter(|(_, p)| p.parent == me).map(|(pid, _)| *pid).collect();
            Self { strangers, leader: None }
        }

        /// Sets the process that the caller waits for.
        pub(crate) fn led_by(&mut self, pid: Option<u32>) {
            self.leader = pid.and_then(|pid| i32::try_from(pid).ok());
        }

        /// Kills all remaining processes and waits until they are gone, except the leader: the
        /// caller waits for it.
        pub(crate) fn end(&self) {
            let begun = Instant::now();
            // If the command is confined, the leader is the first process of its PID namespace:
            // killing it kills all others at once, before any of them can fork.
            let me = getpid().as_raw_pid();
            if let Some(leader) = self.leader
                && processes().get(&leader).is_some_and(|p| p.parent == me && !p.dead)
            {
                signal(leader, Signal::KILL);
            }
            loop {
                self.stop_all();
                let members = self.members();
                for pid in &members {
                    signal(*pid, Signal::KILL);
                }
                let mut left = false;
                for pid in members {
                    if Some(pid) != self.leader {
                        left |= !gone(pid);
                    }
                }
                let led =
                    self.leader.is_some_and(|pid| processes().get(&pid).is_some_and(|p| !p.dead));
                if !left && !led && self.members().is_empty() {
                    return;
                }
                if begun.elapsed() > PATIENCE {
                    tracing::warn!("a process of a command cannot be killed");
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }

        /// Stops all processes: stopped processes cannot fork, so none escapes the kill.
        fn stop_all(&self) {
            let mut stopped = BTreeSet::new();
            loop {
                let new: Vec<_> =
                    self.members().into_iter().filter(|pid| stopped.insert(*pid)).collect();
                if new.is_empty() {
                    return;
                }
                for pid in new {
                    signal(pid, Signal::STOP);
                }
            }
        }

        /// Returns the processes that still run, and the dead children of this process that are not
        /// reaped yet, except the leader if it is dead.
        fn members(&self) -> Vec<i32> {
            let me = getpid().as_raw_pid();
            let all = processes();
            // Zero if the session's leader is outside this PID namespace (in a container).
            let session = all.get(&me).map_or(0, |p| p.session);
            let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
            for (pid, process) in &all {
                children.entry(process.parent).or_default().push(*pid);
            }
            let ours = |pid: &&i32| {
                !self.strangers.contains(*pid)
                    && all.get(*pid).is_some_and(|p| p.session != session)
            };
            let mut found: Vec<i32> =
                children.get(&me).into_iter().flatten().filter(ours).copied().collect();
            let mut at = 0;
            while let Some(pid) = found.get(at) {
                found.extend(children.get(pid).into_iter().flatten());
                at += 1;
            }
            // Only the parent can reap a zombie.
            found.retain(|pid| {
                all.get(pid).is_some_and(|p| !p.dead || p.parent == me && Some(*pid) != self.leader)
            });
            found
        }
    }

    /// Kills the processes of all commands, from any thread, without waiting. Called when
    /// git-cowork is about to exit: nothing reaps the killed processes before that, so no process
    /// ID is reused.
    pub fn abandon() {
        let all =
            std::mem::ManuallyDrop::new(ProcessTree { strangers: BTreeSet::new(), leader: None });
        all.stop_all();
        for pid in all.members() {
            signal(pid, Signal::KILL);
        }
    }

    impl Drop for ProcessTree {
        fn drop(&mut self) {
            self.end();
            // Daemons started by git are adopted by init again.
            let _ = set_child_subreaper(None);
        }
    }

    struct Process {
        parent: i32,
        session: i32,
        dead: bool,
    }

    /// Returns all visible processes.
    fn processes() -> HashMap<i32, Process> {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return HashMap::new();
        };
        let read = |entry: std::fs::DirEntry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            // The name is in parentheses and may contain any character, so fields are counted after
            // it.
            let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
            let mut fields = std::str::from_utf8(rest).ok()?.split_ascii_whitespace();
            let dead = matches!(fields.next()?, "Z" | "X");
            let parent = fields.next()?.parse().ok()?;
            let session = fields.nth(1)?.parse().ok()?;
            Some((pid, Process { parent, session, dead }))
        };
        entries.flatten().filter_map(read).collect()
    }

    fn signal(pid: i32, signal: Signal) {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Reaps a child; false if it still runs, or is not a child of this process.
    fn gone(pid: i32) -> bool {
        let Some(child) = Pid::from_raw(pid) else {
            return true;
        };
        match waitpid(Some(child), WaitOptions::NOHANG) {
            Ok(reaped) => reaped.is_some(),
            // Not a child of this process (yet): its parent is being killed too.
            Err(_) => false,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    /// Does nothing: only the waiting thread knows a command's processes on this system.
    pub const fn abandon() {}

    /// The processes of one command: the process group of its leader.
    pub(crate) struct ProcessTree {
        leader: Option<i32>,
    }

    impl ProcessTree {
        pub(crate) fn begin() -> Self {
            Self { leader: None }
        }

        /// Sets the process that the caller waits for.
        pub(crate) fn led_by(&mut self, pid: Option<u32>) {
            self.leader = pid.and_then(|pid| i32::try_from(pid).ok());
        }

        /// Kills the process group.
        pub(crate) fn end(&self) {
            #[cfg(unix)]
            if let Some(pid) = self.leader.and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
            }
        }
    }

    impl Drop for ProcessTree {
        fn drop(&mut self) {
            self.end();
        }
    }
}
