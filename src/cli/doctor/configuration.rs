//! Checks the configuration: invalid settings, and settings that are ignored.

use super::finding::Finding;
use crate::cli::context::Context;
use crate::config::{self, PROJECT_FILE, Restricted};
use crate::git::Git;
use crate::pipeline::prompts::Prompts;

/// Maximum number of ignored keys that are named.
const NAMED: usize = 6;

/// Checks all of the configuration; without a repository, only the user's own.
pub(super) fn look(context: &Context, git: Option<&Git>) -> Vec<Finding> {
    let loaded = context.tolerant_sources(git).and_then(|sources| config::load(&sources));
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(error) => {
            let finding = Finding::of_error("configuration", &error);
            return vec![finding.and("; sandbox, models and forge were not checked")];
        }
    };
    let wrong = loaded.problems.iter().map(|problem| {
        let more = "; sessions do not run until it is fixed; the following checks ignore it";
        Finding::hinted("configuration", &problem.text, &problem.hints).and(more)
    });
    let literal = loaded.unexpanded.iter().map(|text| {
        Finding::warning("configuration", text.clone())
            .fix("move it to your user configuration file, or replace ${…} with the value")
    });
    let mut findings: Vec<Finding> = wrong.chain(literal).collect();
    let prompts = Prompts { folder: context.prompt_folder() };
    if let Err(error) = prompts.check_template(&loaded.config.project.template) {
        findings.push(Finding::of_error("configuration", &error));
    }
    if !loaded.restricted.is_empty() {
        findings.push(ignored(&loaded.restricted));
    }
    if findings.is_empty() {
        let text = match loaded.origins.len() {
            0 => "defaults only".to_owned(),
            1 => "1 key is set (git cowork config --show-origin)".to_owned(),
            many => format!("{many} keys are set (git cowork config --show-origin)"),
        };
        findings.push(Finding::ok("configuration", text));
    }
    findings
}

fn ignored(restricted: &[Restricted]) -> Finding {
    let mut keys: Vec<&str> = restricted.iter().take(NAMED).map(|key| key.key.as_str()).collect();
    let more = format!("{} more", restricted.len().saturating_sub(NAMED));
    if restricted.len() > NAMED {
        keys.push(&more);
    }
    let text = format!(
        "{PROJECT_FILE} came with the repository and is not trusted as it is: {} ignored",
        match keys.as_slice() {
            [one] => format!("{one} is"),
            _ => format!("{} are", keys.join(", ")),
        }
    );
    Finding::warning("configuration", text).fix("git cowork trust")
}
