//! `git cowork show [SESSION] ARTIFACT`: prints an artifact. On a terminal it is formatted, paged
//! and free of control sequences; in a pipe or a file it is printed byte for byte, as by
//! `git show`. Without an artifact, lists those that are there. With `--web`, writes the whole session as an HTML page.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use crate::artifact::{Artifact, Files as _, plan_parts};
use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::{find, web_page};
use crate::cli::suggest::hinted;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::session::{CommittedFiles, Session, SessionName, artifact_path, key};
use crate::stages::{self, TABLE, code_stage};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// [SESSION] ARTIFACT (none: list them): idea, prd, requirements, features, design, components,
    /// plan, tasks, check, report, feedback, change, session
    #[arg(num_args = 0..=2, value_name = "[SESSION] ARTIFACT")]
    words: Vec<String>,
    /// Write the session as one HTML page and open it in your browser
    ///
    /// The page shows the timeline of stages and drafts, a graph of requirements, tasks and files,
    /// the cost, the documents with the changes between drafts, the results of checks with their
    /// logs, and the code of each task. It needs no network and runs no script. Prints the path of
    /// the page. On a terminal, also opens the page in the browser that git help --web uses (git
    /// config web.browser).
    #[arg(long)]
    web: bool,
    /// Write the page of --web to this file (-: standard output) and do not open it
    #[arg(short, long, value_name = "FILE", requires = "web")]
    output: Option<PathBuf>,
}

/// The names of artifacts on the command line, and the file of each.
const NAMES: [(&str, Artifact); 15] = [
    ("idea", Artifact::Idea),
    ("prd", Artifact::Prd),
    ("requirements", Artifact::Requirements),
    ("features", Artifact::Features),
    ("design", Artifact::Design),
    ("components", Artifact::DesignSpec),
    ("plan", Artifact::Plan),
    ("tasks", Artifact::ImplementationPlan),
    ("check", Artifact::CheckReport),
    ("report", Artifact::DeliveryReport),
    ("delivery", Artifact::DeliveryReport),
    ("feedback", Artifact::Feedback),
    ("change", Artifact::ChangeRequest),
    ("triage", Artifact::ChangeRequest),
    ("session", Artifact::Session),
];

/// All names: those of [`NAMES`], and each other stage that has a document.
pub(crate) fn names() -> Vec<(&'static str, Artifact)> {
    let mut names = NAMES.to_vec();
    for row in TABLE {
        let name = row.stage.name();
        if let Some(document) = row.document()
            && names.iter().all(|(other, _)| *other != name)
        {
            names.push((name, document));
        }
    }
    names
}

pub(crate) fn run(context: &Context, args: ShowArgs) -> Answer {
    if args.web {
        let session = match args.words.as_slice() {
            [] => None,
            [session] => Some(session.parse::<SessionName>()?),
            _ => return Err(Error::usage("show --web takes a session, not an artifact").into()),
        };
        return web_page::show(context, session.as_ref(), args.output.as_deref());
    }
    let (session, what) = match args.words.as_slice() {
        [] => return list(context),
        [what] => (None, what),
        [session, what] => (Some(session.parse::<SessionName>()?), what),
        _ => return Err(Error::usage("show takes an artifact").into()),
    };
    let names = names();
    let found = names.iter().find(|(name, artifact)| name == what || artifact.file_name() == what);
    let Some((_, artifact)) = found else {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let all = format!("one of: {}", names.join(", "));
        let error = Error::usage(format!("there is no artifact '{what}'"));
        return Err(hinted(error, what, names, all).into());
    };
    let session = find::readable(context, session.as_ref())?;
    find::warn_of_unreadable(context, &session)?;
    let files = CommittedFiles::new(context.git()?, &session.name, &session.tip);
    let text = match files.read(*artifact)? {
        None => instead(context, &session, *artifact)?,
        text => text,
    };
    match text {
        Some(text) if context.global.json => {
            let object = serde_json::json!({
                "session": session.name.as_str(),
                "artifact": artifact.file_name(),
                "commit": session.tip.as_str(),
                "content": text,
            });
            context.print(&format!("{object}\n")).map(|()| 0)
        }
        Some(text) => {
            let is_markdown = artifact.file_name().ends_with(".md");
            context.print_file(&text, is_markdown).map(|()| 0)
        }
        None => Err(Error::repository(format!("'{}' has no {what} yet", session.name))
            .hint("show its state: git cowork status")
            .into()),
    }
}

/// Lists the artifacts of the session here.
fn list(context: &Context) -> Answer {
    let session = find::readable(context, None)?;
    let files = CommittedFiles::new(context.git()?, &session.name, &session.tip);
    let mut found: Vec<(&str, String)> = Vec::new();
    for (name, artifact) in names() {
        let path = artifact_path(&session.name, artifact);
        if found.iter().all(|(_, other)| *other != path) && files.read(artifact)?.is_some() {
            found.push((name, path));
        }
    }
    let text = match context.global.json {
        true => {
            let artifacts: BTreeMap<_, _> = found.into_iter().collect();
            let session = session.name.as_str();
            format!("{}\n", serde_json::json!({"session": session, "artifacts": artifacts}))
        }
        false => found.iter().map(|(name, path)| format!("{name:<14}{path}\n")).collect(),
    };
    context.print(&text).map(|()| 0)
}

/// Returns what to show instead of an artifact that sessions of this depth do not have: the part of
/// the plan that replaces it, or the checks that git-cowork ran on the code.
fn instead(
    context: &Context,
    session: &Session,
    artifact: Artifact,
) -> anyhow::Result<Option<String>> {
    let depth = session.depth();
    let of = TABLE.iter().find(|row| row.artifacts.contains(&artifact));
    let Some(row) = of.filter(|row| !stages::depth(depth).has(row.stage)) else { return Ok(None) };
    let (what, text) = if row.judges {
        let Some(entry) = session.stage_entry(code_stage()) else { return Ok(None) };
        let runs = [key::CHECKS, key::EVIDENCE].into_iter().flat_map(|key| entry.trailers.all(key));
        let runs: String = runs.map(|run| format!("- {run}\n")).collect();
        (
            "these checks ran on its code",
            format!("# {} {}\n\n{runs}", entry.commit.short(), entry.subject),
        )
    } else {
        let files = CommittedFiles::new(context.git()?, &session.name, &session.tip);
        let Some(plan) = files.read(Artifact::Plan)? else { return Ok(None) };
        let part = match artifact {
            Artifact::Prd => plan_parts::requirement_sections(&plan),
            _ => plan_parts::prose(&plan),
        };
        ("this is the part of plan.md that replaces it", format!("{part}\n"))
    };
    let (name, file) = (&session.name, artifact.file_name());
    let text_of_note = format!("'{name}' is a {depth} session and has no {file}; {what}");
    context.ui.emit(Event::Note { text: text_of_note });
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_of_a_stage_has_a_name() {
        let names = names();
        for document in TABLE.iter().filter_map(stages::StageSpec::document) {
            assert!(names.iter().any(|(_, artifact)| *artifact == document), "{document:?}");
        }
    }
}
