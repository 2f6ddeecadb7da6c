//! The prompts: embedded Markdown files from `prompts/`. A file of the same name in the user's own
//! configuration replaces one; a file that came with a repository does not.

use std::path::PathBuf;

use anyhow::Context as _;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::artifact::check::Unasked;
use crate::error::Error;
use crate::headings;
use crate::languages;
use crate::shell_quote::quoted;
use crate::stages::{CHALLENGER, Prompt, TABLE, Work};

macro_rules! prompt {
    ($file:literal) => {
        Prompt { file_name: $file, built_in: include_str!(concat!("../../prompts/", $file)) }
    };
}

/// The system prompt of every role. The same in every request.
pub const SYSTEM: Prompt = prompt!("system.md");
/// The rules of actors, at the beginning of a conversation.
pub const ACTOR: Prompt = prompt!("actor.md");
/// The first request of a session, with neither system prompt nor documents.
pub const START: Prompt = prompt!("start.md");
/// Asks the actor to review its own first draft.
pub const SELF_REVIEW: Prompt = prompt!("self-review.md");
/// Asks the actor a person's question about the draft.
pub const QUESTION: Prompt = prompt!("question.md");
/// Asks for a later draft in a continued conversation.
pub const DRAFT_AGAIN: Prompt = prompt!("draft-again.md");
/// Describes a task; part of the brief of every task.
pub const TASK: Prompt = prompt!("task.md");
/// Asks for the next task in a continued conversation.
pub const NEXT_TASK: Prompt = prompt!("coding-next.md");
/// The last part of the prompt for a program without git-cowork's tools.
pub const NO_TOOLS: Prompt = prompt!("no-tools.md");
/// Replaces [`SYSTEM`] for an agent program that edits files.
pub const AGENT_SYSTEM: Prompt = prompt!("agent-system.md");
/// The last part of an agent program's prompt: where to write, and how to finish.
pub const AGENT_ACTOR: Prompt = prompt!("agent-actor.md");
/// How an actor proposes facts about the project; part of the prompts for summaries.
pub const KNOWLEDGE: Prompt = prompt!("knowledge.md");
/// Says which rules take precedence over language guidance; placed before it.
pub const GUIDANCE: Prompt = prompt!("guidance.md");

/// A note that a person types for an actor while it works.
pub const NOTE: Prompt = prompt!("note.md");

/// A piece of feedback, as prompts use it.
#[derive(Clone, Debug, Serialize)]
pub struct FeedbackItem {
    /// The author.
    pub from: String,
    /// The severity.
    pub severity: String,
    /// The text.
    pub details: String,
    /// A suggested fix.
    pub suggested_fix: Option<String>,
}

/// The task of a coding conversation, as prompts use it.
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
    /// Paths that must exist when the task is done.
    pub files: Vec<String>,
    /// Paths that the task changes.
    pub changes: Vec<String>,
    /// Acceptance criteria.
    pub criteria: Vec<String>,
    /// Its sub-tasks of all levels, each before its own sub-tasks.
    pub parts: Vec<Self>,
}

/// The project's commands, as prompts use them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CommandItem {
    /// Tests.
    pub test: String,
    /// Build.
    pub build: String,
    /// Lint.
    pub lint: String,
}

/// All variables of prompts. A prompt that uses another variable is an error.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Variables {
    /// Session name.
    pub session: String,
    /// Draft number.
    pub iteration: u32,
    /// The number of drafts allowed.
    pub iterations: u32,
    /// The number of requirements allowed, such as "3 to 6" or "at most 6".
    pub requirements: String,
    /// The number of features allowed.
    pub features: String,
    /// The number of components allowed.
    pub components: String,
    /// The number of tasks allowed.
    pub tasks: String,
    /// Topics that are left out unless somebody asks for them.
    pub unasked: Unasked,
    /// The next ids of each kind of record that the stage writes.
    pub next_ids: String,
    /// Whether the stage's document exists; true if the stage has none.
    pub saved: bool,
    /// The maximum levels of sub-tasks.
    pub levels: usize,
    /// The maximum characters of the report's title.
    pub longest_title: usize,
    /// A person's question about the draft; empty if there is none.
    pub question: String,
    /// The feedback that the draft must answer.
    pub feedback: Vec<FeedbackItem>,
    /// A person's note to the working actor; only for [`NOTE`].
    pub note: String,
    /// Whether this is a change request.
    pub patch: bool,
    /// The document of the stage; may be empty.
    pub document: &'static str,
    /// The path of that document, or of the change request; may be empty.
    pub document_path: String,
    /// The document of an earlier stage that is reviewed with this one's; may be empty.
    pub earlier: &'static str,
    /// The task, in coding.
    pub task: TaskItem,
    /// The task rendered with [`TASK`].
    pub task_text: String,
    /// The id of the plan's last top-level task, whose status ends a conversation about all tasks;
    /// may be empty.
    pub last_task: String,
    /// How an actor proposes facts about the project.
    pub knowledge: String,
    /// Whether the actor's text beside its last tool call becomes the report's summary.
    pub summary_wanted: bool,
    /// A sentence that says whether tests are wanted.
    pub tests_rule: String,
    /// Language guidance; may be empty.
    pub guidance: String,
    /// The project's commands.
    pub commands: CommandItem,
    /// The check results; may be empty.
    pub evidence: String,
    /// The failures from before any change; may be empty, and only in coding.
    pub failed_before: String,
    /// The failures that earlier tasks of the session caused; may be empty, and only for a task.
    pub failing_now: String,
    /// Words that a critic should look at; may be empty.
    pub words: String,
    /// The changes since the critic last looked; may be empty.
    pub delta: String,
}

