//! The prompts: Markdown files in `prompts/`, embedded, each replaceable by a file of the same
//! name in the user's own configuration (never by one that came with a repository).

use std::path::PathBuf;

use anyhow::Context as _;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::artifact::check::Unasked;
use crate::error::Error;
use crate::languages;
use crate::stages::Prompt;

macro_rules! prompt {
    ($file:literal) => {
        Prompt { file_name: $file, built_in: include_str!(concat!("../../prompts/", $file)) }
    };
}

/// Who every role is, and how tools work; the same in every request.
pub const SYSTEM: Prompt = prompt!("system.md");
/// The first request of a session, alone: it has neither system prompt nor documents.
pub const START: Prompt = prompt!("start.md");
/// The actor reading its own first draft.
pub const SELF_REVIEW: Prompt = prompt!("self-review.md");
/// A person's question about the draft.
pub const QUESTION: Prompt = prompt!("question.md");
/// A later draft in a conversation that goes on.
pub const DRAFT_AGAIN: Prompt = prompt!("draft-again.md");
/// What a task is, in each brief of one.
pub const TASK: Prompt = prompt!("task.md");
/// The next task in a conversation that goes on.
pub const NEXT_TASK: Prompt = prompt!("coding-next.md");
/// What a program without our tools is told last.
pub const NO_TOOLS: Prompt = prompt!("no-tools.md");
/// What an agent program that works on files is told first, in the place of [`SYSTEM`].
pub const AGENT_SYSTEM: Prompt = prompt!("agent-system.md");
/// What it is told last: where it writes, and how it ends.
pub const AGENT_ACTOR: Prompt = prompt!("agent-actor.md");
/// How an actor proposes facts about the project; in the prompts of those who sum up the work.
pub const KNOWLEDGE: Prompt = prompt!("knowledge.md");
/// What guidance on a language yields to; goes before it.
pub const GUIDANCE: Prompt = prompt!("guidance.md");

/// What a person types for an actor while it works.
pub const NOTE: Prompt = prompt!("note.md");

/// A piece of feedback as prompts see it.
#[derive(Clone, Debug, Serialize)]
pub struct FeedbackItem {
    /// Who gave it.
    pub from: String,
    /// How bad.
    pub severity: String,
    /// What.
    pub details: String,
    /// How it might be fixed.
    pub suggested_fix: Option<String>,
}

/// The task of a coding conversation as prompts see it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TaskItem {
    /// Id.
    pub id: String,
    /// Title.
    pub title: String,
    /// Description.
    pub description: String,
    /// Feature id and name.
    pub feature: String,
    /// Component id and name.
    pub component: String,
    /// Paths that must exist when it is done.
    pub files: Vec<String>,
    /// Paths it changes.
    pub changes: Vec<String>,
    /// Acceptance criteria.
    pub criteria: Vec<String>,
    /// Its sub-tasks of all levels, each before its own.
    pub parts: Vec<Self>,
}

/// The project's commands as prompts see them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CommandItem {
    /// Tests.
    pub test: String,
    /// Build.
    pub build: String,
    /// Lint.
    pub lint: String,
}

/// Everything a prompt may use. A variable a prompt names and this does not have is an error.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Variables {
    /// Session name.
    pub session: String,
    /// Draft number.
    pub iteration: u32,
    /// Drafts there may be.
    pub iterations: u32,
    /// How many, as "3 to 6", or "at most 6".
    pub requirements: String,
    /// How many.
    pub features: String,
    /// How many.
    pub components: String,
    /// How many.
    pub tasks: String,
    /// What is left out unless somebody asks for it.
    pub unasked: Unasked,
    /// The ids that new records get, the next of each kind the stage writes.
    pub next_ids: String,
    /// The stage's document is there; true where there is none.
    pub saved: bool,
    /// Levels of sub-tasks.
    pub levels: usize,
    /// Characters of the report's title.
    pub longest_title: usize,
    /// What a person asks about the draft; only where one does.
    pub question: String,
    /// What the draft must answer.
    pub feedback: Vec<FeedbackItem>,
    /// What a person typed while the actor works; only of [`NOTE`].
    pub note: String,
    /// True in a change request.
    pub patch: bool,
    /// The document of the stage, possibly none.
    pub document: &'static str,
    /// The path of that document, or of the change request; possibly none.
    pub document_path: String,
    /// The document of an earlier stage that is judged with this one's, possibly none.
    pub earlier: &'static str,
    /// The task, in coding.
    pub task: TaskItem,
    /// The same in words, as [`TASK`] has it.
    pub task_text: String,
    /// The id of the plan's last top-level task, whose status ends the work on the whole code;
    /// possibly empty.
    pub last_task: String,
    /// How an actor proposes facts about the project.
    pub knowledge: String,
    /// What is said beside the last call becomes the report's summary.
    pub summary_wanted: bool,
    /// Whether tests are wanted, as a sentence.
    pub tests_rule: String,
    /// Language guidance, possibly empty.
    pub guidance: String,
    /// The project's commands.
    pub commands: CommandItem,
    /// What the program ran and found, possibly empty.
    pub evidence: String,
    /// What failed before anything was changed, possibly empty; only in coding.
    pub failed_before: String,
    /// What earlier tasks of the session have broken, possibly empty; only of a task.
    pub failing_now: String,
    /// Words a critic may want to look at, possibly empty.
    pub words: String,
    /// What changed since the critic last looked, possibly empty.
    pub delta: String,
}

