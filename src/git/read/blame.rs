//! The commit that introduced each line of a file, by `git blame -w -C`: white space is ignored,
//! and lines moved or copied from other files of a commit are followed. Runs one process for a
//! file; libgit2 does not support `-C`.

use std::collections::{HashMap, HashSet};

use anyhow::{Context as _, Result};

use crate::git::output::lossy;
use crate::git::reader::required;
use crate::git::settings;
use crate::git::{Git, Oid, Reader, TreeChangeKind, TreeEntry};
use crate::present::present;

/// Number of lines blamed before and after the requested ones. Git follows moved lines only if they
/// have at least 40 letters and digits in total: a short line blamed alone gets the commit that
/// moved it; the same line blamed with the whole file gets the commit that introduced it.
const AROUND: usize = 40;

/// Fewer bytes than git takes for copied (40 letters and digits).
const COPIED: usize = 40;

/// Commits that are looked at for the one that added a file; git looks further back.
const STEPS: usize = 2_000;

/// Consecutive lines of a file that one commit introduced, consecutive in that commit as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blamed {
    /// The first line in the file, counted from 1.
    pub first: usize,
    /// The commit that introduced them; `None` if they are not committed.
    pub commit: Option<Oid>,
    /// The file that contained them in that commit.
    pub path: String,
    /// Their first line in that file, counted from 1.
    pub line: usize,
    /// The lines; undecodable bytes are replaced.
    pub texts: Vec<String>,
}

impl Blamed {
    /// The last line in the file.
    pub const fn last(&self) -> usize {
        self.first + self.texts.len() - 1
    }

    /// The part of these lines that is between `first` and `last` in the file.
    fn within(mut self, first: usize, last: usize) -> Option<Self> {
        let before = first.saturating_sub(self.first);
        let count = self.last().min(last).checked_sub(self.first + before)? + 1;
        self.texts = self.texts.into_iter().skip(before).take(count).collect();
        (self.first, self.line) = (self.first + before, self.line + before);
        Some(self).filter(|one| !one.texts.is_empty())
    }

    /// True if a line (`first` in the file, `line` in the commit) comes right after these in both.
    const fn follows(&self, first: usize, line: usize) -> bool {
        first == self.first + self.texts.len() && line == self.line + self.texts.len()
    }
}

/// Blames a file (its path from the top) at a commit, or in the working tree. `lines` (from 1, both
/// inclusive) limits the result; each line gets the same commit as if the whole file were blamed.
/// The user's configuration of `git blame` applies, such as commits to ignore, if their file is there. `meanwhile` is
/// called while git is working, which can take long if there is a long history.
///
/// # Errors
/// There is no such file or line, or git fails (exit 5).
pub fn blame(
    git: &Git,
    at: Option<&Oid>,
    path: &str,
    lines: Option<(usize, usize)>,
    meanwhile: &dyn Fn(),
) -> Result<Vec<Blamed>> {
    // Git keeps this list sorted, so that an empty name on the command line does not end it; the
    // negated option does.
    let all = missing_ignored_revisions(git)?.map(|_| "--no-ignore-revs-file");
    let asked = |lines: Option<(usize, usize)>| {
        let mut blame = git.read(["blame", "--porcelain", "-w", "-C"]).meanwhile(meanwhile);
        blame = blame.args(all);
        if let Some((first, last)) = lines {
            blame = blame.arg(format!("-L{first},{last}"));
        }
        if let Some(at) = at {
            blame = blame.arg(at.as_str());
        }
        parsed(&blame.args(["--", path]).checked()?.stdout)
    };
    let Some((first, last)) = lines else { return asked(None) };
    let around = (first.saturating_sub(AROUND).max(1), last.saturating_add(AROUND));
    let lines_of_file: Vec<Blamed> =
        asked(Some(around))?.into_iter().filter_map(|one| one.within(first, last)).collect();
    // If the file has no such lines, git reports the error.
    if lines_of_file.is_empty() { asked(lines) } else { Ok(lines_of_file) }
}

