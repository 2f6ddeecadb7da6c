//! What `git var` says about the user and the installed git: the author and committer, and the
//! system's attributes file. One process lists everything; a single variable is asked for only if
//! git might refuse to commit under the listed identity.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;

use crate::error::Error;
use crate::git::Git;
use crate::git::configuration::{Configuration, Kept};
use crate::git::output::{Output, lossy};
use crate::git::repository::NewEnough;
use crate::moment::Moment;

/// The role in which somebody makes a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Author,
    Committer,
}

impl Who {
    /// Its name for `git var`.
    fn variable(self) -> &'static str {
        match self {
            Self::Author => "GIT_AUTHOR_IDENT",
            Self::Committer => "GIT_COMMITTER_IDENT",
        }
    }

    pub(crate) fn date_variable(self) -> &'static str {
        match self {
            Self::Author => "GIT_AUTHOR_DATE",
            Self::Committer => "GIT_COMMITTER_DATE",
        }
    }

    /// Where git takes the name and the email address from: a variable, otherwise the first of the
    /// settings that is set (git-commit(1), "commit information").
    fn sources(self) -> [(&'static str, [&'static str; 2]); 2] {
        match self {
            Self::Author => [
                ("GIT_AUTHOR_NAME", ["author.name", "user.name"]),
                ("GIT_AUTHOR_EMAIL", ["author.email", "user.email"]),
            ],
            Self::Committer => [
                ("GIT_COMMITTER_NAME", ["committer.name", "user.name"]),
                ("GIT_COMMITTER_EMAIL", ["committer.email", "user.email"]),
            ],
        }
    }
}

/// What git listed, valid until the configuration changes. Clones of [`Git`] share it.
type Told = Mutex<Option<(Arc<Configuration>, Arc<Mutex<Variables>>)>>;

impl Git {
    /// The current configuration.
    ///
    /// # Errors
    /// A configuration file is broken.
    pub(crate) fn configuration(&self) -> Result<Arc<Configuration>> {
        let slot = self.caches.get::<Kept>();
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Moment::now();
        if let Some((at, known)) = slot.as_mut()
            && (at.lasts() || known.is_current())
        {
            *at = now;
            return Ok(Arc::clone(known));
        }
        // A commit also needs the output of `git var -l`: run both commands at the same time.
        let variables = OnceCell::new();
        let ask = || drop(variables.set(list_by_git(self)));
        let needs_both = self.will_commit && !are_known(self);
        let meanwhile: &dyn Fn() = if needs_both { &ask } else { &|| () };
        let (read, keep) = Configuration::read(self, meanwhile)?;
        let read = Arc::new(read);
        *slot = keep.then(|| (now, Arc::clone(&read)));
        if let Some(variables) = variables.into_inner() {
            parsed(self, Arc::clone(&read), variables);
        }
        Ok(read)
    }
}

/// The variables that git listed.
#[derive(Default)]
pub(crate) struct Variables {
    /// `Name <email> 1700000000 +0100`.
    author: Option<Vec<u8>>,
    committer: Option<Vec<u8>>,
    /// The system's attributes files; `None` if git did not say.
    attributes: Option<Vec<PathBuf>>,
    /// True if git listed a variable that version 2.42 added.
    is_of_2_42: bool,
}

impl Variables {
    fn of(&mut self, who: Who) -> &mut Option<Vec<u8>> {
        match who {
            Who::Author => &mut self.author,
            Who::Committer => &mut self.committer,
        }
    }

    fn parse(output: &[u8]) -> Self {
        let lines = || output.split(|&b| b == b'\n');
        // Git prints the configuration before the variables, and its values may contain line
        // breaks: a name that occurs twice cannot be trusted.
        let only = |name: &str| {
            let mut values = lines().filter_map(|line| line.strip_prefix(name.as_bytes()));
            values.next().filter(|_| values.next().is_none()).map(<[u8]>::to_vec)
        };
        // <https://github.com/git/git/blob/v2.42.0/builtin/var.c>
        let is_of_2_42 = lines().any(|line| line.starts_with(b"GIT_SHELL_PATH="));
        let files = lines().filter_map(|line| line.strip_prefix(b"GIT_ATTR_SYSTEM="));
        Self {
            author: only("GIT_AUTHOR_IDENT="),
            committer: only("GIT_COMMITTER_IDENT="),
            // With `GIT_ATTR_NOSYSTEM`, git lists none.
            attributes: is_of_2_42.then(|| files.map(|file| lossy(file).into()).collect()),
            is_of_2_42,
        }
    }
}

/// The current identity, as `git var` prints it.
///
/// # Errors
/// Git does not know who commits.
pub(crate) fn identity(git: &Git, who: Who) -> Result<Vec<u8>> {
    let variables = listed(git)?;
    let mut variables = variables.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(line) = variables.of(who) {
        return Ok(line.clone());
    }
    let output = git.read(["var", who.variable()]).output()?;
    let line = output.stdout.trim_ascii_end().to_vec();
    if !output.success() || !line.contains(&b'>') {
        return Err(Error::repository("git does not know who you are, so it cannot commit")
            .hint("git config --global user.name \"Your Name\"")
            .hint("git config --global user.email you@example.com")
            .into());
    }
    *variables.of(who) = Some(line.clone());
    Ok(line)
}

