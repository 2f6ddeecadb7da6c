//! Differences as text for people, and a comparison of two blobs that ignores white space.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::git::Cmd;
use crate::git::arguments::chunks;
use crate::git::{Git, Oid};

/// How a difference is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffStyle {
    /// One line for each file, with a total.
    Stat,
    /// Hunks.
    Patch,
    /// A letter and a path for each file.
    NameStatus,
    /// Lines added and removed in each file; two dashes if it is binary.
    Counts,
}

impl DiffStyle {
    const fn flag(self) -> &'static str {
        match self {
            Self::Stat => "--stat",
            Self::Patch => "--patch",
            Self::NameStatus => "--name-status",
            Self::Counts => "--numstat",
        }
    }
}

/// The difference between two commits or trees; without paths, the difference of all files. With
/// `color`, it is colored if the user wants color in paged diffs (`color.diff`, `color.pager`) and
/// `TERM` is not `dumb`.
///
/// # Errors
/// Git fails.
pub fn text<S: AsRef<str>>(
    git: &Git,
    from: &Oid,
    to: &Oid,
    paths: &[S],
    style: DiffStyle,
    color: bool,
) -> Result<String> {
    let one = |paths: &[S]| -> Result<String> {
        let diff = command(git, &[], from, to, style, color);
        Ok(diff.args(paths.iter().map(AsRef::as_ref)).checked()?.text())
    };
    if paths.is_empty() {
        return one(&[]);
    }
    chunks(paths).into_iter().map(one).collect()
}

/// Like [`text`], of all files outside this folder. Git compares each changed path with each path
/// that it is given, so that leaving out one folder is much faster than naming all the others.
///
/// # Errors
/// Git fails.
pub fn text_outside(
    git: &Git,
    from: &Oid,
    to: &Oid,
    folder: &str,
    style: DiffStyle,
    color: bool,
) -> Result<String> {
    let diff = command(git, &["--no-literal-pathspecs"], from, to, style, color);
    Ok(diff.arg(".").arg(format!(":(exclude,literal){folder}")).checked()?.text())
}

/// The command that shows a difference, up to the paths.
fn command<'g>(
    git: &'g Git,
    options: &[&str],
    from: &Oid,
    to: &Oid,
    style: DiffStyle,
    color: bool,
) -> Cmd<'g> {
    let diff = git.read(options).args(["diff", "--no-ext-diff", "--no-textconv", style.flag()]);
    let diff = match color {
        true => diff.env("GIT_PAGER_IN_USE", "true"),
        false => diff.arg("--color=never"),
    };
    diff.args([from.as_str(), to.as_str(), "--"])
}

/// The difference between two files anywhere on disk, without headers and regardless of attributes;
/// a missing file is treated as empty.
///
/// # Errors
/// Git fails.
pub fn files(git: &Git, from: &Path, to: &Path) -> Result<String> {
    let file = |path: &Path| match path.exists() {
        true => path.to_owned(),
        false => PathBuf::from("/dev/null"),
    };
    let diff = git.read(["diff", "--no-index", "--no-ext-diff", "--no-textconv", "--text"]);
    let diff = diff.args(["--color=never", "--"]).args([file(from), file(to)]);
    let output = diff.output()?;
    match output.code {
        Some(0 | 1) => {
            let text = output.text();
            let start = text.find("\n@@ ").map_or(text.len(), |at| at + 1);
            Ok(text[start..].to_owned())
        }
        _ => Err(diff.failure(&output).into()),
    }
}

/// True if two texts differ in more than white space.
pub fn differ_beyond_whitespace(mut a: Vec<u8>, mut b: Vec<u8>) -> bool {
    for text in [&mut a, &mut b] {
        text.retain(|byte| !byte.is_ascii_whitespace());
    }
    a != b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::snapshot;
    use crate::git::test_repo::Repo;

    #[test]
    fn people_see_new_files_too() {
        let repo = Repo::with_commit();
        repo.run(&["config", "diff.external", "false"]);
        let git = repo.git().with_env(vec![("TERM".into(), "xterm".into())]);
        let from = repo.head();
        repo.file("README.md", "changed\n");
        repo.file("a b", "new\n");
        let show = |paths: &[&str], style, color| {
            let tree = snapshot::tree(&git, &from, paths).unwrap();
            text(&git, &from, &tree, paths, style, color).unwrap()
        };
        let names = show(&["README.md", "a b"], DiffStyle::NameStatus, false);
        assert_eq!(names, "M\tREADME.md\nA\ta b\n");
        assert!(show(&["a b"], DiffStyle::Patch, false).ends_with("@@ -0,0 +1 @@\n+new\n"));
        assert!(show(&["a b"], DiffStyle::Patch, true).contains("\u{1b}["));
        repo.run(&["config", "color.diff.new", "yellow"]);
        assert!(show(&["a b"], DiffStyle::Patch, true).contains("\u{1b}[33m+"));
        repo.run(&["config", "color.diff", "false"]);
        assert!(!show(&["a b"], DiffStyle::Patch, true).contains("\u{1b}["));
        assert!(show(&["a b"], DiffStyle::Stat, false).contains("1 file changed"));
        let to = repo.commit_all("second");
        let one = text(&git, &from, &to, &["a b"], DiffStyle::NameStatus, false).unwrap();
        assert_eq!(one, "A\ta b\n");
    }

    #[test]
    fn one_folder_is_left_out_by_its_name() {
        let repo = Repo::with_commit();
        let from = repo.head();
        for path in ["[ab]/left out", "a/new", "in/[ab]/new", "[ab] new"] {
            repo.file(path, "new\n");
        }
        let to = repo.commit_all("second");
        let git = repo.git();
        let names = text_outside(&git, &from, &to, "[ab]/", DiffStyle::NameStatus, false).unwrap();
        assert_eq!(names, "A\t[ab] new\nA\ta/new\nA\tin/[ab]/new\n");
    }

    #[test]
    fn files_differ_wherever_they_lie() {
        let repo = Repo::with_commit();
        repo.file(".gitattributes", "* -diff\n");
        repo.file("a", "one\n");
        repo.file("b", "two\n");
        let diff = |a, b| files(&repo.git(), &repo.path(a), &repo.path(b)).unwrap();
        assert_eq!(diff("a", "b"), "@@ -1 +1 @@\n-one\n+two\n");
        assert_eq!(diff("missing", "b"), "@@ -0,0 +1 @@\n+two\n");
        assert_eq!(diff("a", "missing"), "@@ -1 +0,0 @@\n-one\n");
        assert_eq!(diff("a", "a"), "");
    }

    #[test]
    fn white_space_is_no_difference() {
        let differ = |a: &str, b: &str| differ_beyond_whitespace(a.into(), b.into());
        assert!(!differ("fn main(){ }\n", "fn main()\r\n{}"));
        assert!(differ("fn main(){ }\n", "fn main(){1}"));
    }
}
