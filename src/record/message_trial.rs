//! Tries the messages of a session with the project's hooks before any commit is made, so that a
//! convention is not met for the first time after requests were paid.

use super::commit::CONVENTIONAL;
use crate::config::{Project, project_tools};
use crate::error::Error;
use crate::git::{self, Git};
use crate::session::{Message, SessionName, Trailers, key};
use crate::stages;

/// Subject templates for conventions that want words of their own.
const TEMPLATES: [&str; 3] = [CONVENTIONAL, "chore: {summary_lower}", "Cowork {stage}: {summary}"];

/// What a session's messages are made of.
#[derive(Clone, Copy, Debug)]
pub struct MessageTrial<'a> {
    /// The repository.
    pub git: &'a Git,
    /// Settings of the messages.
    pub project: &'a Project,
    /// Name of the session.
    pub name: &'a SessionName,
    /// The idea's first line.
    pub title: &'a str,
}

impl MessageTrial<'_> {
    /// Makes sure that the hooks accept the messages of a session.
    ///
    /// # Errors
    /// Exit 5 if they refuse one, with the subject template that they accept.
    pub fn require_accepted(self) -> anyhow::Result<()> {
        let Some((hook, said)) = self.refusal()? else { return Ok(()) };
        let error = Error::repository(format!(
            "the {hook} hook refuses the messages of a session; nothing was made:\n{}",
            said.trim()
        ));
        Err(match self.accepted()? {
            Some(project) => {
                let set = format!("git config cowork.project.subject '{}'", project.subject);
                let error = match project.subject == self.project.subject {
                    true => error,
                    false => error.hint(format!("it accepts these subjects: {set}")),
                };
                match project.signoff == self.project.signoff {
                    true => error,
                    false => error
                        .hint("it accepts them signed off: git config cowork.project.signoff true"),
                }
            }
            None => error.hint(
                "give subjects the form it expects, with {stage} and {summary}: git config \
                 cowork.project.subject '…'",
            ),
        }
        .hint("afterwards run the command again")
        .into())
    }

    /// The settings that the project's hooks or its convention want; `None` if the present ones are
    /// accepted.
    ///
    /// # Errors
    /// As for [`git::hooks::refuses_message`].
    pub fn wanted(self) -> anyhow::Result<Option<Project>> {
        if self.refusal()?.is_some() {
            return self.accepted();
        }
        let subject = project_tools::subject(self.git.top());
        Ok(subject.map(|subject| Project { subject, ..self.project.clone() }))
    }

    /// The settings under which the hooks accept the messages.
    fn accepted(self) -> anyhow::Result<Option<Project>> {
        let own = project_tools::subject(self.git.top());
        let templates = own.into_iter().chain(TEMPLATES.map(str::to_owned));
        let templates: Vec<String> =
            std::iter::once(self.project.subject.clone()).chain(templates).collect();
        for signoff in [self.project.signoff, true] {
            for subject in &templates {
                let project = Project { subject: subject.clone(), signoff, ..self.project.clone() };
                if (MessageTrial { project: &project, ..self }).refusal()?.is_none() {
                    return Ok(Some(project));
                }
            }
        }
        Ok(None)
    }

    /// The hook that refuses a message, and what it says.
    fn refusal(self) -> anyhow::Result<Option<(&'static str, String)>> {
        for message in self.messages()? {
            if let Some(refused) = git::hooks::refuses_message(self.git, &message)? {
                return Ok(Some(refused));
            }
        }
        Ok(None)
    }

    /// A start, a task's commit and a merge.
    fn messages(self) -> anyhow::Result<[String; 3]> {
        let mut trailers = Trailers::default();
        trailers.push(key::SESSION, self.name.as_str());
        trailers.push(key::SESSION_ID, uuid::Uuid::nil().to_string());
        let with = |key: &str, value: &str| {
            let mut all = trailers.clone();
            all.push(key, value);
            all
        };
        let subject = |stage: &str, summary: &str| self.project.subject_for(stage, summary);
        let task = format!("TASK-001 Write what it is about: {}", self.title);
        let body = "What came of the task, and which criteria of its feature it meets.";
        let start = Message {
            subject: subject("start", self.title),
            body: String::new(),
            trailers: with(key::EVENT, "start"),
        };
        let task = Message {
            subject: subject(stages::code_stage().name(), &task),
            body: body.to_owned(),
            trailers: with(key::TASK, "TASK-001"),
        };
        let merge = Message {
            subject: self.project.subject_of_merge(self.title),
            body: format!("## Summary\n\n{body}"),
            trailers: with(key::EVENT, "merge"),
        };
        let signed = match self.project.signoff || git::settings::signs_off(self.git)? {
            true => format!("Signed-off-by: {}\n", git::state::committer(self.git)?),
            false => String::new(),
        };
        Ok([start, task, merge].map(|message| message.render() + &signed))
    }
}
