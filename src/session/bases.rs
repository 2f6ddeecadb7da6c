//! The branch to merge a session into: the branch it was started from; if that branch belongs to
//! another session, the branch from which that session was started, and so on.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Result;

use super::change_requests::place_of;
use super::file_at_tip::restorable;
use super::merged::merged;
use super::{Kind, RefNames, Session, SessionName, is_there, session_file};
use crate::artifact::SessionFile;
use crate::error::Error;
use crate::git::{self, Git, Oid, RefName};
use crate::shell_quote::quoted;

/// The commit that a session began from; if its history was rewritten since, the parent of its start
/// commit.
///
/// # Errors
/// Exit 5: neither is in this repository.
pub fn began(git: &Git, session: &Session) -> Result<Oid> {
    let recorded: Oid = session.file.base.commit.parse()?;
    let start = session.history.first().filter(|entry| entry.kind == Kind::Start);
    let then = start.and_then(|start| start.parents.first().cloned());
    let reader = git.reader();
    let mut known = [Some(recorded.clone()), then].into_iter().flatten();
    known.find(|commit| is_there(reader.as_ref(), commit)).ok_or_else(|| {
        let name = &session.name;
        let what = format!("the commit that '{name}' began from is not here: {recorded}");
        let is_shallow = git.common_dir().join("shallow").exists();
        let fetch = if is_shallow { "--unshallow" } else { "--refetch" };
        Error::repository(what).hint(format!("git fetch {fetch}")).into()
    })
}

/// Maximum length of a chain of sessions based on each other.
const MAX_GENERATIONS: usize = 16;

/// The short name of the branch to merge a session into: its base, or if the base is the branch of
/// a session that is merged or gone, that session's base, and so on. `None` if the session was not
/// started on a branch.
///
/// # Errors
/// Git cannot be read.
pub fn base_branch(git: &Git, refs: &RefNames, session: &Session) -> Result<Option<String>> {
    for base in bases(git, refs, session)? {
        match refs.session_of(&RefNames::local(&base)) {
            Some(name) if name == session.name => {}
            Some(name) if is_open(git, refs, &name)? => return Ok(Some(base)),
            Some(_) => {}
            None => return Ok(Some(base)),
        }
    }
    Ok(None)
}

/// The short name of the base branch for a pull request: the parent's branch while it is unmerged,
/// else like [`base_branch`].
///
/// # Errors
/// Git cannot be read.
pub fn review_base(git: &Git, refs: &RefNames, session: &Session) -> Result<Option<String>> {
    let parent = session.file.parent.as_ref().map(|parent| parent.session.parse::<SessionName>());
    if let Some(Ok(parent)) = parent
        && is_open(git, refs, &parent)?
    {
        return Ok(Some(refs.short_branch(&parent)));
    }
    base_branch(git, refs, session)
}

/// The command that merges a delivered session from here. If the session was not started on a branch,
/// or that branch is gone, it names the current or the default branch. `None` if there is no branch.
///
/// # Errors
/// Git cannot be read.
pub fn merge_command(git: &Git, refs: &RefNames, session: &Session) -> Result<Option<String>> {
    let base = base_branch(git, refs, session)?;
    let head =
        git.head()?.branch().filter(|head| refs.session_of(head.as_str()).is_none()).cloned();
    let others = head.iter().map(|head| head.short().to_owned());
    // Asks git for the default branch only where the others are gone: `list` comes here often.
    let defaults = std::iter::once_with(|| default_branches(git)).flatten();
    for into in base.iter().cloned().chain(others).chain(defaults) {
        let Ok(branch) = RefName::branch(&into) else { continue };
        // A clone whose `origin/HEAD` is the session's own branch.
        if refs.session_of(branch.as_str()).as_ref() == Some(&session.name) {
            continue;
        }
        let found = git::refs::list(git, &[branch.as_str()])?;
        let Some(found) = found.into_iter().find(|info| info.name == branch) else { continue };
        let is_elsewhere =
            |path: &PathBuf| path.canonicalize().ok() != git.top().canonicalize().ok();
        let place = found
            .worktree
            .filter(is_elsewhere)
            .map(|path| format!("-C {} ", quoted(&path.display().to_string())));
        let into = match base.as_ref() == Some(&into) {
            true => String::new(),
            false => format!(" --into {}", quoted(&into)),
        };
        let place = place.unwrap_or_default();
        return Ok(Some(format!("git {place}cowork merge {}{into}", session.name)));
    }
    Ok(None)
}

