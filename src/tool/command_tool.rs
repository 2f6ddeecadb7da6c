//! A user's own tool (`[tools.NAME]`): a command that receives the arguments of a call as JSON on
//! its standard input and runs like a model's commands.

use serde_json::Value;

use super::{Answer, Context, Effect, Tool, commands, plain};
use crate::config::ToolConfig;
use crate::model::BoxFuture;
use crate::workspace::run_with_input;

/// A user's own tool, as offered to a role.
#[derive(Clone, Debug)]
pub struct CommandTool {
    name: String,
    config: ToolConfig,
    callable: bool,
}

impl CommandTool {
    /// Creates the tool described under `[tools.NAME]`; `callable` is true if the role may call it.
    pub fn new(name: &str, config: &ToolConfig, callable: bool) -> Self {
        Self { name: name.to_owned(), config: config.clone(), callable }
    }

    /// True if the role may call it.
    pub(super) const fn is_callable(&self) -> bool {
        self.callable
    }
}

impl Tool for CommandTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.config.description
    }

    fn parameters(&self) -> Value {
        Value::Object(self.config.schema.clone())
    }

    fn effect(&self) -> Effect {
        Effect::Acts
    }

    fn call<'a>(&'a self, context: &'a mut Context<'_>, arguments: Value) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let (command, input) = (&self.config.command, arguments.to_string());
            let ran = run_with_input(context.workspace, command, None, Some(&input)).await;
            plain::answered(context, ran.map(|ran| commands::answer_of_tool(&ran.shortened())))
        })
    }
}
