//! The data that every commit of a session needs.

use super::changes::require_branch;
use super::{Scope, collect};
use crate::config::Project;
use crate::error::Error;
use crate::git::{self, Git, Head, Oid};
use crate::session::{Message, RefNames, SessionName, StateDir, Trailers, key};
use crate::workspace::Workspace;

/// Writes a session's commits and refs.
pub struct Recorder<'a> {
    /// The repository, in the session's working tree.
    pub git: &'a Git,
    /// Ref names.
    pub refs: &'a RefNames,
    /// Subject template, attribution, tags.
    pub project: &'a Project,
    /// The state directory.
    pub state: &'a StateDir,
    /// The files that tools wrote.
    pub workspace: &'a Workspace,
    /// Session.
    pub name: &'a SessionName,
    /// Session UUID.
    pub id: &'a str,
    /// The paths that commits may contain now.
    pub scope: Scope,
    /// The documents of earlier stages with a person's edits, which the next commit names.
    pub edited: Vec<String>,
}

impl Recorder<'_> {
    /// The paths that a commit may contain now.
    pub fn changes(&self) -> anyhow::Result<Vec<String>> {
        collect(self.git, self.workspace, self.name, self.scope)
    }

    pub(super) fn base_trailers(&self) -> Trailers {
        let mut trailers = Trailers::default();
        trailers.push(key::SESSION, self.name.as_str());
        trailers.push(key::SESSION_ID, self.id);
        trailers
    }

    /// Makes sure that HEAD is on the session's branch and that the branch has not moved, so that
    /// nothing is ever committed on top of something unexpected.
    pub fn expect_tip(&self, tip: &Oid) -> anyhow::Result<()> {
        if let Some(operation) = git::state::operation_in_progress(self.git)? {
            return Err(operation.refusal().hint("then: git cowork resume").into());
        }
        let branch = self.refs.branch(self.name);
        match self.git.head()? {
            Head::Branch { name, oid } if name == branch && oid == *tip => Ok(()),
            Head::Branch { name, .. } if name == branch => Err(Error::moved(format!(
                "{} moved while git-cowork was working",
                self.refs.short_branch(self.name)
            ))
            .hint("nothing was committed; look at git log, then: git cowork resume")
            .into()),
            _ => require_branch(self.git, self.refs, self.name, Some(tip)),
        }
    }

    /// A message without secrets, whoever wrote it.
    pub(super) fn without_secrets(&self, message: &Message) -> Message {
        let secrets = self.workspace.secrets();
        Message {
            subject: secrets.blanked(&message.subject).into_owned(),
            body: secrets.blanked(&message.body).into_owned(),
            trailers: message.trailers.map_values(|value| secrets.blanked(value).into_owned()),
        }
    }

    /// True if commits get a `Signed-off-by`.
    pub(super) fn signs_off(&self) -> anyhow::Result<bool> {
        Ok(self.project.signoff || git::settings::signs_off(self.git)?)
    }
}
