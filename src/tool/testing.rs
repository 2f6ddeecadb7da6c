//! A test bench for tools: artifacts in memory, and a person with a fixed answer.

use super::{Answer, Context, Numbers, Outcome, Person, ProjectCommands, Question};
use crate::artifact::check::testing::{Memory, NoHistory};
use crate::artifact::{DraftIds, Ledger, Store};
use crate::config::LimitsConfig;
use crate::model::ToolCall;
use crate::stage::{Depth, Role, Stage};
use crate::stages;
use crate::workspace::{Workspace, WorkspaceOptions};

/// The current time in every test.
pub(crate) const NOW: &str = "2026-01-02T03:04:05Z";

/// Everything that a [`Context`] borrows.
pub(crate) struct Bench {
    pub(crate) files: Memory,
    recorded: Memory,
    history: NoHistory,
    pub(crate) answer: Option<String>,
    stage: Stage,
    workspace: Workspace,
    tree: tempfile::TempDir,
    limits: LimitsConfig,
    pub(crate) commands: ProjectCommands,
}

impl Person for Bench {
    fn ask(&self, _question: &Question) -> anyhow::Result<Option<String>> {
        Ok(self.answer.clone())
    }
}

impl Bench {
    /// A bench with a valid project, in this stage.
    pub(crate) fn new(stage: Stage) -> Self {
        Self { files: Memory::valid(), ..Self::empty(stage) }
    }

    /// A bench without artifacts.
    pub(crate) fn empty(stage: Stage) -> Self {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().join("tree");
        std::fs::create_dir(&root).unwrap();
        let state_dir = tree.path().join("state");
        let workspace = Workspace::open(WorkspaceOptions {
            root,
            state_dir,
            artifact_dirs: vec![".cowork/sessions/todo".to_owned()],
            timeout_s: 20,
            timeout_max_s: 20,
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            ..WorkspaceOptions::default()
        });
        Self {
            files: Memory::default(),
            recorded: Memory::default(),
            history: NoHistory::default(),
            answer: None,
            stage,
            workspace: workspace.unwrap(),
            tree,
            limits: LimitsConfig::default(),
            commands: ProjectCommands::default(),
        }
    }

    /// Puts a file into the working tree.
    pub(crate) fn touch(&self, path: &str) {
        std::fs::write(self.tree.path().join("tree").join(path), "").unwrap();
    }

    /// Puts a text into the working tree, with the folders above it.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.tree.path().join("tree").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn store(&self) -> Store<'_> {
        Store::new(&self.files)
    }

    /// An actor's context.
    pub(crate) fn context(&self) -> Run<'_> {
        let order: Vec<Stage> = stages::order(Depth::Thorough, false, None).collect();
        // Leaked on purpose, so that a context can own what it borrows.
        let order: &[Stage] = Box::leak(order.into_boxed_slice());
        let at = order.iter().position(|stage| *stage == self.stage).unwrap_or_default();
        Run(
            Context {
                stage: self.stage,
                role: Role::Actor,
                iteration: 2,
                task: None,
                store: self.store(),
                ledger: Ledger {
                    files: &self.files,
                    recorded: &self.recorded,
                    history: &self.history,
                },
                workspace: &self.workspace,
                limits: &self.limits,
                commands: &self.commands,
                command_tools: &[],
                numbers: Numbers::new(DraftIds::default(), &|_| Ok(())),
                new_id: String::new(),
                code: &|| Some("code".to_owned()),
                coded: &|plan| plan.tasks.iter().map(|task| task.id.clone()).collect(),
                person: self,
                earlier: &order[..at],
                now: NOW,
                outcome: Outcome::default(),
            },
            0,
        )
    }
}

/// A run of tools.
pub(crate) struct Run<'a>(pub(crate) Context<'a>, u32);

impl Run<'_> {
    /// Calls a tool, with all tools offered.
    pub(crate) fn call(&mut self, name: &str, arguments: &str) -> Answer {
        let all: Vec<_> = super::all().iter().map(|tool| tool.name()).collect();
        self.call_with(&all, name, arguments)
    }

    /// Calls a tool, with these tools offered.
    pub(crate) fn call_with(&mut self, offered: &[&str], name: &str, arguments: &str) -> Answer {
        self.1 += 1;
        let call = ToolCall {
            id: format!("call_{}", self.1),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        self.make(offered, &call)
    }

    /// Makes a call.
    pub(crate) fn make(&mut self, offered: &[&str], call: &ToolCall) -> Answer {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(super::call(&mut self.0, offered, call))
    }
}
