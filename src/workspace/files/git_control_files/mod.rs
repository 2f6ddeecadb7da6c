//! Git control files (attributes, submodules, and hooks and configuration in the tree) and files
//! that instruct agents (`AGENTS.md`, `.claude/`). The next git command or agent follows them,
//! outside the sandbox, and they determine which changes a diff shows to a person. So a model must
//! not change them: a tool's write to such a file is saved for a person to decide on, and a
//! command's change is reverted before anything else happens, and saved in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::instructions::{self, instructs_agents, why_protected};
use crate::path_text;
use crate::workspace::atomic_file;
use crate::workspace::files::guard::means;
use crate::workspace::files::state;
use crate::workspace::journal::{Fingerprint, Written};
use crate::workspace::refusal::Refusal;
use crate::workspace::tracking::GitControlFiles;
use crate::workspace::user_files::Was;
use crate::workspace::working_tree::WorkingTree;

const FILE: &str = "proposed.json";
/// Maximum number of files tracked in a hooks folder.
const FILES_MAX: usize = 500;
/// Files that git finds by name in any folder, with the prefixes of their 8.3 short names.
const NAMED: [(&str, &str); 3] =
    [(".gitattributes", "gitatt~"), (".gitmodules", "gitmod~"), (".lfsconfig", "lfscon~")];

/// A model's change to a git control file, waiting for a person's decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposed {
    /// Relative to the root.
    pub path: String,
    /// File with the new content, in the state directory; `None` is a deletion.
    #[serde(with = "path_text::json_option")]
    pub content: Option<PathBuf>,
    /// True if the file should be executable.
    pub executable: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Decisions {
    proposed: Vec<Proposed>,
    /// Content that a person was shown and allowed.
    accepted: BTreeMap<String, Option<Fingerprint>>,
}

/// Changes to git control files, which a person decides on.
pub struct Proposals<'a>(&'a WorkingTree);

impl<'a> Proposals<'a> {
    /// The proposals of a tree.
    pub(crate) fn of(tree: &'a WorkingTree) -> Self {
        Self(tree)
    }

    /// Returns the changes that wait for a person's decision.
    pub fn all(&self) -> Vec<Proposed> {
        let mut proposed = decisions(self.0).proposed;
        // A person may have made the change by hand.
        proposed.retain(|proposed| match (&proposed.content, state::of(self.0, &proposed.path)) {
            (Some(copy), Ok(Some(Was::File { copy: now, mode }))) => {
                *copy != now || (mode & 0o100 != 0) != proposed.executable
            }
            (None, Ok(Some(Was::Nothing))) => false,
            _ => true,
        });
        proposed
    }

    /// Applies a change that a person has seen and allowed.
    ///
    /// # Errors
    /// If the state directory or the file cannot be written.
    pub fn accept(&self, proposed: &Proposed) -> anyhow::Result<()> {
        let path = &proposed.path;
        let content = match &proposed.content {
            Some(copy) => Some(std::fs::read(copy).with_context(|| copy.display().to_string())?),
            None => None,
        };
        let now = content.as_deref().map(Fingerprint::of);
        let before = self.0.fingerprint(path).with_context(|| format!("reading {path}"))?;
        let mut decisions = decisions(self.0);
        decisions.proposed.retain(|other| other.path != *path);
        decisions.accepted.insert(path.clone(), now.clone());
        save_decisions(self.0, &decisions)?;
        self.0.journal.borrow_mut().note(Written { path: path.clone(), now, before })?;
        let mode = if proposed.executable { 0o755 } else { 0o644 };
        let written = match content {
            Some(content) => self.0.put_as(path, &content, mode),
            None => self.0.unlink(path),
        };
        written.with_context(|| format!("writing {path}"))
    }

    /// Discards a change that a person rejected.
    ///
    /// # Errors
    /// If the state directory cannot be written.
    pub fn decline(&self, proposed: &Proposed) -> anyhow::Result<()> {
        let mut decisions = decisions(self.0);
        decisions.proposed.retain(|other| other != proposed);
        save_decisions(self.0, &decisions)
    }

