//! Runs the project's check inside and outside the sandbox, in a copy of the working tree, and
//! compares the results to find what the sandbox lacks. The run outside needs the user's explicit
//! consent.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use anyhow::Context as _;
use tempfile::TempDir;

use super::finding::Finding;
use crate::cli::context::Context;
use crate::cli::session_cmd::asking::unless_interrupted;
use crate::cli::session_cmd::run::commands;
use crate::cli::session_cmd::{asking, confinement};
use crate::cli::terminal::runtime;
use crate::cli::terminal::signals::Guard;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::Git;
use crate::interrupt;
use crate::pipeline::{failed_tests, refused_in};
use crate::private::PrivateFiles;
use crate::shell_quote::quoted;
use crate::ui::one_line;
use crate::workspace::{
    Beside, CommandResult, Confinement, Consent, Level, Refusal, Weaker, Workspace,
    WorkspaceOptions,
};

/// Maximum size of a working tree that is copied, in bytes.
const MOST_BYTES: u64 = 2 << 30;
/// Maximum number of tests that are named.
const NAMED: usize = 4;
/// Maximum length of a line of the command's output, in characters.
const SAID: usize = 160;
/// The file that marks a folder as a cache (<https://bford.info/cachedir/>), such as cargo's
/// `target`.
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// True if a sandbox confines commands here, so that there is something to compare.
///
/// # Errors
/// The sandbox cannot be set up.
pub(crate) fn is_confined(context: &Context, git: &Git) -> anyhow::Result<bool> {
    let found = confinement::found(context, git)?;
    Ok(found.is_none_or(|found| found.level != Level::None))
}

/// The command to compare: the tests, else the build, else the lint; `None` if none is known.
pub(crate) fn project_check(context: &Context, git: &Git) -> anyhow::Result<Option<String>> {
    let all = commands(context.config()?, git);
    Ok([all.test, all.build, all.lint].into_iter().find(|command| !command.is_empty()))
}

/// Runs the command inside and outside the sandbox. Nothing in the working tree changes.
///
/// # Errors
/// Interrupted, or the tree cannot be copied.
pub(crate) fn run(context: &Context, git: &Git, command: &str) -> anyhow::Result<Finding> {
    let _guard = Guard::removing();
    let place = tempfile::tempdir().context("creating a folder for a copy of the working tree")?;
    let copy = place.path().join("tree");
    let mut left = MOST_BYTES;
    let copied = copy_tree(git.top(), &copy, &mut left);
    interrupt::check()?;
    copied.with_context(|| format!("copying {}", git.top().display()))?;
    if left == 0 {
        let text = format!(
            "the working tree is larger than {} GB; {command} was not run",
            MOST_BYTES >> 30
        );
        return Ok(Finding::warning("check", text).fix("git clean -ndX"));
    }
    let tell = |how: &str| {
        let text = format!("running {command} {how}, in a copy of the working tree");
        context.ui.emit(Event::Note { text });
    };
    tell("in the sandbox");
    let inside = ran(context, git, &place, command, true)?;
    tell("outside the sandbox");
    let outside = ran(context, git, &place, command, false)?;
    let of_commands = confinement::new(context, git)?.cache.map(|cache| cache.dir.join("home"));
    let home = Home {
        own: context.env.get("HOME").cloned().unwrap_or_default(),
        of_commands: of_commands.map(|home| home.display().to_string()).unwrap_or_default(),
        readable: context.config()?.sandbox.readable.clone(),
    };
    Ok(match (inside, outside) {
        (Some(inside), Some(outside)) => compared(command, &inside, &outside, &home),
        _ => Finding::problem(
            "check",
            format!("{command} was not run: this machine cannot confine commands"),
        )
        .fix("git cowork config sandbox"),
    })
}

