//! Checks that run before a session is started or opened.

use crate::config::Project;
use crate::error::Error;
use crate::git::{self, Git, Oid, RefName};
use crate::record::{self, MessageTrial, attributes};
use crate::session::{NameUse, RefNames, SessionName, name_use};

/// The checks that every command makes first: identity, refs, no git operation in progress.
pub(crate) fn check(git: &Git, refs: &RefNames) -> anyhow::Result<()> {
    git::state::require_identity(git)?;
    git::refs::refuse_symbolic(git, &refs.own_roots())?;
    if let Some(operation) = git::state::operation_in_progress(git)? {
        return Err(operation.refusal().into());
    }
    Ok(())
}

/// The tags of a session that has no other refs here, as in a clone that did not fetch its branch.
fn tags_alone(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
) -> anyhow::Result<Option<Vec<String>>> {
    let tags = git::refs::list(git, &RefNames::labels(name))?;
    let others = [
        refs.branch(name).as_str().to_owned(),
        RefNames::archive(name).as_str().to_owned(),
        RefNames::attempts(name),
        RefNames::drafts(name),
    ];
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let is_alone = !tags.is_empty()
        && git.refs(&others)?.is_empty()
        && git::refs::remote_branches(git, &refs.short_branch(name))?.is_empty();
    let short = |tag: &RefName| tag.short().to_owned();
    Ok(is_alone.then(|| tags.iter().map(|tag| short(&tag.name)).collect()))
}

/// Checks that a session that begins at `start` may have this name.
///
/// # Errors
/// Exit 5: the name is taken.
pub(crate) fn require_free(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
    start: Option<&Oid>,
) -> anyhow::Result<()> {
    let Some(used) = name_use(git, refs, name, start)? else { return Ok(()) };
    if let (NameUse::Session, Some(tags)) = (used, tags_alone(git, refs, name)?) {
        return Err(Error::repository(format!(
            "the tags of a session named '{name}' are here without its branch: {}",
            tags.join(", ")
        ))
        .hint("if its branch is on a remote: git fetch")
        .hint(format!("if not, delete the tags: git tag -d {}", tags.join(" ")))
        .hint("or use another name")
        .into());
    }
    Err(name_taken(name, used).hint("or use another name").into())
}

/// The error for a name that is in use, with the command for its session.
pub(crate) fn name_taken(name: &SessionName, used: NameUse) -> Error {
    let error = |text: &str| Error::repository(format!("a session named '{name}' {text}"));
    match used {
        NameUse::Session => {
            error("already exists").hint(format!("continue it: git cowork resume {name}"))
        }
        NameUse::Archived => {
            error("is in the archive").hint(format!("bring it back: git cowork restore {name}"))
        }
        NameUse::Deleted => error("was deleted, and can be brought back")
            .hint(format!("git cowork undo --session {name}")),
        NameUse::InTree => error("has records in the tree that this one starts from")
            .hint(format!("its records: {}/", name.record_dir())),
    }
}

/// The name, or if it is taken, the name with the first free number.
pub(crate) fn first_free(
    git: &Git,
    refs: &RefNames,
    first: &SessionName,
    start: Option<&Oid>,
) -> anyhow::Result<SessionName> {
    for number in 1.. {
        let name = first.numbered(number);
        if name_use(git, refs, &name, start)?.is_none() {
            return Ok(name);
        }
    }
    Ok(first.clone())
}

/// Checks, before anything is made or paid, that a session of this name has room for its refs and
/// files, and that hooks accept its messages.
///
/// # Errors
/// Exit 5: a ref prevents its refs, the checkout does not include its files, its documents would not
/// be readable once they are committed, or a hook refuses a message.
pub(crate) fn require_room(
    git: &Git,
    project: &Project,
    name: &SessionName,
    title: &str,
) -> anyhow::Result<()> {
    room_for_refs(git, project, name)?;
    require_not_sparse(git, name)?;
    attributes::require_readable(git, project, name)?;
    MessageTrial { git, project, name, title }.require_accepted()
}

/// Checks that no branch is named `cowork`, because git could then not create `cowork/NAME`, and no
/// tag `cowork` or `cowork/NAME`, because of the tags `cowork/NAME/STAGE`.
fn room_for_refs(git: &Git, project: &Project, name: &SessionName) -> anyhow::Result<()> {
    let prefix = &project.branch_prefix;
    let makes_tags = record::tags::root(project, git.top(), name) == Some(RefNames::tags(name));
    for full in RefNames::tags_in_the_way(name).iter().filter(|_| makes_tags) {
        if git.resolve(full)?.is_some() {
            let tag = full.trim_start_matches(RefNames::TAGS);
            return Err(Error::repository(format!(
                "a tag named '{tag}' prevents tags named '{tag}/…'"
            ))
            .hint(format!("rename the tag: git tag old-{name} {tag} && git tag -d {tag}"))
            .hint("or make no tags here ([project] tags): git config cowork.project.tags false")
            .into());
        }
    }
    if git::refs::branch_exists(git, prefix)? {
        return Err(Error::repository(format!(
            "a branch named '{prefix}' prevents branches named '{prefix}/…'"
        ))
        .hint("use another prefix here ([project] branch_prefix): git config cowork.project.branchprefix sessions")
        .hint(format!("or rename the branch: git branch -m {prefix} old-{prefix}"))
        .into());
    }
    Ok(())
}

pub(crate) fn require_not_sparse(git: &Git, name: &SessionName) -> anyhow::Result<()> {
    let dir = name.record_dir();
    if git::state::sparse_excludes(git, &format!("{dir}/session.json"))? {
        return Err(Error::repository(".cowork is outside this sparse checkout")
            .hint("include it: git sparse-checkout add .cowork")
            .into());
    }
    Ok(())
}

pub(crate) fn first_line(idea: &str) -> &str {
    idea.lines().find(|line| !line.trim().is_empty()).unwrap_or(idea)
}
