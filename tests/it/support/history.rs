//! Reads a sandbox with git: subjects, trailers, tags; and checks that the repository is intact.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::sandbox::Sandbox;

/// Trailers by key; the values of a key are in order.
pub type Trailers = BTreeMap<String, Vec<String>>;

impl Sandbox {
    /// Names of all files in the sandbox, including git's, that contain this text; without links.
    pub fn files_with(&self, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        find_files(&self.root(), text.as_bytes(), &mut found);
        found.sort();
        found
    }

    /// Subjects of a range, oldest first.
    #[track_caller]
    pub fn subjects(&self, range: &str) -> Vec<String> {
        let log = self.git(&["log", "--reverse", "--topo-order", "--format=%s", range]);
        log.lines().map(str::to_owned).collect()
    }

    /// The part before the colon of each subject, oldest first; equal neighbours are combined.
    #[track_caller]
    pub fn stages(&self, range: &str) -> Vec<String> {
        let subjects = self.subjects(range);
        let mut stages: Vec<_> =
            subjects.iter().map(|s| s.split(':').next().unwrap().to_owned()).collect();
        stages.dedup();
        stages
    }

    /// The trailers of a commit, as git itself reads them.
    #[track_caller]
    pub fn trailers(&self, commit: &str) -> Trailers {
        let message = self.git(&["log", "-1", "--format=%B", commit]);
        let mut command = self.command("git");
        command.args(["interpret-trailers", "--parse"]);
        let text = pipe(command, &message);
        let mut trailers = Trailers::new();
        for line in text.lines() {
            let (key, value) = line.split_once(": ").unwrap();
            trailers.entry(key.to_owned()).or_default().push(value.to_owned());
        }
        trailers
    }

    /// The log of the tests that criteria name, from the note that a commit names.
    pub fn test_log(&self, commit: &str) -> String {
        let counted = &self.trailers(commit)["Cowork-Tests"];
        assert_eq!(counted.len(), 1, "{counted:?}");
        let (_, log) = counted[0].rsplit_once(", log ").unwrap();
        self.git(&["notes", "--ref", "cowork", "show", log])
    }

    /// The newest commit of a branch whose subject begins with this text.
    #[track_caller]
    pub fn commit_of(&self, branch: &str, subject: &str) -> String {
        let log = self.git(&["log", "--format=%H %s", branch]);
        let found = log.lines().find_map(|line| {
            let (commit, text) = line.split_once(' ').unwrap();
            text.starts_with(subject).then(|| commit.to_owned())
        });
        found.unwrap_or_else(|| panic!("no commit '{subject}…' in\n{log}"))
    }

    /// The commit that completed a stage of session `todo`.
    #[track_caller]
    pub fn stage_commit(&self, stage: &str) -> String {
        self.git(&["rev-parse", &format!("refs/tags/cowork/todo/{stage}^{{commit}}")])
    }

    /// Short names of all tags.
    #[track_caller]
    pub fn tags(&self) -> Vec<String> {
        self.git(&["tag", "--list"]).lines().map(str::to_owned).collect()
    }

    /// Full names of the refs under a prefix.
    #[track_caller]
    pub fn refs(&self, prefix: &str) -> Vec<String> {
        let refs = self.git(&["for-each-ref", "--format=%(refname)", prefix]);
        refs.lines().map(str::to_owned).collect()
    }

    /// Every ref and what it points to.
    #[track_caller]
    pub fn all_refs(&self) -> String {
        self.git(&["for-each-ref", "--format=%(refname) %(objectname)"])
    }

    /// Checks that nothing is broken and that no temporary files are left.
    #[track_caller]
    pub fn assert_sound(&self) {
        self.git(&["fsck", "--strict", "--no-dangling"]);
        self.assert_clean();
    }

    #[track_caller]
    pub fn assert_clean(&self) {
        assert_eq!(self.git(&["status", "--porcelain"]), "", "the working tree is not clean");
    }

    /// Mode, blob and path of everything in a commit.
    #[track_caller]
    pub fn tree(&self, commit: &str) -> String {
        self.git(&["ls-tree", "-r", commit])
    }

    /// What git prints with this standard input, without the final newline.
    pub fn git_input(&self, args: &[&str], input: &str) -> String {
        let mut git = self.command("git");
        git.args(args);
        pipe(git, input).trim_end().to_owned()
    }

    /// A path's content in a commit, to the last byte.
    #[track_caller]
    pub fn blob(&self, commit: &str, path: &str) -> String {
        self.git_outcome(&["cat-file", "blob", &format!("{commit}:{path}")]).exits(0).stdout
    }
}

fn pipe(mut command: std::process::Command, input: &str) -> String {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn find_files(folder: &Path, text: &[u8], into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        let holds = |bytes: Vec<u8>| bytes.windows(text.len()).any(|window| window == text);
        if kind.is_dir() {
            find_files(&entry.path(), text, into);
        } else if kind.is_file() && holds(fs::read(entry.path()).unwrap_or_default()) {
            into.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
}