    /// True if the path may be committed as it is now: false for a git control file whose current
    /// content no person has seen.
    pub fn may_be_recorded(&self, path: &str) -> bool {
        if !is_acted_on(self.0, path) || self.0.protection.is_allowed(path) {
            return true;
        }
        let accepted = decisions(self.0).accepted;
        self.0.fingerprint(path).is_ok_and(|now| accepted.get(path) == Some(&now))
    }
}

/// True if git or an agent acts on a file at this path.
pub(crate) fn is_acted_on(tree: &WorkingTree, path: &str) -> bool {
    // Each step asks about all files that were written.
    if let Some(known) = tree.acted_on_paths.borrow().get(path) {
        return *known;
    }
    let found = means_acted_on(tree, path);
    tree.acted_on_paths.borrow_mut().insert(path.to_owned(), found);
    found
}

fn means_acted_on(tree: &WorkingTree, path: &str) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let known = tree.acted_on_lowercase.get_or_init(|| {
        let lower = |paths: &BTreeSet<String>| paths.iter().map(|one| one.to_lowercase()).collect();
        let known = acted_on(tree);
        GitControlFiles { files: lower(&known.files), folders: lower(&known.folders) }
    });
    instructs_agents(&path)
        || NAMED.iter().any(|(dotted, short)| means(name, dotted, short))
        || known.files.contains(&path)
        || known.folders.iter().any(|folder| {
            let rest = path.strip_prefix(folder);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

fn acted_on(tree: &WorkingTree) -> &GitControlFiles {
    tree.acted_on.get_or_init(|| {
        let known = tree.tracking.as_ref().map(|tracking| tracking.acted_on());
        known.unwrap_or_else(|| Ok(GitControlFiles::default())).unwrap_or_else(|error| {
            tracing::warn!("cannot determine the git control files: {error:#}");
            GitControlFiles::default()
        })
    })
}

/// Refuses a tool's write to a git control file, and saves the write for a person. If `content` is
/// `None`, the write is a deletion.
pub(crate) fn leave_to_person(
    tree: &WorkingTree,
    path: &str,
    content: Option<&[u8]>,
) -> Result<(), Refusal> {
    let is_planned = instructs_agents(path) && tree.protection.is_allowed(path);
    if is_planned || !is_acted_on(tree, path) {
        return Ok(());
    }
    let kept = (|| {
        let content = match content {
            Some(content) => {
                let copy = tree.copy_of(path, &Fingerprint::of(content));
                std::fs::create_dir_all(copy.parent().unwrap_or(&tree.state_dir))?;
                std::fs::write(&copy, content)?;
                Some(copy)
            }
            None => None,
        };
        let is_hook = || acted_on(tree).folders.iter().any(|folder| path.starts_with(folder));
        let executable = match tree.look(path) {
            Ok(metadata) => state::mode_of(&metadata) & 0o100 != 0,
            Err(_) => is_hook(),
        };
        propose(tree, Proposed { path: path.to_owned(), content, executable })
    })();
    let kept = match kept {
        Ok(()) => "your version is saved for the user to review",
        Err(error) => {
            tracing::warn!("cannot save the change to {path}: {error:#}");
            "tell the user at the end what the file should contain"
        }
    };
    Err(Refusal::protected(format!(
        "{path} is protected: {}, so a person decides about it. Nothing was written; {kept}. Go on \
         with the rest, and do not try it another way",
        why_protected(path)
    )))
}

/// Returns the content a tool last tried to write here, if a person has not decided on it.
pub(crate) fn proposed_content(tree: &WorkingTree, path: &str) -> Option<Vec<u8>> {
    let proposed = decisions(tree).proposed.into_iter().find(|other| other.path == path)?;
    std::fs::read(proposed.content?).ok()
}

fn propose(tree: &WorkingTree, proposed: Proposed) -> anyhow::Result<()> {
    let mut decisions = decisions(tree);
    decisions.proposed.retain(|other| other.path != proposed.path);
    decisions.proposed.push(proposed);
    save_decisions(tree, &decisions)
}

/// Returns the state of all git control files, with copies from which they can be restored.
pub(crate) fn acted_on_now(tree: &WorkingTree) -> anyhow::Result<BTreeMap<String, Was>> {
    let mut found = BTreeMap::new();
    for path in acted_on_paths(tree) {
        if let Some(was) = state::of(tree, &path)? {
            found.insert(path, was);
        }
    }
    Ok(found)
}

fn acted_on_paths(tree: &WorkingTree) -> BTreeSet<String> {
    if tree.tracking.is_none() {
        return BTreeSet::new();
    }
    let known = acted_on(tree);
    let mut paths = known.files.clone();
    paths.extend(NAMED.iter().map(|(name, _)| (*name).to_owned()));
    paths.extend(instructions::at_top().map(str::to_owned));
    let mut folders: Vec<String> = known.folders.iter().cloned().collect();
    while let Some(folder) = folders.pop() {
        paths.insert(folder.clone());
        let Ok(entries) = tree.folder(&folder).and_then(|dir| dir.entries()) else { continue };
        for entry in entries.flatten().take(FILES_MAX) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}/{name}");
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if paths.len() < FILES_MAX {
                paths.insert(path);
            }
        }
    }
    paths
}

