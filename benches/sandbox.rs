//! What confinement costs: a command in the sandbox next to the same command without, as a ratio; and
//! next to the same command in bubblewrap, where that is installed, with the same places mounted.
//! The samples alternate, so that a busy machine slows both; medians are compared.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

const SAMPLES: usize = 151;
/// Repositories below the tree.
const NESTED: usize = 20;

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("repo");
    let git = |args: &[&str]| {
        let status = Command::new("git").args(args).current_dir(&root).status().unwrap();
        assert!(status.success(), "git {args:?}");
    };
    std::fs::create_dir(&root).unwrap();
    git(&["init", "-q"]);
    for n in 0..1_000 {
        std::fs::write(root.join(n.to_string()), "x\n").unwrap();
    }
    git(&["add", "-A"]);
    let mut sealed = vec![root.join(".git")];
    println!("median of {SAMPLES}; ms without, ms with, ratio");
    for command in ["true", "git --version", "git status --short >/dev/null"] {
        for level in ["namespaces", "landlock"] {
            compare(&root, level, command, &sealed);
        }
    }
    for n in 0..NESTED {
        let path = format!("vendor/{n}");
        git(&["init", "-q", &path]);
        sealed.push(root.join(path).join(".git"));
    }
    println!("with {NESTED} repositories below the tree");
    for level in ["namespaces", "landlock"] {
        compare(&root, level, "true", &sealed);
    }
}

fn compare(root: &Path, level: &str, command: &str, sealed: &[PathBuf]) {
    // As a run has it: directories of its own, and keys to hide.
    let own = root.with_file_name("own");
    std::fs::create_dir_all(&own).unwrap();
    let covers = [("/tmp", Some(&own)), ("/var/tmp", Some(&own)), ("/run", None)];
    let covers = covers.map(|(at, with)| json!({"at": at, "with": with}));
    let hidden = ["/etc/shadow", "/etc/gshadow"].map(Path::new).into_iter();
    let hidden: Vec<_> = hidden.filter(|path| std::fs::File::open(path).is_ok()).collect();
    // A home below what is covered, with toolchains in it.
    let home = root.with_file_name("home");
    let kept =
        [".cargo/bin", ".cargo/registry", ".rustup", ".local/bin"].map(|path| home.join(path));
    kept.iter().for_each(|path| std::fs::create_dir_all(path).unwrap());
    let spec = json!({
        "closed": [home], "kept": kept, "level": level, "root": root, "sealed": sealed, "writable": [], "hidden": hidden,
        "covers": covers, "network": false
    });
    let shell = ["sh", "-c", command];
    let without = || Command::new(shell[0]).args(&shell[1..]).current_dir(root).quietly();
    // The program that was built with the benchmark, or another one to be measured.
    let built = || env!("CARGO_BIN_EXE_git-cowork").into();
    let program = std::env::var_os("COWORK_BENCH_PROGRAM").unwrap_or_else(built);
    let with = || {
        let mut helper = Command::new(&program);
        helper.args(["__sandbox", &spec.to_string()]).args(shell).current_dir(root).quietly()
    };
    if with().is_none() {
        println!("{command}: not to be confined by {level} here");
        return;
    }
    let in_bubblewrap = || {
        let mut other = bubblewrap(root, &own, &home, &kept, sealed, &hidden);
        other.args(shell).current_dir(root).quietly()
    };
    let peer = level == "namespaces" && in_bubblewrap().is_some();
    let (mut plain, mut confined, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        plain.push(without().unwrap());
        confined.push(with().unwrap());
        others.extend(peer.then(|| in_bubblewrap().unwrap()));
    }
    let (plain, confined) = (median(plain), median(confined));
    print!("{command}, {level}: {plain:.2} {confined:.2} x{:.2}", confined / plain);
    if peer {
        let other = median(others);
        print!("; bubblewrap {other:.2}, ours to it x{:.2}", confined / other);
    }
    println!();
}

/// Bubblewrap with the mounts and namespaces that our sandbox has.
fn bubblewrap(
    root: &Path,
    own: &Path,
    home: &Path,
    kept: &[PathBuf],
    sealed: &[PathBuf],
    hidden: &[&Path],
) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--new-session"]);
    command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"]);
    let covered = |path: &Path| path.starts_with("/tmp") || path.starts_with("/var/tmp");
    for at in ["/tmp", "/var/tmp"] {
        command.arg("--bind").arg(own).arg(at);
    }
    if !covered(home) {
        command.arg("--tmpfs").arg(home);
    }
    command.arg("--bind").args([root, root]);
    for path in kept.iter().chain(sealed) {
        command.arg("--ro-bind").args([path, path]);
    }
    for path in hidden {
        command.args(["--ro-bind", "/dev/null"]).arg(path);
    }
    command
}

trait Quietly {
    /// How long it took; `None` when it failed.
    fn quietly(&mut self) -> Option<Duration>;
}

impl Quietly for Command {
    fn quietly(&mut self) -> Option<Duration> {
        self.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let begin = Instant::now();
        let status = self.status().unwrap();
        status.success().then(|| begin.elapsed())
    }
}

fn median(mut samples: Vec<Duration>) -> f64 {
    samples.sort();
    samples[samples.len() / 2].as_secs_f64() * 1e3
}