/// Makes one run; `None` if it was refused because there is no sandbox.
fn ran(
    context: &Context,
    git: &Git,
    place: &TempDir,
    command: &str,
    confined: bool,
) -> anyhow::Result<Option<Run>> {
    let config = context.config()?;
    let root = place.path().join("tree");
    let confinement = match confined {
        true => Confinement {
            sealed: vec![root.join(".git")],
            shown: Vec::new(),
            fetching: None,
            ..confinement::new(context, git)?
        },
        false => Confinement { consent: Some(Rc::new(Asked)), ..Confinement::default() },
    };
    let prefix = &config.sandbox.command_prefix;
    let workspace = Workspace::open(WorkspaceOptions {
        root,
        state_dir: place.path().join(if confined { "inside" } else { "outside" }),
        artifact_dirs: Vec::new(),
        timeout_s: config.limits.command_timeout_s,
        timeout_max_s: config.limits.command_timeout_max_s,
        command_prefix: if confined { prefix.clone() } else { Vec::new() },
        confinement,
        private: PrivateFiles::new(&config.project.private).map_err(Error::model)?,
        secrets: context.secrets()?,
        watch: asking::watch(context),
        tracking: None,
        env: context.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
    })?;
    let limit = Some(config.limits.command_timeout_max_s);
    let running = unless_interrupted(context, None, workspace.run_check(command, limit));
    let result = match runtime::current_thread()?.block_on(running)? {
        Ok(result) => result,
        Err(error) if error.is::<Refusal>() => return Ok(None),
        Err(error) => return Err(error),
    };
    let level = workspace.commands().confined_by()?;
    let output = format!("{}\n{}", result.stdout, result.stderr);
    let failing = failed_tests(&output);
    let refused = match confined && !result.succeeded() {
        true => refused_in(&output, &failing, level),
        false => None,
    };
    Ok(Some(Run { failing: failing.into_iter().collect(), refused, output, result }))
}

/// The consent for this run: the user has already agreed to it.
struct Asked;

impl Consent for Asked {
    fn weaker(&self, _weaker: &Weaker) {}

    fn may_read(&self, _named: &[Beside]) -> anyhow::Result<bool> {
        Ok(false)
    }

    fn may_run_unconfined(&self, _command: &str) -> anyhow::Result<Option<bool>> {
        Ok(Some(true))
    }
}

/// The result of one run.
struct Run {
    result: CommandResult,
    output: String,
    failing: Vec<String>,
    /// What the sandbox refused, if that is known.
    refused: Option<String>,
}

impl Run {
    /// `exit 1 in the sandbox (a, b; no network)`
    fn ended(&self, place: &str) -> String {
        let mut names: Vec<&str> = self.failing.iter().take(NAMED).map(String::as_str).collect();
        let more = format!("{} more", self.failing.len().saturating_sub(NAMED));
        if self.failing.len() > NAMED {
            names.push(&more);
        }
        let named = Some(names.join(", ")).filter(|names| !names.is_empty());
        let why: Vec<String> = named.into_iter().chain(self.refused.clone()).collect();
        let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
        format!("{}{place}{why}", self.result.ending())
    }
}

/// The home directories of the user and of commands.
struct Home {
    own: String,
    /// The home directory that confined commands have instead.
    of_commands: String,
    /// The paths in the user's home that confined commands can read.
    readable: Vec<String>,
}

impl Home {
    /// The command that lets confined commands read this path as well.
    fn with(&self, path: &str) -> String {
        let all: Vec<String> = self.readable.iter().cloned().chain([format!("~/{path}")]).collect();
        format!("git config cowork.sandbox.readable {}", quoted(&all.join(",")))
    }
}

fn compared(command: &str, inside: &Run, outside: &Run, home: &Home) -> Finding {
    let same = inside.result.exit == outside.result.exit && inside.failing == outside.failing;
    if same {
        let text = format!(
            "{command} has the same result in the sandbox and outside: {}",
            inside.ended("")
        );
        return Finding::ok("check", text);
    }
    let (inside_ended, outside_ended) =
        (inside.ended(" in the sandbox"), outside.ended(" outside"));
    let text = format!("{command} differs: {inside_ended}, {outside_ended}");
    let finding = Finding::warning("check", text);
    if !inside.result.missing.is_empty() {
        return finding
            .and(&format!("; {}", inside.result.missing.join("; ")))
            .fix("git config cowork.sandbox.fetch always");
    }
    let complaints = || complaints(&inside.output, &outside.output);
    // Look for paths in the commands' own home first, because it is inside the user's home.
    if let Some(path) = complaints().find_map(|line| below(line, &home.of_commands)) {
        return finding
            .and(&format!("; commands have their own home, which does not contain ~/{path}"))
            .fix(format!("use its absolute path: {}/{path}", home.own))
            .fix(home.with(path));
    }
    if let Some(path) = complaints().find_map(|line| below(line, &home.own)) {
        return finding.fix(home.with(path));
    }
    match inside.refused.as_deref() {
        Some("no network") => finding.fix("git config cowork.sandbox.network true"),
        _ => match complaints().next() {
            Some(line) => {
                finding.and(&format!("; in the sandbox it says: {}", one_line(line, SAID)))
            }
            None => finding,
        }
        .fix("git cowork config sandbox"),
    }
}