/// Possible names of the default branch, the likeliest first.
pub fn default_branches(git: &Git) -> Vec<String> {
    let head = RefNames::remote("origin", "HEAD");
    let ask = git.read(["symbolic-ref", "--quiet", "--short", &head]);
    let remote = ask.output().map(|output| output.text().trim().to_owned()).unwrap_or_default();
    let remote = remote.strip_prefix("origin/").map(str::to_owned);
    remote.into_iter().chain(["main", "master", "trunk", "develop"].map(str::to_owned)).collect()
}

/// True while the session has a branch here that is not merged.
fn is_open(git: &Git, refs: &RefNames, name: &SessionName) -> Result<bool> {
    let Some(tip) = git.resolve(refs.branch(name).as_str())? else { return Ok(false) };
    // A branch without a readable session counts as an ordinary branch.
    let Ok(session) = Session::load(git, name, &tip) else { return Ok(true) };
    Ok(!session.is_completed() || merged(git, refs, &session)?.is_none())
}

/// The branches a session may be merged into, by their short names. [`Lookup`] caches this for many
/// sessions.
pub(super) fn bases(git: &Git, refs: &RefNames, session: &Session) -> Result<Vec<String>> {
    Lookup::new(git, refs).bases(session)
}

/// Caches the branches and base sessions already looked up.
pub(super) struct Lookup<'a> {
    git: &'a Git,
    refs: &'a RefNames,
    files: RefCell<HashMap<SessionName, Option<SessionFile>>>,
    tips: RefCell<HashMap<String, Vec<Oid>>>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(git: &'a Git, refs: &'a RefNames) -> Self {
        Self { git, refs, files: RefCell::default(), tips: RefCell::default() }
    }

    /// Like [`bases`].
    pub(super) fn bases(&self, session: &Session) -> Result<Vec<String>> {
        let reader = self.git.reader();
        let mut file = session.file.clone();
        let mut found: Vec<String> = Vec::new();
        for _ in 0..MAX_GENERATIONS {
            let base = std::mem::take(&mut file.base.branch);
            let parent = file.parent.take().and_then(|parent| parent.session.parse().ok());
            // A change request contains its parent's records, even if the parent's branch is gone.
            let carried =
                parent.and_then(|parent| session_file(reader.as_ref(), &parent, &session.tip).ok());
            let of_branch = self.refs.session_of(&RefNames::local(&base));
            if !base.is_empty() && !found.contains(&base) {
                found.push(base);
            }
            file = match (carried, of_branch) {
                (Some((parent, _)), _) => parent,
                (None, Some(name)) => match self.file(&name)? {
                    Some(file) => file,
                    None => break,
                },
                (None, None) => break,
            };
        }
        Ok(found)
    }

    /// The tips of a branch with this short name, local and remote.
    pub(super) fn tips(&self, base: &str) -> Result<Vec<Oid>> {
        if let Some(tips) = self.tips.borrow().get(base) {
            return Ok(tips.clone());
        }
        let mut tips = Vec::new();
        if let Ok(local) = RefName::branch(base) {
            tips.extend(self.git.resolve(local.as_str())?);
            for remote in git::refs::remote_branches(self.git, base)? {
                tips.extend(self.git.resolve(remote.as_str())?);
            }
        }
        tips.sort();
        tips.dedup();
        self.tips.borrow_mut().insert(base.to_owned(), tips.clone());
        Ok(tips)
    }

    /// `session.json` of a session with a branch (local or remote) or in the archive.
    fn file(&self, name: &SessionName) -> Result<Option<SessionFile>> {
        if let Some(file) = self.files.borrow().get(name) {
            return Ok(file.clone());
        }
        let file = match place_of(self.git, self.refs, name)? {
            Some((tip, _)) => {
                let file = session_file(self.git.reader().as_ref(), name, &tip);
                Some(file.map_err(|error| restorable(self.git, name, &tip, error))?.0)
            }
            None => None,
        };
        self.files.borrow_mut().insert(name.clone(), file.clone());
        Ok(file)
    }
}
