//! Checks what of the project and of git's configuration a session would meet only later, when
//! requests were paid: tools in hooks, conventions, tags, filters, signatures.

use super::finding::Finding;
use crate::cli::context::Context;
use crate::config::project_tools::{self, Concern};
use crate::config::{Project, StageTags};
use crate::git::{self, Git};
use crate::record::{MessageTrial, attributes};
use crate::shell_quote::quoted;

/// Runs all these checks; only those that found something say so.
pub(super) fn look(context: &Context, git: &Git) -> Vec<Finding> {
    let Ok(config) = context.config() else { return Vec::new() };
    let project = &config.project;
    let all = [tools(git, project), messages(git, project), filters(git, project), settings(git)];
    let told = all
        .into_iter()
        .map(|found| found.unwrap_or_else(|error| vec![Finding::of_error("project", &error)]));
    told.flatten().collect()
}

fn tools(git: &Git, project: &Project) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for tool in project_tools::detect(git.top()) {
        let name = tool.name;
        match tool.concern {
            Concern::Files(line) if !tool.excludes_sessions(git.top()) => findings.push(
                Finding::warning("hooks", format!("{name} may refuse or change files of sessions"))
                    .fix(line),
            ),
            Concern::Tags if project.tags == StageTags::Always => findings.push(
                Finding::warning("tags", format!("{name} takes the tags of stages for versions"))
                    .fix("git config cowork.project.tags auto"),
            ),
            Concern::Tags if project.tags == StageTags::Auto => {
                let why = format!("{name} takes every tag for a version");
                let text = format!("stages get labels below refs/cowork/stages/, because {why}");
                findings.push(Finding::ok("tags", text));
            }
            _ => {}
        }
    }
    Ok(findings)
}

/// The convention of commit messages: tried with the hook, or read where the hook is not installed.
fn messages(git: &Git, project: &Project) -> anyhow::Result<Vec<Finding>> {
    let name = "session".parse()?;
    let trial = MessageTrial { git, project, name: &name, title: "a first idea" };
    if let Err(error) = trial.require_accepted() {
        return Ok(vec![Finding::of_error("messages", &error)]);
    }
    let is_default = project.subject == Project::default().subject;
    let wanted = trial.wanted()?.filter(|_| is_default && !git::hooks::refuse_messages(git));
    let told = wanted.map(|Project { subject, .. }| {
        let text = "the project has a convention of commit messages, but its hook is not installed";
        let set = format!("git config cowork.project.subject {}", quoted(&subject));
        Finding::warning("messages", text).fix(set)
    });
    Ok(told.into_iter().collect())
}

fn filters(git: &Git, project: &Project) -> anyhow::Result<Vec<Finding>> {
    let error = attributes::require_readable(git, project, &"session".parse()?).err();
    Ok(error.iter().map(|error| Finding::of_error("filters", error)).collect())
}

fn settings(git: &Git) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut warn = |check, text: String, fix: &str| {
        findings.push(Finding::warning(check, text).fix(fix));
    };
    let signs = git::settings::config_bool(git, "commit.gpgSign")?;
    if git::settings::config_bool(git, "merge.verifySignatures")? && !signs {
        let text = "merge.verifySignatures refuses the merge of a session: commits are not signed";
        warn("signatures", text.to_owned(), "git config commit.gpgSign true");
    }
    let value = |key| git::settings::get(git, key);
    let converts = git::settings::config_bool(git, "core.autocrlf")?;
    if converts && value("core.safecrlf")?.is_some_and(|value| value == "true") {
        let text = "core.safecrlf refuses files whose line ends core.autocrlf converts";
        warn("line-ends", text.to_owned(), "git config core.safecrlf warn");
    }
    if let Some(file) = git::blame::missing_ignored_revisions(git)? {
        let text = format!(
            "blame.ignoreRevsFile names {file}, which is not there: a bare git blame fails"
        );
        warn("blame", text, "git config --unset blame.ignoreRevsFile");
    }
    if git::state::is_partial_clone(git)? {
        let text = "this is a partial clone: what sessions read is fetched one by one, or missing \
                    without a network";
        warn("repository", text.to_owned(), "git fetch --refetch --no-filter");
    }
    if signs && let Some(why) = git::commit::why_unsigned(git)? {
        let text = format!("commits are to be signed, and that fails: {why}");
        let test = "git commit --allow-empty -S -m test";
        findings.push(Finding::problem("signatures", text).fix(test));
    }
    Ok(findings)
}
