//! What confinement costs: a command in the sandbox next to the same command without, as a ratio.
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
    let with = || {
        let mut helper = Command::new(env!("CARGO_BIN_EXE_git-cowork"));
        helper.args(["__sandbox", &spec.to_string()]).args(shell).current_dir(root).quietly()
    };
    if with().is_none() {
        println!("{command}: not to be confined by {level} here");
        return;
    }
    let (mut plain, mut confined) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        plain.push(without().unwrap());
        confined.push(with().unwrap());
    }
    let (plain, confined) = (median(plain), median(confined));
    println!("{command}, {level}: {plain:.2} {confined:.2} x{:.2}", confined / plain);
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
