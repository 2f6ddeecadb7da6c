//! `git cowork show [SESSION] ARTIFACT`: to a terminal without what it would obey, to a pipe or a
//! file byte for byte, as `git show` does.

use clap::Args;

use crate::artifact::{Artifact, Files as _};
use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::find;
use crate::error::Error;
use crate::session::{CommittedFiles, SessionName};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// [SESSION] ARTIFACT: idea, prd, requirements, features, design, components, plan, tasks,
    /// check, report, feedback, change, session
    #[arg(required = true, num_args = 1..=2, value_name = "[SESSION] ARTIFACT")]
    words: Vec<String>,
}

/// The names people use, and the file each means.
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

pub(crate) fn run(context: &Context, args: ShowArgs) -> Answer {
    let (session, what) = match args.words.as_slice() {
        [what] => (None, what),
        [session, what] => (Some(session.parse::<SessionName>()?), what),
        _ => return Err(Error::usage("show takes an artifact").into()),
    };
    let found = NAMES.iter().find(|(name, artifact)| name == what || artifact.file_name() == what);
    let Some((_, artifact)) = found else {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        return Err(Error::usage(format!("there is no artifact '{what}'"))
            .hint(format!("one of: {}", names.join(", ")))
            .into());
    };
    let session = find::session(context, session.as_ref())?;
    let files = CommittedFiles::new(context.git()?, &session.name, &session.tip);
    match files.read(*artifact)? {
        Some(text) if context.global.json => {
            let object = serde_json::json!({
                "session": session.name.as_str(),
                "artifact": artifact.file_name(),
                "commit": session.tip.as_str(),
                "content": text,
            });
            context.print(&format!("{object}\n")).map(|()| 0)
        }
        Some(text) => context.print_file(&text).map(|()| 0),
        None => Err(Error::repository(format!("'{}' has no {what} yet", session.name))
            .hint("git cowork status shows how far it is")
            .into()),
    }
}
