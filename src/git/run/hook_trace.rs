//! The hooks that a git process ran, read from its trace2 events
//! (<https://git-scm.com/docs/api-trace2>), not from messages.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::git::output::Output;
use crate::present::present;

/// The exit codes of the hooks one git process ran, in order.
pub(crate) struct Hooks {
    pub(crate) exits: Vec<(String, i64)>,
}

#[derive(Deserialize)]
struct TraceEvent {
    event: String,
    sid: String,
    child_id: Option<i64>,
    child_class: Option<String>,
    hook_name: Option<String>,
    code: Option<i64>,
}

impl Hooks {
    /// Reads a `GIT_TRACE2_EVENT` file. Processes that hooks start append to it too; only the
    /// events of the first process count.
    pub(crate) fn read(trace: &Path) -> Result<Self> {
        let bytes =
            present(std::fs::read(trace)).context("reading git's trace")?.unwrap_or_default();
        let mut own_sid: Option<String> = None;
        let mut names = HashMap::new();
        let mut exits = Vec::new();
        for line in bytes.split(|&b| b == b'\n') {
            let Ok(event) = serde_json::from_slice::<TraceEvent>(line) else { continue };
            if *own_sid.get_or_insert_with(|| event.sid.clone()) != event.sid {
                continue;
            }
            let Some(id) = event.child_id else { continue };
            match event.event.as_str() {
                "child_start" if event.child_class.as_deref() == Some("hook") => {
                    names.insert(id, event.hook_name.unwrap_or_else(|| "hook".to_owned()));
                }
                "child_exit" => {
                    if let Some(name) = names.remove(&id) {
                        exits.push((name, event.code.unwrap_or(-1)));
                    }
                }
                _ => {}
            }
        }
        Ok(Self { exits })
    }

    /// The last hook that exited with an error.
    pub(crate) fn refusing(self) -> Option<String> {
        self.exits.into_iter().rev().find(|(_, code)| *code != 0).map(|(name, _)| name)
    }
}

/// The output of a hook: git sends it to standard error.
pub(crate) fn said(output: &Output) -> String {
    let mut text = output.text();
    text.push_str(&output.stderr);
    text.trim_end().to_owned()
}
