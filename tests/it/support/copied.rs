//! Reads commits from a repository and writes changed copies with `git fast-import`, which is much
//! faster than running the program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use super::sandbox::Sandbox;

/// A commit as read from a repository.
#[derive(Clone, Debug)]
pub struct Copied {
    pub oid: String,
    pub parents: Vec<String>,
    /// The lines `author` and `committer`.
    pub people: String,
    pub message: String,
    /// The changes against its first parent.
    pub changes: Vec<Change>,
}

#[derive(Clone, Debug)]
pub struct Change {
    pub path: String,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub enum Content {
    /// A blob that already exists.
    Blob(String),
    Text(String),
    Gone,
}

impl Change {
    pub fn text(path: &str, text: String) -> Self {
        Self { path: path.to_owned(), content: Content::Text(text) }
    }
}

/// The commits of the refs below these prefixes, without the root commit of `main`, parents first;
/// and the refs: name and commit.
pub fn commits(sandbox: &Sandbox, prefixes: &[&str]) -> (Vec<Copied>, Vec<(String, String)>) {
    let format = "--format=%(refname) %(objectname)";
    let refs = sandbox.git(&[&["for-each-ref", format], prefixes].concat());
    let refs = refs.lines().map(|line| line.split_once(' ').unwrap());
    let refs: Vec<_> = refs.map(|(name, oid)| (name.to_owned(), oid.to_owned())).collect();
    let names: Vec<&str> = refs.iter().map(|(name, _)| name.as_str()).collect();
    let first = sandbox.git(&["rev-list", "--max-parents=0", "main"]);
    let walk = ["rev-list", "--topo-order", "--reverse"];
    let oids = sandbox.git(&[&walk, &names[..], &["--not", &first]].concat());
    (oids.lines().map(|oid| copied(sandbox, oid)).collect(), refs)
}

fn copied(sandbox: &Sandbox, oid: &str) -> Copied {
    let raw = sandbox.git_outcome(&["cat-file", "commit", oid]).exits(0).stdout;
    let (head, message) = raw.split_once("\n\n").unwrap();
    let parents: Vec<String> =
        head.lines().filter_map(|line| line.strip_prefix("parent ")).map(str::to_owned).collect();
    let people = head.lines().filter(|l| l.starts_with("author ") || l.starts_with("committer "));
    let people = people.map(|line| format!("{line}\n")).collect();
    let diff =
        sandbox.git(&["diff-tree", "-r", "--no-renames", "--raw", "--no-abbrev", &parents[0], oid]);
    let changes = diff.lines().map(|line| {
        let (about, path) = line.split_once('\t').unwrap();
        let fields: Vec<&str> = about.split(' ').collect();
        let gone = fields[4] == "D";
        let content = if gone { Content::Gone } else { Content::Blob(fields[3].to_owned()) };
        Change { path: path.to_owned(), content }
    });
    Copied {
        oid: oid.to_owned(),
        people,
        message: message.to_owned(),
        changes: changes.collect(),
        parents,
    }
}

/// Writes commits. The caller names each commit, and refers to it by that name.
pub struct Copier<'a> {
    sandbox: &'a Sandbox,
    stream: String,
    marks: BTreeMap<String, usize>,
    next: usize,
    refs: Vec<(String, String)>,
}

/// How refs are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refs {
    Loose,
    Packed,
}

/// The temporary ref on which commits are written.
const SCRATCH: &str = "refs/scratch";

impl<'a> Copier<'a> {
    pub fn new(sandbox: &'a Sandbox) -> Self {
        fs::remove_file(sandbox.root().join("marks")).ok();
        Self { sandbox, stream: String::new(), marks: BTreeMap::new(), next: 1, refs: Vec::new() }
    }

    /// The name for git: the mark of a commit that was written, or the id of an existing one.
    fn object(&self, name: &str) -> String {
        self.marks.get(name).map_or_else(|| name.to_owned(), |mark| format!(":{mark}"))
    }