/// The lines of the confined run that report a missing or unreadable file and are not in the output
/// of the other run.
fn complaints<'a>(inside: &'a str, outside: &'a str) -> impl Iterator<Item = &'a str> {
    const WORDS: [&str; 5] =
        ["no such file", "permission denied", "permissiondenied", "not found", "cannot open"];
    let complains = |line: &&str| {
        let line = line.to_lowercase();
        WORDS.iter().any(|words| line.contains(words))
    };
    inside.lines().filter(complains).filter(move |line| !outside.contains(*line))
}

/// The part of a path below `home`, if a line contains such a path.
fn below<'a>(line: &'a str, home: &str) -> Option<&'a str> {
    let home = Some(format!("{home}/")).filter(|home| home.len() > 2)?;
    let rest = &line[line.find(&home)? + home.len()..];
    let end = rest.find(|c: char| c.is_whitespace() || "'\":,;()".contains(c));
    let path = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
    (!path.is_empty()).then_some(path)
}

/// Copies a tree without its git directory and without caches. `left` is the number of bytes that
/// may still be copied. If the tree is too large, `left` is 0 afterwards.
fn copy_tree(from: &Path, to: &Path, left: &mut u64) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, from) = entry.map(|entry| (entry.file_name(), entry.path()))?;
        if entry == ".git" || from.join(CACHE_TAG).is_file() {
            continue;
        }
        let to = to.join(&entry);
        let meta = from.symlink_metadata()?;
        if meta.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?;
        } else if meta.is_dir() {
            copy_tree(&from, &to, left)?;
        } else if meta.is_file() {
            *left = left.saturating_sub(meta.len());
            if *left == 0 || interrupt::is_requested() {
                return Ok(());
            }
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    fn run(exit: i32, output: &str) -> Run {
        let result = CommandResult { exit: Some(exit), ..CommandResult::default() };
        let failing = failed_tests(output).into_iter().collect();
        Run { result, output: output.to_owned(), failing, refused: None }
    }

    fn ana() -> Home {
        let of_commands = "/home/ana/.cache/git-cowork/x-1/home".to_owned();
        let readable = vec!["~/src".to_owned()];
        Home { own: "/home/ana".to_owned(), of_commands, readable }
    }

    #[test]
    fn the_same_result_is_ok_even_if_tests_fail() {
        let failing = "test a ... FAILED\n";
        let same = compared("make", &run(1, failing), &run(1, failing), &ana());
        assert_eq!(same.state, State::Ok);
        let other = compared("make", &run(1, failing), &run(1, "test b ... FAILED\n"), &ana());
        assert_eq!(other.state, State::Warning);
    }

    #[test]
    fn errors_of_only_the_confined_run_are_named() {
        let fixes = |inside: &str, outside: &str| {
            let finding = compared("make", &run(1, inside), &run(0, outside), &ana());
            finding.json()["fixes"].as_array().unwrap().clone()
        };
        let readable = "git config cowork.sandbox.readable '~/src,~/data/x.csv'";
        let own = "cat: /home/ana/data/x.csv: No such file or directory\n";
        assert_eq!(fixes(own, ""), [readable]);
        let private = "cat: /home/ana/.cache/git-cowork/x-1/home/data/x.csv: No such file\n";
        let whole = "use its absolute path: /home/ana/data/x.csv";
        assert_eq!(fixes(private, ""), [whole, readable]);
        for (inside, outside) in [(own, own), ("/home/ana/: not found", ""), ("/x: not found", "")]
        {
            assert!(!fixes(inside, outside)[0].as_str().unwrap().contains("readable"), "{inside}");
        }
    }

    #[test]
    fn a_copy_leaves_out_git_and_caches() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        for folder in [".git", "src", "target", "node_modules"] {
            fs::create_dir_all(from.join(folder)).unwrap();
            fs::write(from.join(folder).join("x"), "12345").unwrap();
        }
        fs::write(from.join("target").join(CACHE_TAG), "").unwrap();
        let mut left = 100;
        copy_tree(&from, &to, &mut left).unwrap();
        assert_eq!(left, 90);
        assert!(to.join("src/x").exists() && to.join("node_modules/x").exists());
        assert!(!to.join(".git").exists() && !to.join("target").exists());
        let mut little = 8;
        copy_tree(&from, &place.path().join("again"), &mut little).unwrap();
        assert_eq!(little, 0);
    }
}
