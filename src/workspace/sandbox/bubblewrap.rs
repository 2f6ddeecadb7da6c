//! The system's bubblewrap: where only it may make namespaces (Ubuntu 25.04 has a profile for it, and
//! for nothing else), it arranges the mounts that `mounts` would. Inside, this program goes on as the
//! helper, with Landlock and its filter of system calls.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::covers::Cover;
use super::spec::{HELPER_WORD, Spec};
use super::{door, mounts, namespaces, sockets};

/// Profiles are for this path.
pub(super) const PROGRAM: &str = "/usr/bin/bwrap";
/// Where this program is inside: its own place may be in a home that is closed.
const HELPER: &str = "/dev/git-cowork";
/// What shows the keys of other programs.
const KEYS: [&str; 2] = ["/proc/keys", "/proc/key-users"];

/// What runs `words` inside.
pub(super) fn command(
    spec: &Spec,
    out: Option<&OwnedFd>,
    words: &[OsString],
) -> anyhow::Result<Command> {
    ensure!(Path::new(PROGRAM).exists(), "bubblewrap is not installed");
    ensure!(spec.root != Path::new("/"), "the working tree is the whole file system");
    namespaces::refuse_foreign_tree(spec)?;
    let program = std::fs::read_link("/proc/self/exe").context("finding this program")?;
    let live = sockets::live().context("looking for sockets of other programs")?;
    let mut command = Command::new(PROGRAM);
    command.args(arguments(spec, &program, &live)?);
    // Of what it is told, Landlock needs no more inside.
    let inside = Spec {
        inside: true,
        sealed: Vec::new(),
        hidden: Vec::new(),
        closed: Vec::new(),
        kept: Vec::new(),
        ..spec.clone()
    };
    let inside = serde_json::to_string(&inside)?;
    command.args(["--", HELPER, HELPER_WORD]);
    command.args(out.map(|out| door::word(out.as_raw_fd())));
    command.arg(&inside).args(words);
    Ok(command)
}

