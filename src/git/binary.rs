//! The reader that runs the git binary: it knows replaced objects and grafts, and fetches objects
//! that a partial clone lacks.

use anyhow::Result;
use git2::ObjectType;

use super::output::lossy;
use super::reader::{Commit, Content, Reader};
use super::spawn::cat_file;
use super::{Cmd, Git, Oid};
use crate::error::Error;
use crate::git::lookup;

pub(super) struct Binary {
    git: Git,
}

impl Binary {
    pub(super) fn new(git: Git) -> Self {
        Self { git }
    }

    /// A `git log` whose output [`commit`] parses; the revisions are passed on standard input.
    fn log<const N: usize>(&self, args: [&str; N]) -> Cmd<'_> {
        let log = self.git.read(["log", "-z", "--no-show-signature"]);
        let log = log.args(["--encoding=UTF-8", "--no-color", "--no-patch", "--no-notes"]);
        log.args(args).args([COMMIT_FORMAT, "--stdin"])
    }

    /// True if some commits have other parents than those named in their objects.
    fn has_other_parents(&self) -> bool {
        let is_file = |name: &&str| self.git.common_dir().join(name).exists();
        let is_set = |name: &&str| self.git.variable(name).is_some();
        ["info/grafts", "shallow"].iter().any(is_file)
            || ["GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"].iter().any(is_set)
    }
}

/// The fields of a commit, a line each; the message comes last.
const COMMIT_FORMAT: &str = "--format=%H%n%T%n%P%n%an <%ae>%n%at%n%cn <%ce>%n%ct%n%B";

impl Reader for Binary {
    fn object(&self, id: &Oid) -> Result<Option<Content>> {
        cat_file::object(&self.git, id)
    }

    fn commit(&self, oid: &Oid) -> Result<Commit> {
        if self.has_other_parents() {
            let show = self.log(["--no-walk"]).stdin(format!("{oid}\n"));
            return commit(lossy(&show.checked()?.stdout).trim_end_matches('\0'));
        }
        match lookup::required(self, oid)? {
            (ObjectType::Commit, text) => lookup::commit(oid, &text),
            (kind, _) => Err(Error::repository(format!("{oid} is a {kind}, not a commit")).into()),
        }
    }

    fn walk(&self, tips: &[Oid], hide: &[Oid]) -> Result<Vec<Commit>> {
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let mut revisions = String::new();
        for tip in tips {
            revisions.push_str(&format!("{tip}\n"));
        }
        for hidden in hide {
            revisions.push_str(&format!("^{hidden}\n"));
        }
        let output = self.log(["--date-order"]).stdin(revisions).checked()?;
        let records = output.stdout.split(|&b| b == 0).filter(|record| !record.is_empty());
        records.map(|record| commit(&lossy(record))).collect()
    }
}

fn commit(record: &str) -> Result<Commit> {
    let mut lines = record.splitn(8, '\n');
    let mut next = || lines.next().ok_or_else(|| unknown("log", record));
    let number = |text: &str| text.parse::<i64>().map_err(|_| unknown("log", record));
    Ok(Commit {
        id: next()?.parse()?,
        tree: next()?.parse()?,
        parents: next()?.split_whitespace().map(str::parse).collect::<Result<_, _>>()?,
        author: next()?.to_owned(),
        author_time: number(next()?)?,
        committer: next()?.to_owned(),
        committer_time: number(next()?)?,
        message: next()?.trim_matches('\n').to_owned(),
    })
}

fn unknown(command: &str, what: &str) -> Error {
    let what: String = what.chars().take(80).collect();
    Error::repository(format!("git {command} printed unexpected output: {what:?}"))
}
