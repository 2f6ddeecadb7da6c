//! Confinement with the system's bubblewrap, for systems where only bubblewrap may create
//! namespaces (Ubuntu 25.04 has an AppArmor profile only for bubblewrap). Bubblewrap makes the
//! mounts that `mounts` would make; inside, git-cowork continues as the helper, with Landlock and
//! its system call filter.

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

/// The path of bubblewrap that AppArmor profiles name.
pub(super) const PROGRAM: &str = "/usr/bin/bwrap";
/// Path of git-cowork inside the sandbox: its real path may be in a closed home.
const HELPER: &str = "/dev/git-cowork";
/// Files that list the kernel's keys, including those of other programs.
const KEYS: [&str; 2] = ["/proc/keys", "/proc/key-users"];

/// Returns the command that runs `words` inside the sandbox.
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
    // Inside the sandbox, Landlock does not need the fields that are cleared here.
    let inside = Spec {
        inside: true,
        sealed: Vec::new(),
        hidden: Vec::new(),
        closed: Vec::new(),
        kept: Vec::new(),
        shown: Vec::new(),
        ..spec.clone()
    };
    let inside = serde_json::to_string(&inside)?;
    command.args(["--", HELPER, HELPER_WORD]);
    command.args(out.map(|out| door::word(out.as_raw_fd())));
    command.arg(&inside).args(words);
    Ok(command)
}

/// Returns the options in the order in which bubblewrap applies them: parent directories first.
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
    for file in &spec.shown {
        if let Some(own) = &file.with {
            all.at("--ro-bind", own, &file.at);
        }
    }
    let is_there = |path: &&PathBuf| !path.starts_with("/dev") && !empty.hold(path);
    spec.hidden.iter().chain(live).filter(is_there).for_each(|path| all.hide(path, &nothing));
    all.0.extend(["--chdir".into(), spec.root.clone().into_os_string()]);
    Ok(all.0)
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

/// What is mounted at a path inside the sandbox.
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

    /// Makes a file, directory or socket look empty; `nothing` is an empty file.
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

    /// Mounts a command's own directories, closed homes, and the paths below them that stay
    /// visible.
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
                // The directories between the covering directory and this path are on a separate
                // read-only mount: an earlier command may have written to the covering directory,
                // and a later command must not move the directories in between.
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
                Place::Back(option) => {
                    let content = spec.content.as_ref().filter(|_| *at == spec.root);
                    self.at(option, content.unwrap_or(at), at);
                }
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

/// The mounts, parents first; true if a mount shows the original content.
struct Emptied(Vec<(PathBuf, bool)>);

impl Emptied {
    /// True if this path is no longer visible.
    fn hold(&self, path: &Path) -> bool {
        self.0.iter().rev().find(|(at, _)| path.starts_with(at)).is_some_and(|(_, back)| !back)
    }
}

/// Returns an empty file, placed beside a command's own directories, where the command cannot see
/// it. A device cannot be used: a command's mounts do not allow opening devices.
fn nothing(spec: &Spec) -> std::io::Result<PathBuf> {
    let own = spec.covers.iter().find_map(|cover| cover.with.as_ref()?.parent());
    let Some(own) = own else { return Ok("/dev/null".into()) };
    let empty = own.join("empty");
    if !empty.exists() {
        File::create(&empty)?;
    }
    Ok(empty)
}
