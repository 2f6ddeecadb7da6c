//! A person's work in the repositories below the tree: submodules, nested repositories and linked
//! working trees, whose files are in no list that git makes for the tree.

use std::collections::BTreeSet;

use crate::workspace::effects::ignored_paths::IgnoredPaths;
use crate::workspace::effects::{ignored_files, repositories, user_files};
use crate::workspace::tracking::Tracking;
use crate::workspace::user_files::UserFileChangeKind;
use crate::workspace::working_tree::WorkingTree;

/// Maximum number of repositories that are compared around a command.
const MOST: usize = 100;

/// The folders of these repositories, without those deeper in folders that git ignores: build tools
/// discard and fetch these again. A linked working tree is a person's wherever it is.
pub(super) fn folders(
    tree: &WorkingTree,
    repositories: &BTreeSet<String>,
    ignored: &IgnoredPaths,
) -> Vec<String> {
    let is_discarded = |folder: &str| {
        let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
        ignored.have(&format!("{above}/")) && !repositories::is_linked(tree, folder)
    };
    let all = repositories.iter().filter_map(|path| path.strip_suffix("/.git"));
    all.filter(|folder| !is_discarded(folder)).map(str::to_owned).collect()
}

/// Adds what the repositories in these folders list. Of those that are not compared the person is
/// told, once. Linked working trees are compared only where commands can write them: somebody else, or
/// another session, may be at work there.
pub(super) fn add(
    tree: &WorkingTree,
    tracking: &dyn Tracking,
    folders: &[String],
    uncommitted: &mut BTreeSet<String>,
    ignored: &mut IgnoredPaths,
) -> anyhow::Result<()> {
    let is_sealed = |folder: &str| tree.confined.get() && repositories::is_linked(tree, folder);
    for (number, folder) in folders.iter().filter(|folder| !is_sealed(folder)).enumerate() {
        let found = match number < MOST {
            true => tracking.status_of(folder).map_err(|error| format!("{error:#}")),
            false => Err(format!("there are more than {MOST}")),
        };
        match found {
            Ok(found) => {
                uncommitted.extend(found.uncommitted);
                ignored.add(found.ignored);
            }
            // One line for the rest.
            Err(_) if number > MOST => {}
            Err(why) => {
                let kind = UserFileChangeKind::NotCompared(why);
                user_files::note(tree, folder.clone(), kind)?;
            }
        }
    }
    Ok(())
}

/// The uncommitted files in the repositories that are compared.
pub(super) fn uncommitted(
    tree: &WorkingTree,
    repositories: &BTreeSet<String>,
    ignored: &IgnoredPaths,
) -> anyhow::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    if let Some(tracking) = &tree.tracking {
        let folders = folders(tree, repositories, ignored);
        add(tree, tracking.as_ref(), &folders, &mut found, &mut IgnoredPaths::default())?;
    }
    Ok(found)
}

/// Notes which ignored files are a person's: these of the tree, and those of its repositories, but not
/// of linked working trees.
pub(super) fn note_ignored(tree: &WorkingTree, mut ignored: IgnoredPaths) -> anyhow::Result<()> {
    if let Some(tracking) = &tree.tracking {
        let (repositories, _) = repositories::before_command(tree);
        let mut folders = folders(tree, &repositories, &ignored);
        folders.retain(|folder| !repositories::is_linked(tree, folder));
        add(tree, tracking.as_ref(), &folders, &mut BTreeSet::new(), &mut ignored)?;
    }
    ignored_files::note_ignored(tree, ignored.all())
}