/// The system's attributes files; `None` if git does not say (before 2.42).
pub(crate) fn system_attributes(git: &Git) -> Option<Vec<PathBuf>> {
    let variables = listed(git).ok()?;
    variables.lock().unwrap_or_else(PoisonError::into_inner).attributes.clone()
}

fn listed(git: &Git) -> Result<Arc<Mutex<Variables>>> {
    let now = git.configuration()?;
    let slot = git.caches.get::<Told>();
    let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, listed)) = slot.as_ref()
        && Arc::ptr_eq(at, &now)
    {
        return Ok(Arc::clone(listed));
    }
    drop(slot);
    Ok(parsed(git, now, list_by_git(git)))
}

/// True if git has listed the variables; the configuration may have changed since.
pub(crate) fn are_known(git: &Git) -> bool {
    git.caches.get::<Told>().lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// What git lists; `None` if it fails.
pub(crate) fn list_by_git(git: &Git) -> Option<Output> {
    git.read(["var", "-l"]).output().ok().filter(Output::success)
}

/// Parses what git listed under this configuration, and keeps it.
pub(crate) fn parsed(
    git: &Git,
    now: Arc<Configuration>,
    said: Option<Output>,
) -> Arc<Mutex<Variables>> {
    let mut listed = said.map(|output| Variables::parse(&output.stdout)).unwrap_or_default();
    for who in [Who::Author, Who::Committer] {
        if !is_named(git, &now, who) {
            // Git lists a guessed identity even where a commit would fail.
            *listed.of(who) = None;
        }
    }
    if listed.is_of_2_42 {
        git.shared_caches.get::<NewEnough>().0.get_or_init(|| ());
    }
    let listed = Arc::new(Mutex::new(listed));
    let slot = git.caches.get::<Told>();
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    *slot = Some((now, Arc::clone(&listed)));
    listed
}

/// True if the user has given a name and an address, neither of which is empty after git strips it
/// (`strbuf_addstr_without_crud` in git's ident.c).
fn is_named(git: &Git, configuration: &Configuration, who: Who) -> bool {
    let counts = |text: &str| text.chars().any(char::is_alphanumeric);
    who.sources().iter().all(|(variable, settings)| match git.variable(variable) {
        Some(given) => given.to_str().is_some_and(counts),
        None => {
            let set = settings.iter().find_map(|key| configuration.value(key)).flatten();
            set.is_some_and(counts)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;

    #[test]
    fn the_list_says_what_git_says_of_each_variable() {
        let repo = Repo::with_commit();
        repo.run(&["config", "core.editor", "x\nGIT_SHELL_PATHS=y"]);
        let git = repo.git();
        for who in [Who::Author, Who::Committer] {
            let line = identity(&git, who).unwrap();
            let told = git.read(["var", who.variable()]).checked().unwrap().stdout;
            let name = |line: &[u8]| lossy(line).split('>').next().map(str::to_owned);
            assert_eq!(name(&line), name(&told));
        }
        if git.shared_caches.get::<NewEnough>().0.get().is_some() {
            let told = git.read(["var", "GIT_ATTR_SYSTEM"]).output().unwrap();
            let files = system_attributes(&git).unwrap();
            assert_eq!(files.len(), told.text().lines().count());
        }
    }

    #[test]
    fn a_guessed_identity_is_not_taken_from_the_list() {
        let repo = Repo::with_commit();
        let named = |key: &std::ffi::OsStr| {
            let key = key.to_string_lossy();
            key.starts_with("GIT_AUTHOR_") || key.starts_with("GIT_COMMITTER_") || key == "EMAIL"
        };
        let env: Vec<_> = repo.env().into_iter().filter(|(key, _)| !named(key.as_ref())).collect();
        let git = Git::discover_with(&repo.path(""), env).unwrap();
        repo.run(&["config", "user.useConfigOnly", "true"]);
        repo.run(&["config", "user.name", "Ana"]);
        let configuration = git.configuration().unwrap();
        assert!(!is_named(&git, &configuration, Who::Author), "there is no address");
        repo.run(&["config", "user.email", "<>"]);
        let configuration = git.configuration().unwrap();
        assert!(!is_named(&git, &configuration, Who::Author), "git strips all of it");
        repo.run(&["config", "author.email", "ana@example.com"]);
        assert!(lossy(&identity(&git, Who::Author).unwrap()).starts_with("Ana <ana@example.com> "));
    }

    #[test]
    fn a_name_that_stands_twice_is_not_believed() {
        let list = b"x.y=a\nGIT_AUTHOR_IDENT=Eve <e@x> 1 +0000\nGIT_AUTHOR_IDENT=Ana <a@x> 1 +0000\nGIT_COMMITTER_IDENT=Ana <a@x> 1 +0000\n";
        let listed = Variables::parse(list);
        assert_eq!(listed.author, None);
        assert!(listed.committer.is_some() && !listed.is_of_2_42 && listed.attributes.is_none());
    }
}
