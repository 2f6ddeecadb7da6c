//! The logs named by `Cowork-Evidence`: each log's blob is attached to itself as a note in
//! `refs/notes/cowork`. `git gc` keeps it, `git notes --ref cowork show BLOB` prints
//! it, and notes of two clones merge without a conflict.

use std::fs::File;

use anyhow::Context as _;

use super::Recorder;
use crate::git::{self, Git, Oid, Push, PushOutcome, RefName};
use crate::session::{RefNames, Session, count_results, key, log_of_tests};

/// The notes of all sessions of a repository, local and on a remote: `refs/notes/cowork`.
pub const LOGS: &str = "cowork";
/// A remote's notes while they are merged with the local ones.
const FETCHED: &str = "cowork-fetched";
/// The lock for writing [`LOGS`]: `git notes` does not check whether the ref has moved since it
/// read it. Held only for moments, because each commit waits for it.
const NOTES_LOCK: &str = "notes.lock";
/// The lock for [`FETCHED`], held even while waiting for a remote.
const FETCH_LOCK: &str = "notes-fetch.lock";
/// How often publishing is tried if somebody else publishes in between.
const TRIES: usize = 3;

/// The result of publishing logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published {
    /// The remote has them all; this many were new to it.
    Done(usize),
    /// The remote rejects them; contains its message.
    Refused(String),
}

/// The tests that criteria name, on one tree.
#[derive(Clone, Debug, Default)]
pub struct TestRecord {
    /// The tree.
    pub tree: String,
    /// Each test with its result.
    pub results: Vec<String>,
    /// The runs that an earlier commit recorded on the same code, as in its log.
    pub earlier: String,
    /// The other runs of named tests, in the form of `Cowork-Evidence`.
    pub runs: Vec<String>,
}

/// Attaches a note to each log before the commit that names the log is made, so that the log can be
/// read as long as such a commit exists.
pub(super) fn keep(recorder: &Recorder<'_>, evidence: &[String]) -> anyhow::Result<()> {
    if evidence.is_empty() {
        return Ok(());
    }
    note(recorder.git, &evidence.iter().filter_map(|run| log_of(run)).collect::<Vec<_>>())
}

fn note(git: &Git, logs: &[&str]) -> anyhow::Result<()> {
    let _lock = lock(git, NOTES_LOCK)?;
    let kept = git::notes::note_blobs(git, LOGS, logs);
    kept.with_context(|| format!("keeping the logs {}", logs.join(", ")))
}

/// Keeps a log of named tests, which `TestResults` reads. It is the earlier log if nothing was run.
/// Returns the value of `Cowork-Tests`; empty if there are no tests.
pub(super) fn keep_tests(recorder: &Recorder<'_>, tests: &TestRecord) -> anyhow::Result<String> {
    if tests.results.is_empty() {
        return Ok(String::new());
    }
    let one_line = |one: &String| one.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = tests.results.iter().map(one_line).collect();
    let text = format!("{}\n\ntree {}\n{}", lines.join("\n"), tests.tree, tests.earlier);
    let mut text = text.into_bytes();
    for run in &tests.runs {
        let Some(Evidence { said, log, tree }) = Evidence::parse(run) else { continue };
        let Some(id) = git::refs::object_id(recorder.git, log)? else { continue };
        let output = recorder.git.reader().blob(git::Object::Id(&id))?.unwrap_or_default();
        text.extend(format!("\n{said}, tree {tree}\n\n").into_bytes());
        text.extend(output);
    }
    let blob = git::made::store_blob(recorder.git, text)?;
    note(recorder.git, &[blob.as_str()])?;
    Ok(format!("{}, log {}", count_results(&lines), blob.abbreviated()))
}

/// Makes the logs that the session's commits name readable here: logs from before git-cowork wrote
/// notes get one, and logs of another clone are fetched from `remote`. Returns the number of logs
/// that are still missing.
///
/// # Errors
/// The remote does not answer, or the notes cannot be written.
pub fn fetch(
    recorder: &Recorder<'_>,
    session: &Session,
    remote: Option<&str>,
    attended: bool,
) -> anyhow::Result<usize> {
    let mut missing = self::missing(recorder.git, session)?;
    if missing.is_empty() {
        return Ok(0);
    }
    let (mut elsewhere, mut here) = (Vec::new(), Vec::new());
    for log in missing {
        match git::refs::object_id(recorder.git, &log)? {
            Some(blob) => here.push(blob),
            None => elsewhere.push(log),
        }
    }
    let held = lock(recorder.git, NOTES_LOCK)?;
    git::notes::note_blobs(recorder.git, LOGS, &here.iter().map(Oid::as_str).collect::<Vec<_>>())?;
    drop(held);
    missing = elsewhere;
    let _fetching = lock(recorder.git, FETCH_LOCK)?;
    if let Some(remote) = remote.filter(|_| !missing.is_empty())
        && git::notes::fetch(recorder.git, remote, LOGS, FETCHED, attended)?
    {
        let held = lock(recorder.git, NOTES_LOCK)?;
        git::notes::merge(recorder.git, LOGS, FETCHED)?;
        drop(held);
        git::notes::delete(recorder.git, FETCHED)?;
        missing = self::missing(recorder.git, session)?;
    }
    Ok(missing.len())
}