    /// A commit with the author and committer of another one.
    pub fn commit(
        &mut self,
        name: &str,
        people: &str,
        parents: &[String],
        message: &str,
        changes: &[Change],
    ) {
        let parents: Vec<String> = parents.iter().map(|parent| self.object(parent)).collect();
        let (mark, stream) = (self.next, &mut self.stream);
        self.next += 1;
        self.marks.insert(name.to_owned(), mark);
        let length = message.len();
        write!(stream, "commit {SCRATCH}\nmark :{mark}\n{people}data {length}\n{message}").unwrap();
        for (parent, word) in
            parents.iter().zip(std::iter::once("from").chain(std::iter::repeat("merge")))
        {
            writeln!(stream, "{word} {parent}").unwrap();
        }
        for Change { path, content } in changes {
            match content {
                Content::Blob(oid) => writeln!(stream, "M 100644 {oid} {path}"),
                Content::Text(text) => {
                    writeln!(stream, "M 100644 inline {path}\ndata {}\n{text}", text.len())
                }
                Content::Gone => writeln!(stream, "D {path}"),
            }
            .unwrap();
        }
        stream.push('\n');
    }

    /// A ref that [`Copier::finish`] sets.
    pub fn reset(&mut self, name: &str, to: &str) {
        self.refs.push((name.to_owned(), to.to_owned()));
    }

    /// The tree of a commit that was written.
    pub fn tree_of(&mut self, name: &str) -> String {
        self.flush();
        let commit = &self.written()[self.marks[name]];
        self.sandbox.git(&["rev-parse", &format!("{commit}^{{tree}}")])
    }

    /// Writes the remaining commits, and the refs as files, because git would lock each ref.
    pub fn finish(mut self, kept: Refs) {
        self.flush();
        self.sandbox.git(&["update-ref", "-d", SCRATCH]);
        let written = self.written();
        let refs = self.refs.iter().map(|(name, to)| {
            let oid = self.marks.get(to).map_or(to, |mark| &written[*mark]);
            (name.clone(), oid.clone())
        });
        let git = self.sandbox.path(".git");
        if git.join("reftable").exists() {
            let lines: String = refs.map(|(name, oid)| format!("update {name} {oid}\n")).collect();
            self.sandbox.git_input(&["update-ref", "--stdin"], &lines);
            return;
        }
        if kept == Refs::Loose {
            for (name, oid) in refs {
                let path = git.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, oid + "\n").unwrap();
            }
            return;
        }
        let refs: Vec<_> = refs.collect();
        self.sandbox.git(&["pack-refs", "--all"]);
        let packed = fs::read_to_string(git.join("packed-refs")).unwrap();
        let (header, before) = packed.split_once('\n').unwrap();
        let before = before.lines().map(|line| line.split_once(' ').unwrap());
        let mut all: BTreeMap<String, String> =
            before.map(|(oid, name)| (name.to_owned(), oid.to_owned())).collect();
        all.extend(refs);
        let lines = all.iter().map(|(name, oid)| format!("{oid} {name}\n"));
        fs::write(git.join("packed-refs"), format!("{header}\n{}", lines.collect::<String>()))
            .unwrap();
    }

    /// The ids of the marks, by number.
    fn written(&self) -> Vec<String> {
        let text = fs::read_to_string(self.sandbox.root().join("marks")).unwrap();
        let mut written = vec![String::new(); self.next];
        for line in text.lines() {
            let (mark, oid) = line.strip_prefix(':').unwrap().split_once(' ').unwrap();
            written[mark.parse::<usize>().unwrap()] = oid.to_owned();
        }
        written
    }

    /// Sends git the commits that were written so far.
    fn flush(&mut self) {
        let marks = self.sandbox.root().join("marks");
        let path = marks.display();
        // Test data need not survive a crash of the machine.
        let git = ["-c", "core.fsync=none", "-c", "core.compression=1"];
        let (from, to) =
            (format!("--import-marks-if-exists={path}"), format!("--export-marks={path}"));
        let mut import = self.sandbox.command("git");
        import.args(git).args(["fast-import", "--quiet", "--force", &from, &to]);
        let mut child = import.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(self.stream.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        self.stream.clear();
    }
}
