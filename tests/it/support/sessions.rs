//! Repositories with many sessions: copies of one session that the program made, under other names
//! and up to different stages, with its commits, tags, drafts, merge and files in the state
//! directory.

use std::collections::BTreeMap;
use std::fs;

use super::copied::{Change, Content, Copied, Copier, Refs, commits};
use super::sandbox::Sandbox;

/// The session from which all others are copied. No text of the happy path contains this word.
const FIRST: &str = "prototype";
const MAIN: &str = "refs/heads/main";

/// The last stages of the copies, in turn: one of ten sessions is merged.
const STAGES: [&str; 10] =
    ["idea", "prd", "idea", "plan", "idea", "delivery", "idea", "merged", "prd", "idea"];

/// A repository that gets more and more sessions; `main` is checked out.
pub struct Sessions {
    pub sandbox: Sandbox,
    commits: Vec<Copied>,
    refs: Vec<(String, String)>,
    /// The blobs of a session that contain its name.
    named: BTreeMap<String, String>,
    id: String,
    there: usize,
}

impl Sessions {
    /// A repository with one session, which is merged.
    pub fn new() -> Self {
        let sandbox = Sandbox::new();
        let new = ["new", "-n", FIRST, "a todo list for the terminal", "--review", "auto"];
        sandbox.cowork(&new).exits(0);
        sandbox.cowork(&["merge"]).exits(0);
        let (commits, refs) = commits(&sandbox, &["refs/heads", "refs/tags", "refs/cowork"]);
        let id = sandbox.trailers(&format!("cowork/{FIRST}"))["Cowork-Session-Id"][0].clone();
        let blobs = commits.iter().flat_map(|commit| &commit.changes).filter_map(|change| {
            let Content::Blob(oid) = &change.content else { return None };
            let text = sandbox.git_outcome(&["cat-file", "blob", oid]).exits(0).stdout;
            text.contains(FIRST).then(|| (oid.clone(), text))
        });
        let named = blobs.collect();
        Self { sandbox, commits, refs, named, id, there: 1 }
    }

    /// Adds sessions until there are this many.
    pub fn grow(&mut self, sessions: usize, kept: Refs) {
        let mut copier = Copier::new(&self.sandbox);
        let mut main = self.sandbox.git(&["rev-parse", MAIN]);
        for n in self.there..sessions {
            self.copy(&mut copier, n, &mut main);
        }
        copier.reset(MAIN, &main);
        copier.finish(kept);
        self.there = self.there.max(sessions);
        self.sandbox.git(&["reset", "-q", "--hard"]);
    }

    /// One more session.
    fn copy(&self, copier: &mut Copier<'_>, n: usize, main: &mut String) {
        let (name, id) = (format!("session-{n}"), format!("{}{n:012}", &self.id[..24]));
        let renamed = |text: &str| text.replace(FIRST, &name).replace(&self.id, &id);
        let last = STAGES[n % STAGES.len()];
        let stages = ["idea", "prd", "design", "plan", "coding", "check", "delivery", "merged"];
        let later: Vec<_> = stages.iter().skip_while(|stage| **stage != last).skip(1).collect();
        let branch = format!("refs/heads/cowork/{name}");
        let of = |oid: &str| format!("{n} {oid}");
        let mut tip = String::new();
        for commit in &self.commits {
            let stage = commit.message.split(':').next().unwrap();
            let merge = self.is(MAIN, &commit.oid);
            let beyond = if merge { last != "merged" } else { later.contains(&&stage) };
            if beyond {
                continue;
            }
            // Parents that were not copied are the commits from which the first session started.
            let known = |oid: &String| self.commits.iter().any(|commit| commit.oid == *oid);
            let parents = commit.parents.iter();
            let mut parents: Vec<String> =
                parents.map(|oid| if known(oid) { of(oid) } else { oid.clone() }).collect();
            if merge {
                parents[0].clone_from(main);
            }
            let changes = commit.changes.iter().map(|change| Change {
                path: renamed(&change.path),
                content: match &change.content {
                    Content::Blob(oid) => match self.named.get(oid) {
                        Some(text) => Content::Text(renamed(text)),
                        None => change.content.clone(),
                    },
                    other => other.clone(),
                },
            });
            let changes: Vec<Change> = changes.collect();
            copier.commit(
                &of(&commit.oid),
                &commit.people,
                &parents,
                &renamed(&commit.message),
                &changes,
            );
            if merge {
                *main = of(&commit.oid);
            } else if self
                .refs
                .iter()
                .any(|(name, oid)| name.starts_with("refs/tags/") && *oid == commit.oid)
            {
                tip = of(&commit.oid);
            }
        }
        for (name, oid) in &self.refs {
            let stage = name.rsplit('/').next().unwrap();
            let of_session = name.contains(FIRST) && !name.starts_with("refs/heads/");
            if of_session && !later.contains(&&stage) {
                copier.reset(&renamed(name), &of(oid));
            }
        }
        copier.reset(&branch, &tip);
        self.state(&renamed);
    }

    fn is(&self, name: &str, oid: &str) -> bool {
        self.refs.iter().any(|known| known.0 == name && known.1 == oid)
    }

    /// Copies its state directory: the small files that record how its runs ended.
    fn state(&self, renamed: &dyn Fn(&str) -> String) {
        let root = self.sandbox.path(".git/cowork/sessions");
        let folder = root.join(renamed(FIRST));
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(root.join(FIRST)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_file() && !["log", "audit.jsonl", "repository.json"].contains(&name) {
                let text = fs::read_to_string(&path).unwrap();
                fs::write(folder.join(renamed(name)), renamed(&text)).unwrap();
            }
        }
    }
}