/// The file of commits to ignore that the configuration names and that is not there: a bare `git
/// blame` fails, and [`blame`] ignores no commit.
///
/// # Errors
/// The configuration cannot be read.
pub fn missing_ignored_revisions(git: &Git) -> Result<Option<String>> {
    let file = settings::get(git, "blame.ignoreRevsFile")?;
    let is_there = |file: &str| file.starts_with('~') || git.top.join(file).exists();
    Ok(file.filter(|file| !file.is_empty() && !is_there(file)))
}

/// What [`blame`] finds at a commit for those of these files that one commit added as they are, with
/// nothing in them that it can have moved or copied from elsewhere. Starts no process: most files of
/// a session are of this kind.
///
/// # Errors
/// Git cannot be read.
pub fn added(git: &Git, at: &Oid, paths: &[String]) -> Result<Vec<(String, Vec<Blamed>)>> {
    let configuration = git.configuration()?;
    let mut keys = configuration.all().map(|(key, _)| key);
    if keys.any(|key| key.starts_with("blame.") || key.ends_with(".textconv")) {
        return Ok(Vec::new());
    }
    let reader = git.reader();
    let entries = |commit: &Oid, of: &[(String, TreeEntry)]| {
        reader.entries(commit, &of.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>())
    };
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    let by_path = paths.iter().cloned().zip(reader.entries(at, &names)?);
    let file = |(path, entry): (_, Option<TreeEntry>)| Some((path, entry?));
    let files: Vec<_> =
        by_path.filter_map(file).filter(|(_, entry)| entry.kind.is_blob()).collect();
    let (mut found, mut next, mut steps) = (Vec::new(), vec![(at.clone(), files)], 0);
    while let Some((id, mut files)) = next.pop().filter(|_| steps < STEPS) {
        steps += 1;
        let parents = reader.commit(&id)?.parents;
        let mut is_new = vec![true; files.len()];
        for parent in &parents {
            let before = entries(parent, &files)?;
            let (same, other): (Vec<_>, Vec<_>) = files
                .into_iter()
                .zip(before)
                .partition(|(file, before)| before.as_ref() == Some(&file.1));
            next.push((parent.clone(), same.into_iter().map(|(file, _)| file).collect()));
            is_new = other.iter().map(|(_, before)| before.is_none()).collect();
            files = other.into_iter().map(|(file, _)| file).collect();
        }
        next.retain(|(_, files)| !files.is_empty());
        let mut is_new = is_new.into_iter();
        files.retain(|_| is_new.next() == Some(true));
        // What a merge changed is left to git.
        if files.is_empty() || parents.len() > 1 {
            continue;
        }
        let elsewhere = match parents.first() {
            Some(parent) => changed_lines(reader.as_ref(), parent, &id)?,
            None => Some(HashSet::new()),
        };
        let Some(elsewhere) = elsewhere else { continue };
        for (path, entry) in files {
            let text = required(reader.as_ref(), &entry.oid)?.1;
            let texts: Vec<String> = lines(&text).map(lossy).collect();
            let copies = lines(&text).map(plain).filter(|line| elsewhere.contains(line));
            if copies.map(|line| line.len()).sum::<usize>() < COPIED {
                let commit = Some(id.clone());
                let mut whole =
                    vec![Blamed { first: 1, commit, path: path.clone(), line: 1, texts }];
                whole.retain(|one| !one.texts.is_empty());
                found.push((path, whole));
            }
        }
    }
    Ok(found)
}

