//! Reads references from the files of a repository
//! (<https://git-scm.com/docs/gitrepository-layout>, <https://git-scm.com/docs/git-pack-refs>),
//! without a process, or from the list of a repository that keeps them in tables. libgit2's own
//! list is not used: it takes the packed value of a reference whose file is broken, may miss a
//! reference that is being packed at the same time, and does not know tables. After an error here,
//! the caller must run git instead.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail, ensure};

use super::output::{lossy, path_buf};
use super::packed_refs::{Packed, stamp};
use super::ref_patterns::{check, fits, is_shared, matches};
use super::ref_tables::{Listed, listed};
use super::{Git, Oid, RefName};

/// Maximum number of symbolic references that are followed in a row, as in git.
const SYMBOLIC_DEPTH: usize = 5;

/// A reference and the object it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ref {
    /// Full name.
    pub name: RefName,
    /// The object it points to; for an annotated tag, the tag itself.
    pub object: Oid,
}

/// The value of a reference.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Object(Oid),
    Symbolic(String),
    Broken,
}

/// The references of a repository.
pub(super) struct RefFiles<'a> {
    git: &'a Git,
    common_dir: &'a Path,
    /// All references, if they are in tables.
    listed: Option<Arc<Listed>>,
}

impl Git {
    /// The result of `question` for the references; `None` if only git can answer.
    pub(super) fn in_ref_files<T>(
        &self,
        question: impl FnOnce(&RefFiles<'_>) -> Result<T>,
    ) -> Option<T> {
        let answer = RefFiles::of(self).and_then(|files| question(&files));
        answer.inspect_err(|error| tracing::debug!("git has to read references: {error:#}")).ok()
    }
}

impl<'a> RefFiles<'a> {
    /// # Errors
    /// The references can only be read by git.
    pub(super) fn of(git: &'a Git) -> Result<Self> {
        let listed = if git.format.has_ref_files { None } else { Some(listed(git)?) };
        Ok(Self { git, common_dir: &git.common_dir, listed })
    }

    /// The references that do not have a file of their own.
    fn packed(&self) -> Result<Arc<Packed>> {
        match &self.listed {
            Some(listed) => Ok(Arc::clone(&listed.packed)),
            None => self.git.packed.read(self.common_dir, self.git.format),
        }
    }

    /// The references that match one of the patterns of [`super::Git::refs`], sorted by name.
    pub(super) fn list<S: AsRef<str>>(&self, patterns: &[S]) -> Result<Vec<Ref>> {
        self.wanted(patterns, &|_| true)
    }

