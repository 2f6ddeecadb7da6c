//! Runs a command of the user that decides whether to approve a draft (`[review] decide`).
//! It runs with the user's rights at the top of the working tree; environment variables describe
//! the draft.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::excerpt;
use crate::interrupt;

/// How often to check whether the command has ended.
const BEAT: Duration = Duration::from_millis(20);
/// Bytes of output after which the command is stopped.
const FLOOD: u64 = 16 * 1024 * 1024;
/// Bytes of output used as feedback.
const SHOWN: usize = 8_000;

/// The decision of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// The draft is approved.
    Pass,
    /// Changes are requested, for this reason.
    Feedback(String),
    /// A person has to decide, for this reason.
    Person(String),
}

/// Runs a shell command in `cwd` with the variables `about`, for at most `limit`.
///
/// # Errors
/// The command cannot be run, or git-cowork was asked to stop.
pub fn decide(
    command: &str,
    cwd: &Path,
    about: &[(&str, String)],
    limit: Duration,
) -> Result<Decided> {
    let name = command_name(command);
    let mut printed = tempfile::tempfile().context("creating a temporary file for the output")?;
    let mut child = Command::new("sh");
    child
        .args(["-c", command])
        .current_dir(cwd)
        .envs(about.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(printed.try_clone()?)
        .stderr(printed.try_clone()?);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut child, 0);
    let mut child = child.spawn().with_context(|| format!("starting {name}"))?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let asked_to_stop = interrupt::check();
        let why = if begun.elapsed() > limit {
            format!("{name} did not decide within {} s", limit.as_secs())
        } else if printed.metadata()?.len() > FLOOD {
            format!("{name} printed more than {} MiB", FLOOD / 1024 / 1024)
        } else if asked_to_stop.is_ok() {
            std::thread::sleep(BEAT);
            continue;
        } else {
            String::new()
        };
        kill(&mut child);
        asked_to_stop?;
        return Ok(Decided::Person(why));
    };
    Ok(match status.code() {
        Some(0) => Decided::Pass,
        Some(1) => Decided::Feedback(words(&mut printed)?),
        _ => Decided::Person(format!("{name} left the decision to a person ({})", ending(status))),
    })
}

/// Shell commands that prepare the command that decides.
const PREPARE: [&str; 12] = [
    "cd", "set", "export", "unset", "umask", "echo", "printf", "source", ".", ":", "mkdir", "exit",
];
/// Commands that run another program.
const BEFORE: [&str; 6] = ["env", "exec", "command", "time", "nice", "sudo"];

/// The name of a command: its first program without the folder, or `sh` if the shell decides.
pub fn command_name(command: &str) -> String {
    let programs = command.split(['\n', ';', '|', '&']).filter_map(|part| {
        let words = part.split_whitespace().map(|word| word.trim_matches(QUOTES));
        let mut words = words.filter(|word| !word.is_empty()).peekable();
        let mut is_after = false;
        while let Some(word) = words.next_if(|word| {
            is_assignment(word) || BEFORE.contains(word) || is_after && word.starts_with('-')
        }) {
            is_after |= BEFORE.contains(&word);
        }
        words.next().filter(|word| !word.starts_with(['>', '<', '-']) && !word.contains('>'))
    });
    let mut programs = programs.filter(|word| !PREPARE.contains(word));
    let word = programs.next().unwrap_or("sh");
    word.rsplit('/').next().unwrap_or(word).to_owned()
}

const QUOTES: [char; 7] = ['"', '\'', '(', ')', '{', '}', '!'];

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn words(printed: &mut File) -> Result<String> {
    printed.rewind()?;
    let mut bytes = Vec::new();
    printed.take(FLOOD).read_to_end(&mut bytes)?;
    let text = excerpt::plain(&String::from_utf8_lossy(&bytes));
    Ok(excerpt::ends(text.trim(), SHOWN))
}

fn ending(status: ExitStatus) -> String {
    status.code().map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit {code}"))
}

/// Kills the command's whole process group.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_is_the_decision() {
        let folder = tempfile::tempdir().unwrap();
        let about = [("COWORK_STAGE", "prd".to_owned())];
        let ask = |command: &str, limit| {
            decide(command, folder.path(), &about, Duration::from_secs(limit)).unwrap()
        };
        assert_eq!(ask("test \"$COWORK_STAGE\" = prd", 60), Decided::Pass);
        let said = ask("echo one; echo two >&2; exit 1", 60);
        assert_eq!(said, Decided::Feedback("one\ntwo".to_owned()));
        let person = |command: &str, limit| match ask(command, limit) {
            Decided::Person(why) => why,
            other => panic!("{command}: {other:?}"),
        };
        assert_eq!(person("exit 2", 60), "sh left the decision to a person (exit 2)");
        assert_eq!(
            person("kill -9 $$", 60),
            "kill left the decision to a person (ended by a signal)"
        );
        assert_eq!(
            person("/no/such/judge -x", 60),
            "judge left the decision to a person (exit 127)"
        );
        assert_eq!(person("sleep 309.25", 0), "sleep did not decide within 0 s");
        assert_eq!(person("cat /dev/zero", 60), "cat printed more than 16 MiB");
    }

    #[test]
    fn a_command_is_named_after_the_program_that_decides() {
        for (command, name) in [
            ("/usr/local/bin/judge --strict", "judge"),
            ("  judge", "judge"),
            ("env >seen && ./ci/judge.sh prd", "judge.sh"),
            ("env STRICT=1 judge", "judge"),
            ("STRICT=1 env -i judge | tee log", "judge"),
            ("cd docs; (grep -q REQ prd.md)", "grep"),
            ("\"/opt/my-judge\" x", "my-judge"),
            ("env >seen && exit 1", "sh"),
            ("true", "true"),
            ("", "sh"),
        ] {
            assert_eq!(command_name(command), name, "{command}");
        }
    }
}