/// Options in the order in which it follows them: what is above comes before what is below.
fn arguments(
    spec: &Spec,
    program: &Path,
    live: &BTreeSet<PathBuf>,
) -> anyhow::Result<Vec<OsString>> {
    let nothing = nothing(spec).context("making an empty file")?;
    let mut all = Arguments::default();
    all.words(&["--unshare-user-try", "--unshare-ipc", "--unshare-pid", "--cap-drop", "ALL"]);
    all.words(&["--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--proc", "/proc"]);
    if !spec.network {
        all.words(&["--unshare-net"]);
    }
    all.words(&["--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm"]);
    all.at("--ro-bind", program, Path::new(HELPER));
    for path in KEYS {
        all.hide(Path::new(path), &nothing);
    }
    if let Some(users) = &spec.users {
        all.at("--ro-bind", users, Path::new(mounts::USERS));
    }
    let empty = all.places(spec)?;
    for path in &spec.sealed {
        all.at("--ro-bind", path, path);
    }
    let is_there = |path: &&PathBuf| !path.starts_with("/dev") && !empty.hold(path);
    spec.hidden.iter().chain(live).filter(is_there).for_each(|path| all.hide(path, &nothing));
    all.0.extend(["--chdir".into(), spec.root.clone().into_os_string()]);
    Ok(all.0)
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

/// What lies at a path inside.
#[derive(Clone, Copy)]
enum Place<'a> {
    Cover(&'a Cover),
    Closed,
    Back(&'static str),
}

impl Arguments {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn at(&mut self, option: &str, from: &Path, to: &Path) {
        self.0.extend([OsStr::new(option), from.as_os_str(), to.as_os_str()].map(OsString::from));
    }

    fn on(&mut self, option: &str, path: &Path) {
        self.0.extend([OsString::from(option), path.into()]);
    }

    /// Lets a file, directory or socket look empty, as `nothing` is.
    fn hide(&mut self, path: &Path, nothing: &Path) {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => {
                self.on("--tmpfs", path);
                self.on("--remount-ro", path);
            }
            Ok(_) => self.at("--ro-bind", nothing, path),
            Err(_) => {}
        }
    }

    /// A command's own directories, closed homes, and what comes back of what lies below them.
    fn places(&mut self, spec: &Spec) -> anyhow::Result<Emptied> {
        let covers = spec.covers.iter().map(|cover| (&cover.at, Place::Cover(cover)));
        let closed = spec.closed.iter().map(|home| (home, Place::Closed));
        let mut places: Vec<(&PathBuf, Place<'_>)> = covers.chain(closed).collect();
        let above: Vec<PathBuf> = places.iter().map(|(at, _)| (*at).clone()).collect();
        let below =
            |path: &&PathBuf| above.iter().any(|cover| *path != cover && path.starts_with(cover));
        let writable: Vec<&PathBuf> = std::iter::once(&spec.root).chain(&spec.writable).collect();
        let ours = |path: &&PathBuf| writable.iter().any(|ours| path.starts_with(ours));
        let kept = spec.kept.iter().chain(&spec.sealed).filter(below).filter(|path| !ours(path));
        places.extend(kept.map(|path| (path, Place::Back("--ro-bind"))));
        places.extend(writable.iter().map(|path| (*path, Place::Back("--bind"))));
        places.sort_by_key(|(at, _)| at.components().count());
        let mut read_only: Vec<PathBuf> = Vec::new();
        let mut done: Vec<(&Path, Place<'_>)> = Vec::new();
        for (at, place) in places {
            let lies_in = done.iter().rev().find(|(up, _)| at != up && at.starts_with(up));
            if let Some((up, Place::Cover(_))) = lies_in {
                // The directories on the way are in a mount of their own: an earlier command may have
                // written to what covers, and a later one must not move them.
                let names = at.strip_prefix(up)?.components().count();
                let top = at.ancestors().nth(names - 1).filter(|_| names > 1);
                if let Some(top) = top.filter(|top| !read_only.iter().any(|made| made == top)) {
                    self.on("--tmpfs", top);
                    read_only.push(top.to_owned());
                }
            }
            match place {
                Place::Cover(Cover { with: Some(own), read_only, .. }) => {
                    self.at(if *read_only { "--ro-bind" } else { "--bind" }, own, at);
                }
                Place::Cover(_) => self.on("--tmpfs", at),
                Place::Closed => {
                    self.on("--tmpfs", at);
                    read_only.push(at.clone());
                }
                Place::Back(option) => self.at(option, at, at),
            }
            done.push((at, place));
        }
        if spec.covers.iter().any(|cover| cover.at == Path::new(mounts::OF_SYSTEM)) {
            for (link, to) in mounts::links(Path::new(mounts::OF_SYSTEM)) {
                self.at("--symlink", &to, &link);
            }
        }
        read_only.iter().for_each(|path| self.on("--remount-ro", path));
        let done = done.iter();
        let done = done.map(|(at, place)| (at.to_path_buf(), matches!(place, Place::Back(_))));
        Ok(Emptied(done.collect()))
    }
}

/// What was mounted, what is above before what is below, and whether it is what was there before.
struct Emptied(Vec<(PathBuf, bool)>);

impl Emptied {
    /// Whether this path is not there any more.
    fn hold(&self, path: &Path) -> bool {
        self.0.iter().rev().find(|(at, _)| path.starts_with(at)).is_some_and(|(_, back)| !back)
    }
}

/// An empty file: beside a command's own directories, where it does not see it. A device would not be
/// opened, as on no mount of a command one is.
fn nothing(spec: &Spec) -> std::io::Result<PathBuf> {
    let own = spec.covers.iter().find_map(|cover| cover.with.as_ref()?.parent());
    let Some(own) = own else { return Ok("/dev/null".into()) };
    let empty = own.join("empty");
    if !empty.exists() {
        File::create(&empty)?;
    }
    Ok(empty)
}
