//! The `git cat-file --batch` that reads the objects libgit2 cannot read: those that a partial clone
//! lacks, and all where objects are replaced. One child fetches, the other never does; each answers
//! many questions.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};
use git2::ObjectType;

use crate::git::environment::cannot_start;
use crate::git::execute::{contents, scratch};
use crate::git::object_text::Content;
use crate::git::output::{self, Output, lossy};
use crate::git::{Git, Oid};
use crate::moment::Moment;
use crate::shell_quote::quoted;

/// The running children: one that does not fetch, and one that does. Each ends with the moment in
/// which it was started: then objects may have been replaced, which it does not notice.
type Kept = [Mutex<Option<(Moment, CatFile)>>; 2];

/// A running child.
struct CatFile {
    child: Child,
    /// Empty once the child has been told to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    errors: File,
}

/// An object as git reads it: a replacement in place of a replaced one. It is fetched if a partial
/// clone lacks it. `None` if it is missing.
///
/// # Errors
/// The object is broken, or cannot be fetched (exit 5).
pub(crate) fn object(git: &Git, id: &Oid) -> Result<Option<Content>> {
    asked(git, id, true, u64::MAX)
}

/// [`object`], but nothing is fetched, and an object of more than `most` bytes is left out.
///
/// # Errors
/// The object is broken (exit 5).
pub(crate) fn object_here(git: &Git, id: &Oid, most: u64) -> Result<Option<Content>> {
    asked(git, id, false, most)
}

fn asked(git: &Git, id: &Oid, fetches: bool, most: u64) -> Result<Option<Content>> {
    let children = git.caches.get::<Kept>();
    let mut children =
        children[usize::from(fetches)].lock().unwrap_or_else(PoisonError::into_inner);
    // Something may have ended the child since its last answer: ask another one.
    let is_running = children.take_if(|(began, _)| !began.lasts()).is_none() && children.is_some();
    for is_last in [!is_running, true] {
        let (_, child) = match &mut *children {
            Some(running) => running,
            none => none.insert((Moment::now(), CatFile::start(git, fetches)?)),
        };
        match child.ask(id, most) {
            // Git takes a file that is empty, or that is none of its own, for no object.
            Ok(None) if most == u64::MAX && loose_file(git, id).exists() => {
                return Err(damaged(git, id, "its file is broken"));
            }
            Ok(answer) => return Ok(answer),
            Err(error) => {
                let complaint = child.complaint();
                *children = None;
                if is_last {
                    tracing::debug!("git cat-file: {error:#}");
                    return Err(damaged(git, id, &complaint));
                }
            }
        }
    }
    Ok(None)
}

/// The file of an object that is not in a pack.
fn loose_file(git: &Git, id: &Oid) -> PathBuf {
    let (folder, name) = id.as_str().split_at(2);
    git.common_dir().join("objects").join(folder).join(name)
}

/// The error for an object that is there, and that git cannot read.
fn damaged(git: &Git, id: &Oid, why: &str) -> anyhow::Error {
    let error = output::damaged(format!("git cannot read object {id}: {why}"));
    let file = loose_file(git, id);
    if !file.exists() {
        return error.into();
    }
    error
        .hint(format!(
            "nothing replaces its broken file: rm -f {}",
            quoted(&file.display().to_string())
        ))
        .into()
}

impl CatFile {
    fn start(git: &Git, fetches: bool) -> Result<Self> {
        let errors = scratch()?;
        let mut command = git.read(["cat-file", "--batch"]).command();
        if !fetches {
            // Older versions of git ignore this variable, and fetch.
            command.env("GIT_NO_LAZY_FETCH", "1");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(errors.try_clone().context("preparing git's output")?);
        let mut child = command.spawn().map_err(|error| cannot_start(&error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.context("git has no output")?);
        Ok(Self { child, input, output, errors })
    }

    /// The answer: `<id> SP <type> SP <size> LF <bytes> LF`, or `<id> SP missing LF`.
    ///
    /// # Errors
    /// The child has ended, or answers something else.
    fn ask(&mut self, id: &Oid, most: u64) -> Result<Option<Content>> {
        let input = self.input.as_mut().context("it has ended")?;
        input.write_all(format!("{id}\n").as_bytes())?;
        let mut header = String::new();
        self.output.read_line(&mut header)?;
        let fields: Vec<&str> = header.trim_end().split(' ').collect();
        ensure!(fields.first() == Some(&id.as_str()), "an unexpected answer: {header:?}");
        let (kind, size) = match fields[1..] {
            ["missing"] => return Ok(None),
            [kind, size] => (kind, size.parse()?),
            _ => bail!("an unexpected answer: {header:?}"),
        };
        let kind = ObjectType::from_str(kind).context("an unknown kind of object")?;
        let (mut bytes, mut answer) = (Vec::new(), (&mut self.output).take(size));
        let result = match size <= most {
            true => u64::try_from(answer.read_to_end(&mut bytes)?)?,
            false => std::io::copy(&mut answer, &mut std::io::sink())?,
        };
        let mut end = [0];
        self.output.read_exact(&mut end)?;
        ensure!(result == size && end == *b"\n", "an answer of another size");
        Ok((size <= most).then(|| (kind, bytes.into())))
    }

    /// Ends the child; returns what it complained about.
    fn complaint(&mut self) -> String {
        self.end();
        let stderr = lossy(&contents(&mut self.errors).unwrap_or_default());
        if stderr.is_empty() {
            return "git cat-file ended without an answer".to_owned();
        }
        Output { code: None, signal: None, stdout: Vec::new(), stderr }.complaint()
    }

    fn end(&mut self) {
        self.input = None;
        // It may be in the middle of an answer that nobody reads.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for CatFile {
    fn drop(&mut self) {
        self.end();
    }
}