/// The prompts of one run.
#[derive(Clone, Debug, Default)]
pub struct Prompts {
    /// The folder with the user's replacements.
    pub folder: Option<PathBuf>,
}

impl Prompts {
    /// Renders a prompt.
    ///
    /// # Errors
    /// Exit 4 if a user's prompt cannot be read or uses an unknown variable.
    pub fn render(&self, prompt: Prompt, variables: &Variables) -> anyhow::Result<String> {
        self.fill(prompt.file_name, prompt.built_in, variables)
    }

    fn fill(&self, file: &str, built_in: &str, variables: &Variables) -> anyhow::Result<String> {
        let custom = self.own(file)?;
        let text = custom.as_deref().unwrap_or(built_in);
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Feedback, evidence and tasks are told in others' words.
        let mut variables = serde_json::to_value(variables)?;
        headings::in_all(&mut variables, &headings::set_off);
        environment.render_str(text, minijinja::value::Serde(&variables)).map_err(|error| {
            Error::model(format!("cannot render the prompt {file}: {error}"))
                .hint(match self.folder.as_ref().map(|folder| folder.join(file)) {
                    Some(path) => {
                        format!("fix it, or remove it: rm {}", quoted(&path.to_string_lossy()))
                    }
                    None => "this is a bug in git-cowork".to_owned(),
                })
                .into()
        })
    }

    /// The style guide of a language: the built-in one, or a file `guidance-NAME.md` of the user.
    /// Empty for a language that has neither.
    ///
    /// # Errors
    /// Exit 4 if a user's file cannot be read or rendered.
    pub fn guidance(&self, language: &str) -> anyhow::Result<String> {
        match languages::called(language).filter(|known| !known.guidance.is_empty()) {
            Some(known) => {
                self.fill(&guidance_file(known.name), known.guidance, &Variables::default())
            }
            None => Ok(self.own(&guidance_file(language))?.unwrap_or_default()),
        }
    }

    /// Checks the user's files before anything is made or paid: a stage may use its prompt much later.
    /// Returns the names of files that replace nothing.
    ///
    /// # Errors
    /// Exit 4 if a file cannot be read, is no template, or uses an unknown variable.
    pub fn check(&self) -> anyhow::Result<Vec<String>> {
        let entries = self.folder.as_ref().map(std::fs::read_dir).and_then(Result::ok);
        let names = entries.into_iter().flatten().flatten();
        let mut names: Vec<String> =
            names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| name.ends_with(".md"));
        names.sort();
        let all = all();
        let is_prompt = |name: &str| all.iter().any(|prompt| prompt.file_name == name);
        let mut others = Vec::new();
        for name in names {
            self.fill(&name, "", &Variables::default())?;
            if !is_prompt(&name) && !name.starts_with("guidance-") {
                others.push(name);
            }
        }
        Ok(others)
    }

    /// Checks that there is a style guide for `[project] template`.
    ///
    /// # Errors
    /// Exit 4: neither git-cowork nor the user has one.
    pub fn check_template(&self, template: &str) -> anyhow::Result<()> {
        if template.is_empty()
            || languages::called(template).is_some()
            || self.own(&guidance_file(template))?.is_some()
        {
            return Ok(());
        }
        let names: Vec<&str> = languages::ALL.iter().map(|language| language.name).collect();
        let names = names.join(", ");
        let mut error =
            Error::model(format!("project.template is '{template}', which is no known language"))
                .hint(format!("known: {names}; set it: git config cowork.project.template NAME"));
        if let Some(folder) = &self.folder {
            let path = folder.join(guidance_file(template));
            error = error.hint(format!("or describe the language in {}", path.display()));
        }
        Err(error.into())
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

/// The user's file with the style guide of a language.
fn guidance_file(language: &str) -> String {
    format!("guidance-{}.md", language.to_lowercase())
}

/// Every prompt: those of the stage table's rows, and the shared ones.
fn all() -> Vec<Prompt> {
    let mut all =
        vec![SYSTEM, ACTOR, START, SELF_REVIEW, CHALLENGER.prompt, NO_TOOLS, GUIDANCE, KNOWLEDGE];
    all.extend([DRAFT_AGAIN, TASK, NEXT_TASK, AGENT_SYSTEM, AGENT_ACTOR, QUESTION, NOTE]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::check::word_evidence;
    use crate::stage::Stage;
    use crate::stages::row;

    #[test]
    fn every_prompt_renders_and_says_something() {
        for prompt in &all() {
            let text = Prompts::default().render(*prompt, &Variables::default()).unwrap();
            let says = text.trim().len() > 100 || prompt.file_name == TASK.file_name;
            assert!(says, "{}", prompt.file_name);
            assert!(!text.contains("{{") && !text.contains("{%"), "{}", prompt.file_name);
        }
    }

    #[test]
    fn every_heading_of_a_prompt_is_set_off_in_others_texts() {
        for prompt in &all() {
            // Those in code blocks are examples, and a task's has a number.
            let own = prompt.built_in.split("```").step_by(2).flat_map(str::lines);
            for line in own.filter(|line| line.starts_with('#') && !line.contains("{{ task.id")) {
                let is_part = line.contains("{{ part.id");
                assert!(is_part || headings::is_one(line), "{}: {line}", prompt.file_name);
            }
        }
    }

    #[test]
    fn prompts_name_topics_left_out_by_default_only_from_the_table() {
        for prompt in &all() {
            // An example may be about anything.
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
