//! The one step with the network: asked about once for each content of the files that say what is
//! fetched, before the first command that may need it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::command::CommandResult;
use super::super::sandbox::Sandbox;
use super::super::{Workspace, shell};
use super::{Need, Seen, look, needs, python};

/// Asks and hears about fetching.
pub trait Fetching {
    /// Whether this may be fetched; else why not, as the end of a sentence: `nobody could be
    /// asked`. Fails only when the question was interrupted.
    fn may_fetch(&self, wanted: &Wanted) -> anyhow::Result<Result<(), String>>;
    /// Hears that files with this hash came of one that was allowed: a lock file was written.
    fn became(&self, hash: &str);
    /// Hears what happens, for a person; `bad` when something does not work because of it.
    fn tell(&self, text: &str, bad: bool);
}

/// What is to be fetched.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The exact command.
    pub command: String,
    /// The package manager and its files: `cargo: Cargo.lock, Cargo.toml`.
    pub named: String,
    /// SHA-256 of these files.
    pub hash: String,
}

/// What is known in this run.
#[derive(Default)]
pub(in super::super) struct Known {
    seen: RefCell<Vec<Seen>>,
    needs: RefCell<Vec<(String, Need)>>,
    /// By hash: fetched, or nothing to fetch; else why not.
    settled: RefCell<BTreeMap<String, Result<(), String>>>,
}

/// What a shell answers for a program that is not there (POSIX, 2.8.2).
const NO_SUCH_COMMAND: i32 = 127;

/// Commands that only look need nothing from outside.
const LOOKS: [&str; 32] = [
    "awk", "basename", "cat", "cd", "cut", "date", "diff", "dirname", "du", "echo", "env", "false",
    "file", "find", "git", "grep", "head", "ls", "mkdir", "nl", "printf", "pwd", "rg", "sed",
    "sort", "stat", "tail", "test", "tree", "true", "wc", "which",
];

/// Whether a command is sure not to build anything.
fn only_looks(command: &str) -> bool {
    let script = shell::split(command);
    script.commands.iter().all(|words| words.first().is_some_and(|w| LOOKS.contains(&w.as_str())))
}