    /// Like [`RefFiles::list`], without the references whose names are not wanted; their files are
    /// not read.
    pub(super) fn wanted<S: AsRef<str>>(
        &self,
        patterns: &[S],
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Ref>> {
        let mut found = BTreeMap::new();
        for pattern in patterns {
            self.loose(&check(pattern.as_ref())?, &mut |name| {
                if is_wanted(name)
                    && let Some(value) = self.loose_value(name)?
                {
                    found.insert(name.to_owned(), value);
                }
                Ok(())
            })?;
        }
        // Read after the loose files: if `git pack-refs` removes one meanwhile, its reference is in
        // the new `packed-refs`.
        let packed = self.packed()?;
        for pattern in patterns {
            packed.matching(&check(pattern.as_ref())?, |name, value| {
                if is_wanted(name) {
                    found.entry(name.to_owned()).or_insert(value);
                }
            })?;
        }
        let mut refs = Vec::with_capacity(found.len());
        for (name, value) in found {
            // Git also leaves out invalid names.
            if let (Ok(name), Some(object)) = (RefName::new(name), self.followed(value, &packed)?) {
                refs.push(Ref { name, object });
            }
        }
        Ok(refs)
    }

    /// The matching names, each with a time (Unix seconds) after which the reference did not move.
    /// The loose files are not read.
    pub(super) fn moved<S: AsRef<str>>(&self, patterns: &[S]) -> Result<Vec<(RefName, i64)>> {
        ensure!(self.listed.is_none(), "tables do not show when a reference moved");
        let mut found = BTreeMap::new();
        for pattern in patterns {
            self.loose(&check(pattern.as_ref())?, &mut |name| {
                if let Some(meta) = present(self.common_dir.join(name).metadata())? {
                    found.insert(name.to_owned(), seconds(meta.modified()?));
                }
                Ok(())
            })?;
        }
        let packed = self.packed()?;
        let when = stamp(&self.common_dir.join("packed-refs"))?.map(|(time, ..)| time);
        for pattern in patterns {
            packed.matching(&check(pattern.as_ref())?, |name, _| {
                found.entry(name.to_owned()).or_insert_with(|| {
                    // The reflog of a reference is written when it moves, `packed-refs` when any
                    // reference is packed.
                    let log = self.common_dir.join("logs").join(name).metadata();
                    log.and_then(|log| log.modified()).ok().or(when).map_or(i64::MAX, seconds)
                });
            })?;
        }
        let names = found.into_iter();
        Ok(names.filter_map(|(name, moved)| Some((RefName::new(name).ok()?, moved))).collect())
    }

    /// The matching symbolic references, with the names of their targets. A packed reference is
    /// never symbolic.
    pub(super) fn symbolic<S: AsRef<str>>(&self, patterns: &[S]) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        if let Some(listed) = &self.listed {
            let fit = |name: &str| patterns.iter().any(|one| matches(one.as_ref(), name));
            found.extend(listed.symbolic.iter().filter(|(name, _)| fit(name)).cloned());
        }
        for pattern in patterns {
            self.loose(&check(pattern.as_ref())?, &mut |name| {
                if let Some(Value::Symbolic(to)) = self.loose_value(name)? {
                    found.push((name.to_owned(), to));
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Returns those of `names` that may have a reference below `root`: all that have one, and
    /// perhaps some others. The loose files are not read.
    pub(super) fn may_be_there(
        &self,
        root: &str,
        names: &HashSet<RefName>,
    ) -> Result<HashSet<RefName>> {
        let root = check(root)?;
        let mut found = HashSet::new();
        // If all references are packed, the folder does not exist.
        if present(self.common_dir.join(&root).symlink_metadata())?.is_some() {
            let is_there = |name: &RefName| {
                let file = self.common_dir.join(name.as_str()).symlink_metadata();
                !matches!(present(file), Ok(None))
            };
            found.extend(names.iter().filter(|name| is_there(name)).cloned());
        }
        self.packed()?.names(&root, |name| {
            found.extend(names.get(name).cloned());
        })?;
        Ok(found)
    }

    /// Reads one reference; `None` if it does not exist.
    pub(super) fn one(&self, name: &str) -> Result<Option<Ref>> {
        ensure!(is_shared(name), "{name} is a per-worktree reference");
        let name = RefName::new(name)?;
        let value = self.loose_value(name.as_str())?;
        let packed =
            if matches!(value, Some(Value::Object(_))) { Arc::default() } else { self.packed()? };
        let Some(value) =
            value.map_or_else(|| packed.value(name.as_str()), |value| Ok(Some(value)))?
        else {
            return Ok(None);
        };
        ensure!(!matches!(value, Value::Broken), "{name} is broken");
        Ok(self.followed(value, &packed)?.map(|object| Ref { name, object }))
    }

    /// The working trees that have a branch checked out, by the full name of the branch.
    pub(super) fn checked_out(&self) -> Result<BTreeMap<String, PathBuf>> {
        if let Some(listed) = &self.listed {
            return Ok(listed.checked_out.clone());
        }
        let packed = self.packed()?;
        let mut places = BTreeMap::new();
        // Git determines the main working tree in the same way, even if the git directory is
        // elsewhere or the repository is bare.
        let main = match self.common_dir.file_name() {
            Some(name) if name == ".git" => self.common_dir.parent().unwrap_or(self.common_dir),
            _ => self.common_dir,
        };
        if let Some(branch) = self.branch_of(self.common_dir, &packed)? {
            places.insert(branch, main.to_owned());
        }
        for (_, dir, _) in entries(&self.common_dir.join("worktrees"))? {
            let Some(link) = present(fs::read(dir.join("gitdir")))? else { continue };
            let link = dir.join(path_buf(link.trim_ascii_end()));
            // Since git 2.48 this path may be relative.
            let link = if link.is_absolute()
                && !lossy(link.as_os_str().as_encoded_bytes()).contains("/../")
            {
                link
            } else {
                link.canonicalize()?
            };
            let tree = if link.file_name().is_some_and(|name| name == ".git") {
                link.parent().unwrap_or(&link).to_owned()
            } else {
                link
            };
            if let Some(branch) = self.branch_of(&dir, &packed)? {
                places.entry(branch).or_insert(tree);
            }
        }
        Ok(places)
    }

    /// All references, if they are in tables.
    pub(super) fn listed(&self) -> Option<&Listed> {
        self.listed.as_deref()
    }

    /// The branch that the `HEAD` in `git_dir` points to, even if the branch has no commit yet.
    fn branch_of(&self, git_dir: &Path, packed: &Packed) -> Result<Option<String>> {
        let head = git_dir.join("HEAD");
        ensure!(!head.is_symlink(), "HEAD is a symlink");
        let Some(Value::Symbolic(mut name)) =
            present(fs::read(head))?.map(|text| self.parsed(&text))
        else {
            return Ok(None);
        };
        for _ in 0..SYMBOLIC_DEPTH {
            ensure!(is_shared(&name), "HEAD points to {name}");
            match self.value(&name, packed)? {
                Some(Value::Symbolic(next)) => name = next,
                _ => return Ok(Some(name)),
            }
        }
        bail!("HEAD is a symbolic reference loop")
    }

    /// The object that a value points to after all symbolic references; `None` if there is none.
    fn followed(&self, mut value: Value, packed: &Packed) -> Result<Option<Oid>> {
        for _ in 0..SYMBOLIC_DEPTH {
            let next = match value {
                Value::Object(object) => return Ok(Some(object)),
                Value::Broken => return Ok(None),
                Value::Symbolic(next) => next,
            };
            ensure!(
                is_shared(&next) && RefName::new(&*next).is_ok(),
                "a symbolic reference has an unsupported target: {next}"
            );
            match self.value(&next, packed)? {
                Some(found) => value = found,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    fn value(&self, name: &str, packed: &Packed) -> Result<Option<Value>> {
        match self.loose_value(name)? {
            Some(value) => Ok(Some(value)),
            None => packed.value(name),
        }
    }

    /// Reads the loose file of this name; `None` if there is none.
    fn loose_value(&self, name: &str) -> Result<Option<Value>> {
        if self.listed.is_some() {
            return Ok(None);
        }
        let path = self.common_dir.join(name);
        let mut options = fs::File::options();
        options.read(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            // A symbolic link is an error.
            options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        }
        #[cfg(not(unix))]
        ensure!(!path.is_symlink(), "{name} is a symlink");
        let Some(file) = present(options.open(path))? else { return Ok(None) };
        let mut text = Vec::with_capacity(256);
        let read = file.take(u64::from(u16::MAX)).read_to_end(&mut text);
        Ok(present(read)?.map(|_| self.parsed(&text)))
    }

    /// Parses the text of a reference's file.
    fn parsed(&self, text: &[u8]) -> Value {
        if let Some(name) = text.strip_prefix(b"ref:") {
            return Value::Symbolic(lossy(name.trim_ascii()));
        }
        let digits = self.git.format.digits;
        let ended = text.get(digits).is_none_or(u8::is_ascii_whitespace);
        let object = text.get(..digits).filter(|_| ended).and_then(oid);
        object.map_or(Value::Broken, Value::Object)
    }

    /// Calls `see` with the name of each loose reference that matches.
    fn loose(&self, pattern: &str, see: See<'_>) -> Result<()> {
        if self.listed.is_some() {
            return Ok(());
        }
        self.descend(
            "",
            &pattern.trim_end_matches('/').split('/').collect::<Vec<_>>(),
            pattern,
            see,
        )
    }

    fn descend(&self, at: &str, segments: &[&str], pattern: &str, see: See<'_>) -> Result<()> {
        let Some((segment, rest)) = segments.split_first() else {
            return self.below(at, pattern, see);
        };
        if !segment.contains('*') {
            return self.descend(&joined(at, segment), rest, pattern, see);
        }
        for (name, ..) in entries(&self.common_dir.join(at))? {
            if fits(segment, &name) {
                self.descend(&joined(at, &name), rest, pattern, see)?;
            }
        }
        Ok(())
    }

    /// Calls `see` with the matching names: `at` if it is a file, or the files below it.
    fn below(&self, at: &str, pattern: &str, see: See<'_>) -> Result<()> {
        match present(self.common_dir.join(at).symlink_metadata())? {
            Some(meta) => self.shown(at, meta.is_dir(), pattern, see),
            None => Ok(()),
        }
    }

    fn shown(&self, at: &str, is_folder: bool, pattern: &str, see: See<'_>) -> Result<()> {
        if !is_folder {
            return if matches(pattern, at) { see(at) } else { Ok(()) };
        }
        if !pattern.contains('*') {
            for (name, _, is_folder) in entries(&self.common_dir.join(at))? {
                self.shown(&joined(at, &name), is_folder, pattern, see)?;
            }
        }
        Ok(())
    }
}

/// Called with the name of a loose reference.
type See<'a> = &'a mut dyn FnMut(&str) -> Result<()>;

fn seconds(time: SystemTime) -> i64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}

pub(super) fn oid(digits: &[u8]) -> Option<Oid> {
    let oid: Oid = str::from_utf8(digits).ok()?.to_ascii_lowercase().parse().ok()?;
    (!oid.is_zero()).then_some(oid)
}

pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The entries of a folder (name, path, and true if it is a folder), except those that git ignores;
/// empty if there is no folder.
pub(super) fn entries(folder: &Path) -> Result<Vec<(String, PathBuf, bool)>> {
    let mut found = Vec::new();
    let Some(listed) = present(fs::read_dir(folder))? else { return Ok(found) };
    for entry in listed {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a name is not UTF-8")?;
        if !name.starts_with('.') && !name.ends_with(".lock") {
            let kind = entry.file_type()?;
            ensure!(!kind.is_symlink(), "{name} is a symlink");
            found.push((name, entry.path(), kind.is_dir()));
        }
    }
    Ok(found)
}

/// Returns `None` if the path does not exist (any more) or is not of the expected type.
pub(super) fn present<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use super::*;
    use crate::git::{refs, worktree};

    /// Lists references from the files and with git, and compares the results.
    fn compared(repo: &Repo, patterns: &[&str]) -> Vec<String> {
        let git = repo.git();
        let fast = RefFiles::of(&git).unwrap().list(patterns).unwrap();
        let slow = refs::asked_refs(&git, patterns).unwrap();
        assert_eq!(fast, slow, "{patterns:?}");
        for fast in &fast {
            let one = RefFiles::of(&git).unwrap().one(fast.name.as_str()).unwrap();
            assert_eq!(one.as_ref(), Some(fast));
        }
        assert_eq!(git.refs(patterns).unwrap(), fast, "{patterns:?}");
        assert_eq!(refs::list(&git, patterns).unwrap(), refs::tests::listed_by_git(&git, patterns));
        fast.into_iter().map(|one| one.name.to_string()).collect()
    }

    const PATTERNS: [&[&str]; 10] = [
        &["refs/heads/"],
        &["refs/heads"],
        &["refs/heads/main"],
        &["refs/heads/main/"],
        &["refs/heads/cowork/", "refs/remotes/*/cowork/*"],
        &["refs/remotes/*/main"],
        &["refs/heads/cowork/a*--*", "refs/heads/cowork/a"],
        &["refs/tags/", "refs/tags/t"],
        &["refs/cowork/attempts/s/"],
        &["refs/heads/cow"],
    ];

    fn full() -> Repo {
        let repo = Repo::with_commit();
        for branch in ["cowork/a", "cowork/a--b", "cowork/ab--c--d", "cowork-x/y", "other"] {
            repo.run(&["branch", branch]);
        }
        repo.run(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        repo.run(&["update-ref", "refs/remotes/fork/cowork/a", "HEAD"]);
        repo.run(&["update-ref", "refs/remotes/fork/cowork/deep/er", "HEAD"]);
        repo.run(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
        repo.run(&["symbolic-ref", "refs/heads/nowhere", "refs/heads/nope"]);
        repo.run(&["symbolic-ref", "refs/heads/round", "refs/heads/round"]);
        repo.run(&["update-ref", "refs/cowork/attempts/s/1", "HEAD"]);
        repo.run(&["tag", "-a", "-m", "first\nline\n\nbody\n", "t"]);
        repo.run(&["tag", "-a", "-m", "of a tag", "tt", "t"]);
        repo.run(&["tag", "tree", "HEAD^{tree}"]);
        repo.run(&["tag", "light"]);
        repo
    }

    #[test]
    fn files_say_what_git_says() {
        let repo = full();
        let check = || -> Vec<Vec<String>> {
            PATTERNS.iter().map(|patterns| compared(&repo, patterns)).collect()
        };
        let loose = check();
        assert_eq!(loose[2], ["refs/heads/main"]);
        assert_eq!(loose[4].len(), 4, "{:?}", loose[4]);
        repo.run(&["pack-refs", "--all", "--prune"]);
        assert_eq!(check(), loose, "packed");
        // Some are packed, some are not, and one has moved since it was packed.
        repo.commit_all("second\n\nwith a body\n\nKey: value\n");
        repo.run(&["branch", "cowork/later"]);
        repo.run(&["branch", "-D", "other"]);
        check();
        // The format of an old git: not sorted, and without peeled tags.
        let packed = repo.text(".git/packed-refs").unwrap();
        let mut lines: Vec<&str> =
            packed.lines().filter(|line| !line.starts_with(['#', '^'])).collect();
        lines.reverse();
        repo.file(".git/packed-refs", &format!("{}\n", lines.join("\n")));
        check();
    }

    #[test]
    fn what_is_broken_is_left_out_as_git_does() {
        let repo = full();
        repo.run(&["pack-refs", "--all"]);
        let zero = "0".repeat(40);
        for text in ["", "x", &zero, "ref: \n", &"a".repeat(39), &format!("{}x", "a".repeat(40))] {
            repo.file(".git/refs/heads/cowork/a", text);
            repo.file(".git/refs/heads/a b", &repo.head().to_string());
            repo.file(".git/refs/heads/half.lock", text);
            let git = repo.git();
            let listed = git.refs(&["refs/heads/"]).unwrap();
            assert_eq!(listed, refs::asked_refs(&git, &["refs/heads/"]).unwrap(), "{text:?}");
            // The older, packed value is not used.
            assert!(listed.iter().all(|one| one.name.short() != "cowork/a"), "{text:?}");
            let resolved = git.resolve("refs/heads/cowork/a").unwrap();
            assert_eq!(resolved, refs::verified(&git, "refs/heads/cowork/a^{commit}").unwrap());
        }
        repo.file(".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted \nnonsense\n");
        assert!(RefFiles::of(&repo.git()).unwrap().list(&["refs/tags/"]).is_err());
        assert!(repo.git().refs(&["refs/tags/"]).is_err());
    }

    #[test]
    fn many_packed_names_are_found() {
        let repo = Repo::with_commit();
        let head = repo.head();
        let mut packed = String::from("# pack-refs with: peeled fully-peeled sorted \n");
        for number in 0..1000 {
            packed += &format!("{head} refs/heads/cowork/s{number:04}\n");
            packed += &format!("^{head}\n").repeat(number % 2);
        }
        repo.file(".git/packed-refs", &packed);
        let git = repo.git();
        let files = RefFiles::of(&git).unwrap();
        for number in 0..1000 {
            let name = format!("refs/heads/cowork/s{number:04}");
            assert_eq!(files.one(&name).unwrap().unwrap().name.as_str(), name);
        }
        let moved = refs::moved(&git, &["refs/heads/cowork/"]).unwrap();
        assert_eq!(moved.len(), 1000);
        assert!(moved.iter().all(|(_, at)| *at > 1_000_000_000 && *at < i64::MAX));
        for (pattern, expected) in [
            ("refs/heads/cowork/", 1000),
            ("refs/heads/cowork/s00*", 100),
            ("refs/heads/cowork/s0999x", 0),
            ("refs/heads/a", 0),
            ("refs/tags/", 0),
        ] {
            assert_eq!(files.list(&[pattern]).unwrap().len(), expected, "{pattern}");
        }
    }

    #[test]
    fn working_trees_of_branches() {
        let repo = full();
        let git = repo.git();
        let head = repo.head();
        let linked = worktree::add(&git, &repo.root().join("l w"), "side", &head).unwrap();
        let other = worktree::add(&git, &repo.root().join("d"), "detached", &head).unwrap();
        other.write(["checkout", "-q", "--detach"]).checked().unwrap();
        let trees = || -> Vec<Option<PathBuf>> {
            let patterns = ["refs/heads/"];
            let refs = refs::list(&git, &patterns).unwrap();
            assert_eq!(refs, refs::tests::listed_by_git(&git, &patterns));
            refs.into_iter().map(|info| info.worktree).collect()
        };
        let found = trees();
        assert!(found.contains(&Some(git.top().to_owned())), "{found:?}");
        assert!(found.contains(&Some(linked.top().to_owned())), "{found:?}");
        assert_eq!(found.iter().flatten().count(), 2);
        let gitdir = linked.git_dir().join("gitdir");
        std::fs::write(&gitdir, format!("{}\n", linked.top().join(".git").display())).unwrap();
        repo.run(&["symbolic-ref", "refs/heads/alias", "refs/heads/other"]);
        repo.run(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
        assert_eq!(trees().iter().flatten().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn what_only_git_understands_is_asked_of_git() {
        let repo = full();
        let git = repo.git();
        let files = RefFiles::of(&git).unwrap();
        for pattern in ["refs/", "refs/bisect/", "refs/w*", "HEAD", "refs/heads/[a]"] {
            assert!(files.list(&[pattern]).is_err(), "{pattern}");
        }
        std::os::unix::fs::symlink("main", repo.path(".git/refs/heads/link")).unwrap();
        assert!(files.list(&["refs/heads/"]).is_err());
        assert!(git.refs(&["refs/heads/"]).unwrap().iter().any(|one| one.name.short() == "link"));
        for options in [&["--ref-format=reftable"][..], &["--object-format=sha256"]] {
            let repo = Repo::with_commit_in(options);
            let refs = repo.git().refs(&["refs/heads/"]).unwrap();
            assert_eq!(refs.len(), 1, "{options:?}");
            assert_eq!(refs[0].object, repo.head());
        }
    }
}