/// Restores the git control files that a command changed, if `is_effect` agrees, and saves the
/// changes for a person. Returns their paths.
///
/// Before git is asked for the changes: it would read them, and run what they name.
pub(crate) fn put_back_acted_on(
    tree: &WorkingTree,
    before: &BTreeMap<String, Was>,
    is_effect: &dyn Fn(&str) -> bool,
) -> anyhow::Result<Vec<String>> {
    let mut paths = acted_on_paths(tree);
    paths.extend(before.keys().cloned());
    put_back(tree, before, paths, is_effect)
}

/// Like [`put_back_acted_on`], for the git control files among `uncommitted`: the paths that differ
/// from the last commit now, but did not before the command.
pub(crate) fn put_back_named<'a>(
    tree: &WorkingTree,
    before: &BTreeMap<String, Was>,
    uncommitted: impl Iterator<Item = &'a String>,
    is_effect: &dyn Fn(&str) -> bool,
) -> anyhow::Result<Vec<String>> {
    let paths = uncommitted.filter(|path| is_acted_on(tree, path)).cloned().collect();
    put_back(tree, before, paths, is_effect)
}

fn put_back(
    tree: &WorkingTree,
    before: &BTreeMap<String, Was>,
    paths: BTreeSet<String>,
    is_effect: &dyn Fn(&str) -> bool,
) -> anyhow::Result<Vec<String>> {
    let mut changed = Vec::new();
    // The entries of a folder come before the folder.
    for path in paths.into_iter().rev() {
        let now = state::of(tree, &path)?;
        let was = before.get(&path);
        let is_folder = acted_on(tree).folders.contains(&path);
        // A folder is unchanged as long as it is a folder.
        let same = now.as_ref() == was || is_folder && now.is_none();
        let fresh = was.is_none() && now == Some(Was::Nothing);
        if same || fresh || tree.protection.is_allowed(&path) || !is_effect(&path) {
            continue;
        }
        match &now {
            Some(Was::File { copy, mode }) => propose(
                tree,
                Proposed {
                    path: path.clone(),
                    content: Some(copy.clone()),
                    executable: mode & 0o100 != 0,
                },
            )?,
            Some(Was::Nothing) => {
                let deletion = Proposed { path: path.clone(), content: None, executable: false };
                propose(tree, deletion)?;
            }
            Some(Was::Link(_) | Was::Folder { .. }) | None => {}
        }
        let was = was.unwrap_or(&Was::Nothing);
        state::put_back(tree, &path, was).with_context(|| format!("restoring {path}"))?;
        changed.push(path);
    }
    Ok(changed)
}

fn decisions(tree: &WorkingTree) -> Decisions {
    let bytes = std::fs::read(tree.state_dir.join(FILE)).unwrap_or_default();
    // If the file cannot be read, no content counts as allowed.
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn save_decisions(tree: &WorkingTree, decisions: &Decisions) -> anyhow::Result<()> {
    let file = tree.state_dir.join(FILE);
    atomic_file::replace(&file, &serde_json::to_vec_pretty(decisions)?)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