/// Pushes the notes of the logs that the session's commits name, on top of the remote's notes. Logs
/// of other sessions are not pushed.
///
/// # Errors
/// The remote does not answer, or the notes cannot be written here.
pub fn publish(
    recorder: &Recorder<'_>,
    session: &Session,
    remote: &str,
    attended: bool,
) -> anyhow::Result<Published> {
    let named = self::named(session);
    let here = git::notes::noted(recorder.git, LOGS)?;
    let ours: Vec<&Oid> = here.iter().filter(|blob| names(&named, blob)).collect();
    let to = RefName::new(RefNames::notes(LOGS))?;
    let _fetching = lock(recorder.git, FETCH_LOCK)?;
    let mut tries = 0;
    let published = loop {
        git::notes::fetch(recorder.git, remote, LOGS, FETCHED, attended)?;
        let theirs = git::notes::noted(recorder.git, FETCHED)?;
        let new = ours.iter().copied().filter(|blob| !theirs.contains(blob));
        let new: Vec<&str> = new.map(Oid::as_str).collect();
        if new.is_empty() {
            break Published::Done(0);
        }
        git::notes::note_blobs(recorder.git, FETCHED, &new)?;
        let Some(from) = recorder.git.resolve(&RefNames::notes(FETCHED))? else {
            break Published::Done(0);
        };
        let push = Push { from, to: to.clone(), lease: None };
        tries += 1;
        match git::remote::push(recorder.git, remote, &[push], attended)? {
            PushOutcome::Done(_) => break Published::Done(new.len()),
            PushOutcome::Rejected { reason, .. }
                if tries < TRIES
                    && matches!(reason.as_str(), "fetch first" | "non-fast-forward") => {}
            PushOutcome::Rejected { reason, said, .. } => {
                break Published::Refused(if said.is_empty() { reason } else { said });
            }
            PushOutcome::HookRefused { output: said } | PushOutcome::Unreachable { said } => {
                break Published::Refused(said);
            }
        }
    };
    git::notes::delete(recorder.git, FETCHED)?;
    Ok(published)
}

/// The logs that the session's commits name and that have no note here, as abbreviated in the
/// commits.
///
/// # Errors
/// Git fails.
pub fn missing(git: &Git, session: &Session) -> anyhow::Result<Vec<String>> {
    let named = self::named(session);
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let here = git::notes::noted(git, LOGS)?;
    let known = |log: &&str| here.iter().any(|blob| blob.as_str().starts_with(log));
    Ok(named.into_iter().filter(|log| !known(log)).map(str::to_owned).collect())
}

/// The logs that the session's commits name, each once, as abbreviated in the commits.
pub fn named(session: &Session) -> Vec<&str> {
    let evidence = session.history.iter().flat_map(|entry| entry.trailers.all(key::EVIDENCE));
    let tests = session.history.iter().flat_map(|entry| entry.trailers.all(key::TESTS));
    let mut logs: Vec<&str> = evidence.filter_map(log_of).collect();
    logs.extend(tests.filter_map(log_of_tests));
    logs.sort_unstable();
    logs.dedup();
    logs
}

fn names(logs: &[&str], blob: &Oid) -> bool {
    logs.iter().any(|log| blob.as_str().starts_with(log))
}

/// A value of `Cowork-Evidence`: `cargo test: exit 0, log BLOB, tree TREE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evidence<'a> {
    /// The command and how it ended.
    pub said: &'a str,
    /// The blob that contains its log, abbreviated.
    pub log: &'a str,
    /// The tree it ran on, abbreviated.
    pub tree: &'a str,
}

impl<'a> Evidence<'a> {
    /// Parses it from the end, since a command may contain anything. Anybody may have written the
    /// commit, and a text that is not an id must not become an argument.
    pub(crate) fn parse(value: &'a str) -> Option<Self> {
        let (before, tree) = value.rsplit_once(", tree ")?;
        let (said, log) = before.rsplit_once(", log ")?;
        let hex = log.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        (hex && (12..=64).contains(&log.len())).then_some(Self { said, log, tree })
    }
}

fn log_of(evidence: &str) -> Option<&str> {
    Evidence::parse(evidence).map(|run| run.log)
}

/// Only one process of git-cowork at a time has this lock; the others wait. Released when dropped.
fn lock(git: &Git, name: &str) -> anyhow::Result<File> {
    let path = git.state_dir().join(name);
    let file = File::options().create(true).append(true).open(&path);
    let file = file.with_context(|| format!("opening {}", path.display()))?;
    file.lock().with_context(|| format!("locking {}", path.display()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_read_from_the_end() {
        for (value, log) in [
            ("cargo test: exit 0, log 7398d44582c4, tree cb18d6e1bafe", Some("7398d44582c4")),
            ("echo a, log b, tree c: exit 0, log 7398d44582c4, tree x", Some("7398d44582c4")),
            ("cargo test: exit 0, log --output=x, tree cb18d6e1bafe", None),
            ("cargo test: exit 0, log 7398, tree cb18d6e1bafe", None),
            ("cargo test: exit 0", None),
        ] {
            assert_eq!(log_of(value), log, "{value}");
        }
    }
}
