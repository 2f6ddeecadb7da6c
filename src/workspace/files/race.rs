//! Tests the file tools while another thread keeps swapping a directory and a link: whatever the
//! timing, nothing behind the link is read, listed, written or deleted.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::workspace::testing::Tree;

/// Content of the files behind the link.
const SECRET: &str = "secret-behind-the-link";
/// Calls of each tool.
const ROUNDS: usize = 2_000;

/// Exchanges two names in a loop until dropped.
struct Exchange {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Exchange {
    fn of(a: PathBuf, b: PathBuf) -> Self {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&done));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                exchange(&a, &b);
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { stop, done, thread: Some(thread) }
    }

    /// Waits for the next exchange, so that the two threads interleave.
    fn once_more(&self) {
        let before = self.done.load(Ordering::Relaxed);
        while self.done.load(Ordering::Relaxed) == before {
            std::thread::yield_now();
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

/// Not atomic, but the best approximation without an exchange.
#[cfg(not(target_os = "linux"))]
fn exchange(a: &Path, b: &Path) {
    let aside = a.with_extension("aside");
    std::fs::rename(a, &aside).unwrap();
    std::fs::rename(b, a).unwrap();
    std::fs::rename(&aside, b).unwrap();
}

/// Runs the tools on a tree with `dir/` and, beside it, `link` to `target`; both contain `file`.
fn raced(target: &str, file: &str) {
    let tree = Tree::new();
    let root = tree.root().to_owned();
    let behind = root.join(target);
    std::fs::create_dir_all(&behind).unwrap();
    std::fs::write(behind.join(file), SECRET).unwrap();
    std::fs::write(behind.join("only-there"), SECRET).unwrap();
    tree.put(&format!("dir/{file}"), "harmless\n");
    symlink(target, root.join("link")).unwrap();
    let race = Exchange::of(root.join("dir"), root.join("link"));
    let path = format!("dir/{file}");
    let mut answers = Vec::new();
    for round in 0..ROUNDS {
        if round % 50 == 0 {
            race.once_more();
        }
        answers.push(tree.workspace.read(&path, None, None));
        answers.push(tree.workspace.read("dir/only-there", None, None));
        answers.push(tree.workspace.write("dir/new", &format!("harmless {round}\n")));
        answers.push(tree.workspace.write("dir/sub/new", &format!("harmless {round}\n")));
        if round % 10 == 0 {
            answers.push(tree.workspace.delete("dir/only-there"));
            answers.push(tree.workspace.search("secret", "dir", None));
            answers.push(tree.workspace.list("dir", None, None));
        }
    }
    drop(race);
    let mut got = 0;
    for answer in answers {
        let text = answer.unwrap_or_else(|refusal| refusal.message);
        assert!(!text.contains(SECRET), "{text}");
        assert!(!text.contains("only-there\n") && !text.ends_with("/only-there"), "{text}");
        got += usize::from(text.contains("harmless"));
    }
    assert!(got > 0, "nothing was read at all");
    assert_eq!(std::fs::read_to_string(behind.join(file)).unwrap(), SECRET);
    let left: Vec<_> = std::fs::read_dir(&behind).unwrap().flatten().collect();
    let mut left: Vec<_> = left.iter().map(std::fs::DirEntry::file_name).collect();
    left.sort();
    left.retain(|name| name != ".git" && name != "outside");
    assert!(left.iter().any(|name| name == "only-there"), "{left:?}");
    for name in ["new", "sub", ".new.cowork-new"] {
        assert!(!left.iter().any(|left| left == name), "{left:?}");
    }
}

#[test]
fn a_link_out_of_the_tree_is_never_followed() {
    raced("../elsewhere", "config");
}

/// The handle of the root alone does not exclude this link, because `.git` is inside the tree.
#[test]
fn a_link_to_git_is_never_followed() {
    raced(".git/info", "config");
}