/// The lines that the files changed by a commit had before, without white space: git finds lines
/// that were copied from these files. `None` if a file is gone, which may have been renamed, or if one
/// is a submodule.
fn changed_lines(
    reader: &dyn Reader,
    parent: &Oid,
    commit: &Oid,
) -> Result<Option<HashSet<Vec<u8>>>> {
    let mut result = HashSet::new();
    for change in reader.diff(Some(parent), commit)? {
        match (change.kind, &change.old) {
            (TreeChangeKind::Added, _) => {}
            (TreeChangeKind::Modified, Some(old)) => {
                let Ok(Some((_, text))) = reader.object(old) else { return Ok(None) };
                result.extend(lines(&text).map(plain));
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(result))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.strip_suffix(b"\n").unwrap_or(text).split(|&b| b == b'\n').filter(|_| !text.is_empty())
}

/// A line without its white space, which `git blame -w` ignores.
fn plain(line: &[u8]) -> Vec<u8> {
    line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

/// The commits at which the history of a shallow clone ends: their own changes are not known here.
///
/// # Errors
/// The list of these commits cannot be read.
pub fn shallow_ends(git: &Git) -> Result<HashSet<Oid>> {
    let list = present(std::fs::read_to_string(git.common_dir().join("shallow")))
        .context("reading the boundary commits of a shallow clone")?;
    list.unwrap_or_default().lines().map(|id| Ok(id.trim().parse()?)).collect()
}

/// Parses `git blame --porcelain`: the details of a commit come once, before its first line.
fn parsed(output: &[u8]) -> Result<Vec<Blamed>> {
    let mut result: Vec<Blamed> = Vec::new();
    let mut paths: HashMap<String, String> = HashMap::new();
    let mut header: Option<(String, usize, usize)> = None;
    let output = output.strip_suffix(b"\n").unwrap_or(output);
    for line in output.split(|&b| b == b'\n').filter(|_| !output.is_empty()) {
        let Some((commit, there, here)) = &header else {
            header = Some(header_of(&lossy(line))?);
            continue;
        };
        if let Some(path) = line.strip_prefix(b"filename ") {
            paths.insert(commit.clone(), unquoted(path));
        }
        let Some(text) = line.strip_prefix(b"\t") else { continue };
        let path = paths.get(commit).cloned().unwrap_or_default();
        let oid: Oid = commit.parse()?;
        let oid = Some(oid).filter(|oid| !oid.is_zero());
        match result.last_mut() {
            Some(last)
                if last.commit == oid && last.path == path && last.follows(*here, *there) =>
            {
                last.texts.push(lossy(text));
            }
            _ => result.push(Blamed {
                first: *here,
                commit: oid,
                path,
                line: *there,
                texts: vec![lossy(text)],
            }),
        }
        header = None;
    }
    Ok(result)
}

/// `<id> SP <line there> SP <line here>`; the first of consecutive lines also has their count.
fn header_of(line: &str) -> Result<(String, usize, usize)> {
    let mut fields = line.split(' ');
    let mut next =
        || fields.next().with_context(|| format!("git blame printed unexpected output: {line:?}"));
    Ok((next()?.to_owned(), next()?.parse()?, next()?.parse()?))
}

/// A file name printed by git: quoted if it contains characters that a C string escapes.
fn unquoted(name: &[u8]) -> String {
    let Some(inner) = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")) else {
        return lossy(name);
    };
    let (mut out, mut rest) = (Vec::new(), inner);
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let digits = rest.iter().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
        if digits == 3 {
            let number = rest[..3].iter().fold(0_u32, |n, b| n * 8 + u32::from(b - b'0'));
            out.push(u8::try_from(number).unwrap_or(b'?'));
            rest = &rest[3..];
        } else if let Some((&escaped, after)) = rest.split_first() {
            let escapes = [b'a', 7, b'b', 8, b't', 9, b'n', 10, b'v', 11, b'f', 12, b'r', 13];
            let pair = escapes.chunks_exact(2).find(|pair| pair[0] == escaped);
            out.push(pair.map_or(escaped, |pair| pair[1]));
            rest = after;
        }
    }
    lossy(&out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::{FORMATS, Repo};

    /// What is found without a process is what git finds, and nothing that may be copied is.
    #[test]
    fn added_files_are_blamed_as_by_git() {
        let long = "a line that has more than forty letters and digits, also without its spaces\n";
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let git = repo.git();
            repo.file("old", &format!("{long}two\n"));
            repo.file("gone", &format!("{long}{long}"));
            repo.commit_all("first");
            repo.file("new", "one\n\ntwo\r\n  three");
            repo.file("empty", "");
            repo.file("old", &format!("{long}three\n"));
            repo.file("copied", &format!("one\n   {long}"));
            repo.commit_all("second");
            repo.run(&["switch", "-q", "-c", "side", "HEAD^"]);
            repo.file("side", "side\n");
            repo.commit_all("side");
            repo.run(&["switch", "-q", "main"]);
            repo.run(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
            let submodule = |digit: &str| {
                let commit = digit.repeat(repo.head().as_str().len());
                let entry = format!("160000,{commit},submodule");
                repo.run(&["update-index", "--add", "--cacheinfo", &entry]);
            };
            submodule("1");
            repo.run(&["commit", "-q", "-m", "a submodule"]);
            submodule("2");
            repo.file("beside", "a submodule moved\n");
            repo.run(&["add", "beside"]);
            repo.run(&["commit", "-q", "-m", "beside a submodule"]);
            repo.run(&["rm", "-q", "--cached", "submodule"]);
            repo.run(&["mv", "gone", "renamed"]);
            repo.file("with", "other\n");
            let tip = repo.commit_all("third");
            let names =
                ["README.md", "beside", "copied", "empty", "new", "old", "renamed", "side", "with"];
            let mut found = added(&git, &tip, &names.map(str::to_owned)).unwrap();
            found.sort_by(|a, b| a.0.cmp(&b.0));
            for (path, blamed) in &found {
                assert_eq!(*blamed, blame(&git, Some(&tip), path, None, &|| ()).unwrap(), "{path}");
            }
            let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
            assert_eq!(paths, ["README.md", "empty", "new", "side"]);
            repo.run(&["config", "diff.x.textconv", "cat"]);
            assert!(added(&repo.git(), &tip, &["new".to_owned()]).unwrap().is_empty());
        }
    }

    #[test]
    fn lines_are_followed_over_moves_white_space_and_odd_names() {
        for options in [&[][..], &["--object-format=sha256"]] {
            let repo = Repo::with_commit_in(options);
            let odd = "a \"b\"\tü.txt";
            let text = "is longer";
            let lines = |from: usize, to: usize| -> String {
                (from..=to).map(|n| format!("line {n} {text}\n")).collect()
            };
            repo.file(odd, &lines(1, 6));
            repo.commit_all("first six");
            let first = repo.head();
            repo.file(odd, &lines(1, 2));
            let moved = lines(3, 6).replace("line 4", "   line 4");
            repo.file("moved.txt", &format!("{moved}new\n"));
            repo.commit_all("move");
            let second = repo.head();
            repo.file("moved.txt", &format!("{moved}new\nnewer\n"));
            let git = repo.git();
            let found = blame(&git, None, "moved.txt", None, &|| ()).unwrap();
            let told: Vec<_> =
                found.iter().map(|b| (b.first, b.last(), b.commit.clone(), b.line)).collect();
            let expected =
                [(1, 4, Some(first), 3), (5, 5, Some(second.clone()), 5), (6, 6, None, 6)];
            assert_eq!(told, expected, "{options:?}");
            assert_eq!(found[0].path, odd);
            assert_eq!(found[2].texts, ["newer"]);
            let one = blame(&git, Some(&second), "moved.txt", Some((2, 2)), &|| ()).unwrap();
            assert_eq!((one.len(), one[0].first, one[0].line), (1, 2, 4));
            // Each line alone, and several together, get the same result as in the whole file.
            for (from, to) in [(1, 1), (2, 3), (4, 5), (5, 6), (6, 6), (1, 6), (3, 99)] {
                let told = |blamed: &[Blamed]| -> Vec<_> {
                    let lines = |one: &Blamed| {
                        let (first, path, commit) =
                            (one.first, one.path.clone(), one.commit.clone());
                        let line = one.line;
                        let texts = one.texts.clone().into_iter().enumerate();
                        texts.map(move |(n, text)| {
                            (first + n, path.clone(), commit.clone(), line + n, text)
                        })
                    };
                    let all = blamed.iter().flat_map(lines);
                    all.filter(|(line, ..)| (from..=to).contains(line)).collect()
                };
                let some = blame(&git, None, "moved.txt", Some((from, to)), &|| ()).unwrap();
                assert_eq!(told(&some), told(&found), "{from}-{to}");
                assert!(some.iter().all(|one| one.first >= from && one.last() <= to));
            }
            assert!(blame(&git, Some(&second), "moved.txt", Some((9, 9)), &|| ()).is_err());
            repo.file("empty", "");
            repo.commit_all("empty");
            assert!(blame(&git, None, "empty", None, &|| ()).unwrap().is_empty());
        }
    }
}