/// The prompts of one run.
#[derive(Clone, Debug, Default)]
pub struct Prompts {
    /// The user's folder of replacements.
    pub folder: Option<PathBuf>,
}

impl Prompts {
    /// A prompt's text, filled in.
    ///
    /// # Errors
    /// Exit 4 when a replaced prompt cannot be read or uses a variable there is none of.
    pub fn render(&self, prompt: Prompt, variables: &Variables) -> anyhow::Result<String> {
        self.fill(prompt.file_name, prompt.built_in, variables)
    }

    fn fill(&self, file: &str, built_in: &str, variables: &Variables) -> anyhow::Result<String> {
        let replaced = self.own(file)?;
        let text = replaced.as_deref().unwrap_or(built_in);
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.render_str(text, minijinja::value::Serde(variables)).map_err(|error| {
            Error::model(format!("the prompt {file} cannot be filled in: {error}"))
                .hint("fix the file in your configuration's prompts folder, or remove it")
                .into()
        })
    }

    /// How a language is written: what comes with the program, or a file `guidance-NAME.md` of the
    /// user's. Empty for a language nobody has said anything about.
    ///
    /// # Errors
    /// Exit 4 when a user's file cannot be read or filled in.
    pub fn guidance(&self, language: &str) -> anyhow::Result<String> {
        match languages::called(language).filter(|known| !known.guidance.is_empty()) {
            Some(known) => {
                let file = format!("guidance-{}.md", known.name);
                self.fill(&file, known.guidance, &Variables::default())
            }
            None => {
                let file = format!("guidance-{}.md", language.to_lowercase());
                Ok(self.own(&file)?.unwrap_or_default())
            }
        }
    }

    fn own(&self, file: &str) -> anyhow::Result<Option<String>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let path = folder.join(file);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::check::word_evidence;
    use crate::stage::Stage;
    use crate::stages::{CHALLENGER, TABLE, Work, row};

    /// Every prompt: those of the rows, and those that all share.
    fn all() -> Vec<Prompt> {
        let mut all =
            vec![SYSTEM, START, SELF_REVIEW, CHALLENGER.prompt, NO_TOOLS, GUIDANCE, KNOWLEDGE];
        all.extend([DRAFT_AGAIN, NEXT_TASK, AGENT_SYSTEM, AGENT_ACTOR, QUESTION, NOTE]);
        all.extend(
            languages::ALL
                .iter()
                .filter(|language| !language.guidance.is_empty())
                .map(|language| Prompt { file_name: language.name, built_in: language.guidance }),
        );
        for row in TABLE {
            let forms = [Some(row), row.with_earlier.map(|(_, row)| row), row.alone];
            for row in forms.into_iter().flatten() {
                all.extend([&row.actor].into_iter().chain(&row.critic).map(|role| role.prompt));
            }
            if let Work::Tasks { correction, change } = row.work {
                all.extend([correction, change]);
            }
        }
        all
    }

    #[test]
    fn every_prompt_renders_and_says_something() {
        for prompt in &all() {
            let text = Prompts::default().render(*prompt, &Variables::default()).unwrap();
            assert!(text.trim().len() > 100, "{}", prompt.file_name);
            assert!(!text.contains("{{") && !text.contains("{%"), "{}", prompt.file_name);
        }
    }

    #[test]
    fn what_is_left_out_unless_asked_for_comes_from_the_table_alone() {
        for prompt in &all() {
            // What an example is about may be anything.
            let rules = prompt.built_in.split("Example").next().unwrap();
            let found = word_evidence(rules);
            assert!(found.is_empty(), "{}: {found:?}", prompt.file_name);
        }
    }

    #[test]
    fn a_language_has_guidance_here_or_in_the_users_folder() {
        let prompts = Prompts::default();
        for language in ["rust", "Python", "node", "typescript", "go", "ruby"] {
            let text = prompts.guidance(language).unwrap();
            assert!((300..1_200).contains(&text.len()), "{language}: {} bytes", text.len());
        }
        assert_eq!(prompts.guidance("elixir").unwrap(), "");
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("guidance-elixir.md"), "Mix it.").unwrap();
        let prompts = Prompts { folder: Some(dir.path().to_owned()) };
        assert_eq!(prompts.guidance("elixir").unwrap(), "Mix it.");
    }

    #[test]
    fn a_missing_variable_is_an_error_that_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("idea.md"), "hello {{ nobody }}").unwrap();
        let prompts = Prompts { folder: Some(dir.path().to_owned()) };
        let error =
            prompts.render(row(Stage::Idea).actor.prompt, &Variables::default()).unwrap_err();
        assert!(error.to_string().contains("idea.md"), "{error}");
        assert!(prompts.render(SYSTEM, &Variables::default()).is_ok());
    }
}