/// How a fetch that did not work ended, in one line.
fn why(result: &CommandResult) -> String {
    let said = format!("{}\n{}", result.stdout, result.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let telling = lines.iter().find(|line| line.to_lowercase().contains("error"));
    let line = telling.or(lines.last()).copied().unwrap_or("it said nothing");
    format!("{}: {line}", result.ending())
}

impl Workspace {
    /// To be called before a command: fetches what the project needs, where a person agrees.
    /// Answers with why something was not fetched, in words for a model.
    pub(in super::super) async fn fetch_dependencies(
        &self,
        command: &str,
    ) -> anyhow::Result<Vec<String>> {
        let settings = &self.commands;
        let sandbox = &settings.sandbox;
        if !settings.prefix.is_empty() || only_looks(command) || !sandbox.keeps_off_network()? {
            return Ok(Vec::new());
        }
        let known = &settings.known;
        let seen = look(&self.root);
        if *known.seen.borrow() != seen {
            let needs = needs(&self.root, &seen);
            known.needs.replace(needs.into_iter().map(|need| (need.hash(), need)).collect());
            known.seen.replace(seen);
        }
        let mut missing = Vec::new();
        let all = known.needs.borrow().clone();
        for (hash, need) in all {
            let settled = known.settled.borrow().get(&hash).cloned();
            let outcome = match settled {
                Some(outcome) => outcome,
                None => {
                    let outcome = self.settle(&hash, &need, sandbox).await?;
                    known.settled.borrow_mut().insert(hash, outcome.clone());
                    outcome
                }
            };
            if let Err(why) = outcome {
                missing.push(format!(
                    "dependencies were not fetched ({}) because {why}; commands have no network, so \
                     only what is installed can be used",
                    need.named()
                ));
            }
        }
        Ok(missing)
    }

    /// Finds out whether something is missing, asks, fetches.
    async fn settle(
        &self,
        hash: &str,
        need: &Need,
        sandbox: &Sandbox,
    ) -> anyhow::Result<Result<(), String>> {
        let Some(fetched) = sandbox.fetched() else { return Ok(Ok(())) };
        let manager = need.manager;
        let target = fetched.python(hash);
        if fetched.is_done(hash) && need.left(&self.root) {
            use_what_was_fetched(sandbox, need, &target);
            return Ok(Ok(()));
        }
        fetched.prepare()?;
        let asked: String =
            need.places.iter().map(|at| python::requirements(at, &need.files)).collect();
        if manager.name == "pip" {
            std::fs::write(target.with_extension("txt"), asked)?;
        }
        let line = |command: &str| need.line(command, &self.root, &target);
        // What was fetched for other contents may be enough, too.
        let shared = ["cargo", "go"].contains(&manager.name);
        for used in [false, true].into_iter().filter(|used| !used || shared) {
            sandbox.use_fetched(manager.name, used);
            let complete = self.run_confined(&line(manager.complete)).await?;
            // Everything is there, or the manager is not.
            if matches!(complete.exit, Some(0 | NO_SUCH_COMMAND)) {
                return Ok(Ok(()));
            }
        }
        let Some(person) = sandbox.person() else {
            return Ok(Err("nobody could be asked".to_owned()));
        };
        let named = need.named();
        let wanted =
            Wanted { command: line(manager.fetch), named: named.clone(), hash: hash.to_owned() };
        if let Err(why) = person.may_fetch(&wanted)? {
            person.tell(&not_fetched(&named, &why, &wanted.command), true);
            return Ok(Err(why));
        }
        person.tell(&format!("fetching dependencies ({named}): {}", wanted.command), false);
        // What is to be found in the tree has to be there before: where Landlock is alone, a
        // command makes nothing new at its top.
        if manager.leaves == "node_modules" {
            for place in &need.places {
                let _ = std::fs::create_dir(self.root.join(place).join(manager.leaves));
            }
        }
        let result = self.run_fetching(&wanted.command).await?;
        if !result.succeeded() {
            let why = format!("fetching them failed ({})", why(&result));
            person.tell(&not_fetched(&named, &why, &wanted.command), true);
            return Ok(Err(why));
        }
        use_what_was_fetched(sandbox, need, &target);
        if !manager.after.is_empty() {
            let after = self.run_confined(&line(manager.after)).await?;
            if !after.succeeded() {
                let text =
                    format!("{} without the network failed ({})", manager.after, why(&after));
                person.tell(&text, true);
            }
        }
        fetched.set_done(hash)?;
        self.took_to(need, hash, &|hash| {
            fetched.set_done(hash)?;
            person.became(hash);
            Ok(())
        })?;
        Ok(Ok(()))
    }

    /// Fetching may have written a lock file: that is what was agreed to.
    fn took_to(
        &self,
        need: &Need,
        hash: &str,
        tell: &dyn Fn(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let now = needs(&self.root, &look(&self.root));
        let Some(now) = now.iter().find(|now| now.manager.name == need.manager.name) else {
            return Ok(());
        };
        let new = now.hash();
        if new != hash && need.manager.name != "pip" {
            tell(&new)?;
            self.commands.known.settled.borrow_mut().insert(new, Ok(()));
        }
        Ok(())
    }
}

fn use_what_was_fetched(sandbox: &Sandbox, need: &Need, packages: &Path) {
    sandbox.use_fetched(need.manager.name, true);
    if need.manager.name == "pip" {
        sandbox.use_python(packages.to_owned());
    }
}

fn not_fetched(named: &str, why: &str, command: &str) -> String {
    format!(
        "dependencies were not fetched ({named}): {why}. Commands have no network; to have them, run \
         it yourself: {command}"
    )
}

/// Where what was fetched lies: read by commands, written by no command but the one that fetches.
pub(in super::super) struct Fetched<'a>(pub(in super::super) &'a Path);

impl Fetched<'_> {
    fn is_done(&self, hash: &str) -> bool {
        self.0.join("done").join(hash).exists()
    }

    fn set_done(&self, hash: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.0.join("done").join(hash), "")?)
    }

    fn prepare(&self) -> anyhow::Result<()> {
        for name in ["done", "python", "cargo", "cache"] {
            std::fs::create_dir_all(self.0.join(name))?;
        }
        Ok(())
    }

    /// The packages of Python that requirement files with this hash name.
    pub(in super::super) fn python(&self, hash: &str) -> PathBuf {
        self.0.join("python").join(&hash[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_around_asks_for_nothing() {
        for command in ["ls -la", "cat a | grep b && cd src; git status", "rg x $(ls)"] {
            assert!(only_looks(command), "{command}");
        }
        for command in
            ["cargo test", "ls && npm test", "./run", "sh -c ls", "X=1 make", "echo $(make)"]
        {
            assert!(!only_looks(command), "{command}");
        }
    }

    #[test]
    fn a_failure_is_told_in_one_line() {
        let result = CommandResult {
            exit: Some(101),
            stderr: "  Updating index\nerror: no such host\n\nCaused by:\n  x\n".to_owned(),
            ..CommandResult::default()
        };
        assert_eq!(why(&result), "exit 101: error: no such host");
    }
}
