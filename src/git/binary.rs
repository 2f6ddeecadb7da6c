//! The reader that runs the git binary: it supports every repository format and fetches objects
//! that a partial clone lacks, but starts a process for each call.

use std::collections::BTreeMap;

use anyhow::Result;

use super::arguments::chunks;
use super::output::{lossy, nul_texts};
use super::reader::{
    Commit, EntryKind, Object, Part, Reader, TreeChange, TreeChangeKind, TreeEntry,
};
use super::{Cmd, Git, Oid};
use crate::error::Error;
use crate::git::{in_the_way, refs};

pub(super) struct Binary {
    git: Git,
}

impl Binary {
    pub(super) fn new(git: Git) -> Self {
        Self { git }
    }

    /// A `git log` whose output [`commit`] parses; the revisions are passed on standard input.
    pub(super) fn log<const N: usize>(&self, args: [&str; N]) -> Cmd<'_> {
        let log = self.git.read(["log", "-z", "--no-show-signature"]);
        let log = log.args(["--encoding=UTF-8", "--no-color", "--no-patch", "--no-notes"]);
        log.args(args).args([COMMIT_FORMAT, "--stdin"])
    }
}

/// The fields of a commit, a line each; the message comes last.
const COMMIT_FORMAT: &str = "--format=%H%n%T%n%P%n%an <%ae>%n%at%n%cn <%ce>%n%ct%n%B";

impl Reader for Binary {
    fn blob(&self, object: Object<'_>) -> Result<Option<Vec<u8>>> {
        let name = match object {
            Object::Id(oid) => oid.to_string(),
            // A path with a line break does not fit on one line of input.
            Object::At(commit, path) if path.contains('\n') => {
                match self.entries(commit, &[path])?.pop().flatten() {
                    Some(entry) if entry.kind.is_blob() => entry.oid.to_string(),
                    _ => return Ok(None),
                }
            }
            Object::At(commit, path) => format!("{commit}:{path}"),
        };
        let cat = self.git.read(["cat-file", "--batch"]).stdin(format!("{name}\n"));
        batch_answer(&cat.checked()?.stdout)
    }

    fn commit(&self, oid: &Oid) -> Result<Commit> {
        let show = self.log(["--no-walk"]).stdin(format!("{oid}\n"));
        commit(lossy(&show.checked()?.stdout).trim_end_matches('\0'))
    }

    fn part(&self, oid: &Oid, part: Part) -> Result<Option<Oid>> {
        refs::verified(
            &self.git,
            &match part {
                Part::Commit => format!("{oid}^{{commit}}"),
                Part::Parent(number) => format!("{oid}^{number}"),
                Part::Tree => format!("{oid}^{{tree}}"),
            },
        )
    }

    fn entries(&self, commit: &Oid, paths: &[&str]) -> Result<Vec<Option<TreeEntry>>> {
        let mut found = BTreeMap::new();
        for chunk in chunks(paths) {
            // Without `-t`, a folder is left out if one of its files is requested as well.
            let list = self.git.read(["ls-tree", "-t", "-z", "--full-tree", commit.as_str(), "--"]);
            let output = list.args(chunk).checked()?;
            for line in output.stdout.split(|&b| b == 0).filter(|line| !line.is_empty()) {
                let (path, entry) = tree_entry(&lossy(line))?;
                found.insert(path, entry);
            }
        }
        Ok(paths.iter().map(|path| found.get(*path).cloned()).collect())
    }

    fn names_in(&self, commit: &Oid, folder: &str) -> Result<Vec<String>> {
        let inside = format!("{folder}/");
        let list = self.git.read(["ls-tree", "-z", "--name-only", "--full-tree", commit.as_str()]);
        let output = list.args(["--", &inside]).checked()?;
        let name = |path: String| path.strip_prefix(&inside).map(str::to_owned);
        Ok(nul_texts(&output.stdout).filter_map(name).collect())
    }

