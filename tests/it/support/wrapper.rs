//! A `git` that comes before the real one on `PATH` and counts its calls: at a chosen call it stops
//! its parent, or itself.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use rustix::fs::OFlags;
use rustix::process::Signal;

use super::sandbox::Sandbox;

/// How the program is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Kill,
    Interrupt,
    Terminate,
    /// SIGINT again and again, until the program has ended.
    Insist,
    /// SIGINT for the program and git, as a terminal sends it.
    GroupInterrupt,
    /// SIGTERM for the program and git, as `timeout` sends it.
    GroupTerminate,
}

impl How {
    pub const fn signal(self) -> Signal {
        match self {
            Self::Kill => Signal::KILL,
            Self::Interrupt | Self::Insist | Self::GroupInterrupt => Signal::INT,
            Self::Terminate | Self::GroupTerminate => Signal::TERM,
        }
    }

    /// What a child does to its parent.
    const fn shell(self) -> &'static str {
        match self {
            Self::Kill => "kill -9 $PPID",
            Self::Interrupt => "kill -INT $PPID",
            Self::Terminate => "kill -TERM $PPID",
            Self::GroupInterrupt => "trap - INT; kill -INT 0",
            Self::GroupTerminate => "kill -TERM 0",
            Self::Insist => "while kill -INT $PPID 2>/dev/null; do :; done",
        }
    }
}

/// The order of the program's death and its git child's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The program dies before the child does anything.
    Before,
    /// The child outlives the program and does its work.
    Beside,
    /// The child has done its work, but the program never learns of it.
    After,
    /// The child has locked what it writes when it is killed: alone, or with [`How::Kill`] together
    /// with the program.
    Locked,
}

/// A `git` that comes before the real one on `PATH`, counts its calls, and kills its parent.
///
/// Two may run at the same time: each call takes the next number by making the file of that name,
/// which only one can make.
pub fn children_killed_at(sandbox: &Sandbox, at: u64, side: Side, how: How) {
    let git = real_git().display().to_string();
    let calls = sandbox.root().join("children");
    let _ = fs::remove_dir_all(&calls);
    fs::create_dir(&calls).unwrap();
    let last = calls.join("last");
    fs::write(&last, "0\n").unwrap();
    let (calls, last) = (calls.display().to_string(), last.display().to_string());
    let alive = sandbox.root().join("alive");
    if matches!(side, Side::Beside) && !alive.exists() {
        let made = std::process::Command::new("mkfifo").arg(&alive).status().unwrap();
        assert!(made.success());
    }
    let stop = how.shell();
    let act = match side {
        // A Ctrl-C reaches the child as well.
        Side::Before if how == How::Kill => format!("{stop}; exit 1"),
        Side::Before => format!("{stop}; trap - INT; kill -INT $$; exit 1"),
        Side::Beside => format!("exec 9<>'{}'; {stop}", alive.display()),
        Side::After => format!("'{git}' \"$@\"; code=$?; {stop}; exit $code"),
        Side::Locked => {
            let lock = sandbox.path(".git/index.lock").display().to_string();
            let stop = if how == How::Kill { stop } else { ":" };
            format!(
                "case \"$GIT_INDEX_FILE $*\" in ' '*' commit '*|' '*' switch '*|' '*' restore '*|\
                 ' '*' reset '*|' '*' add '*|' '*' update-index '*) : >'{lock}';; esac\n\
                 {stop}; kill -9 $$"
            )
        }
    };
    let script = format!(
        "read -r n <'{last}'; n=$((n + 1))\n\
         until (set -C; : >'{calls}'/$n) 2>/dev/null; do n=$((n + 1)); done\n\
         echo $n >'{last}'\n\
         if [ $n = {at} ]; then {act}; fi\nexec '{git}' \"$@\""
    );
    sandbox.executable(&sandbox.root().join("bin/git"), &script);
}

/// Removes that `git`; returns the number of children.
pub fn children_of(sandbox: &Sandbox) -> u64 {
    fs::remove_file(sandbox.root().join("bin/git")).unwrap();
    let files = fs::read_dir(sandbox.root().join("children")).unwrap().count() as u64;
    // One of them is the last number.
    files - 1
}

/// Waits for a child that outlived the program: while the child lives, the pipe has a writer.
pub fn orphan_ends(sandbox: &Sandbox) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let nonblocking = OFlags::NONBLOCK.bits().try_into().unwrap();
    let alive = sandbox.root().join("alive");
    let Ok(mut pipe) = fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(alive)
    else {
        return;
    };
    rustix::fs::fcntl_setfl(&pipe, OFlags::empty()).unwrap();
    pipe.read_to_end(&mut Vec::new()).unwrap();
}

fn real_git() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file()).unwrap()
}