    fn folders_in(&self, commit: &Oid, folder: &str) -> Result<Vec<(String, Oid)>> {
        let inside = format!("{folder}/");
        let list = self.git.read(["ls-tree", "-z", "-d", "--full-tree", commit.as_str(), "--"]);
        let mut found = Vec::new();
        for line in nul_texts(&list.arg(&inside).checked()?.stdout) {
            let (path, entry) = tree_entry(&line)?;
            if let (Some(name), EntryKind::Tree) = (path.strip_prefix(&inside), entry.kind) {
                found.push((name.to_owned(), entry.oid));
            }
        }
        Ok(found)
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

    fn diff(&self, from: Option<&Oid>, to: &Oid) -> Result<Vec<TreeChange>> {
        let from = match from {
            Some(oid) => oid.clone(),
            None => in_the_way::empty_tree(&self.git)?,
        };
        let diff = self.git.read(["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"]);
        let output = diff.args([from.as_str(), to.as_str()]).checked()?;
        let fields: Vec<&[u8]> = output.stdout.split(|&b| b == 0).collect();
        fields.chunks_exact(2).map(|pair| tree_change(&lossy(pair[0]), lossy(pair[1]))).collect()
    }
}

/// `<id> SP blob SP <size> LF <bytes> LF`, or `<name> SP missing LF`.
fn batch_answer(answer: &[u8]) -> Result<Option<Vec<u8>>> {
    let end = answer.iter().position(|&b| b == b'\n').unwrap_or(answer.len());
    let header = lossy(&answer[..end]);
    let mut fields = header.rsplit(' ');
    let (last, kind) = (fields.next().unwrap_or_default(), fields.next());
    match (kind, last.parse::<usize>()) {
        (Some("blob"), Ok(size)) => {
            let bytes = answer.get(end + 1..end + 1 + size);
            Ok(Some(bytes.ok_or_else(|| unknown("cat-file", &header))?.to_vec()))
        }
        (Some("tree" | "commit" | "tag"), Ok(_)) => Ok(None),
        _ if matches!(last, "missing" | "submodule") => Ok(None),
        _ => Err(unknown("cat-file", &header).into()),
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

/// `<mode> SP <type> SP <id> TAB <path>`
fn tree_entry(line: &str) -> Result<(String, TreeEntry)> {
    let broken = || unknown("ls-tree", line);
    let (meta, path) = line.split_once('\t').ok_or_else(broken)?;
    let [mode, kind, oid] = meta.split(' ').collect::<Vec<_>>()[..] else {
        return Err(broken().into());
    };
    let kind = match kind {
        "tree" => EntryKind::Tree,
        "commit" => EntryKind::Submodule,
        "blob" if mode == "120000" => EntryKind::Link,
        "blob" => EntryKind::File,
        _ => return Err(broken().into()),
    };
    Ok((path.to_owned(), TreeEntry { kind, oid: oid.parse()? }))
}

/// `:<mode> SP <mode> SP <id> SP <id> SP <letter>` and the path.
fn tree_change(meta: &str, path: String) -> Result<TreeChange> {
    let fields: Vec<&str> = meta.split(' ').collect();
    let &[_, _, old, new, letter] = fields.as_slice() else {
        return Err(unknown("diff-tree", meta).into());
    };
    let kind = match letter {
        "A" => TreeChangeKind::Added,
        "D" => TreeChangeKind::Deleted,
        "M" => TreeChangeKind::Modified,
        "T" => TreeChangeKind::Type,
        _ => return Err(unknown("diff-tree", meta).into()),
    };
    let id = |text: &str| -> Result<Option<Oid>> {
        let oid: Oid = text.parse()?;
        Ok(Some(oid).filter(|oid| !oid.is_zero()))
    };
    Ok(TreeChange { path, kind, old: id(old)?, new: id(new)? })
}

fn unknown(command: &str, what: &str) -> Error {
    let what: String = what.chars().take(80).collect();
    Error::repository(format!("git {command} printed unexpected output: {what:?}"))
}
