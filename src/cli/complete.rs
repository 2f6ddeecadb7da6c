//! Candidates that a shell offers for an argument: sessions, stages, artifacts, attempts, modes and
//! so on. The value name of an argument selects them, so a new option needs no code here.
//!
//! A shell cannot show errors during completion, so an error here means no candidates.

use std::ffi::OsStr;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, ValueCompleter,
};

use crate::cli::args::Global;
use crate::cli::commands::show;
use crate::cli::context::Context;
use crate::cli::guides::{GUIDES, title};
use crate::cli::session_cmd::find;
use crate::config::key_names;
use crate::origin::Records;
use crate::session::{Attempt, RefNames, SessionName, attempts};
use crate::stage::Stage;
use crate::ui::one_line;

/// Longest description of a candidate.
const ABOUT: usize = 60;

/// Adds the candidates of each argument to the command line.
pub(super) fn completed(command: Command) -> Command {
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    let about = |command: &Command| command.get_about().map(ToString::to_string);
    let all: Vec<(String, String)> = shown
        .map(|command| (command.get_name().to_owned(), about(command).unwrap_or_default()))
        .collect();
    let names = move || {
        let topics = GUIDES.iter().map(|(name, text)| candidate(name, title(text)));
        all.iter().map(|(name, about)| candidate(name, about)).chain(topics).collect::<Vec<_>>()
    };
    command
        .mut_args(with_candidates)
        .mut_subcommands(|command| command.mut_args(with_candidates))
        .mut_subcommand("man", |man| {
            man.mut_arg("command", |arg| arg.add(ArgValueCandidates::new(names)))
        })
}

fn with_candidates(arg: Arg) -> Arg {
    let named = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string);
    match named.as_deref() {
        Some("SESSION" | "S") => arg.add(ArgValueCandidates::new(sessions)),
        Some("STAGE") => arg.add(ArgValueCandidates::new(stages)),
        Some("BRANCH") => arg.add(ArgValueCandidates::new(branches)),
        Some("MODE") => arg.add(ArgValueCandidates::new(modes)),
        Some("KEY") => arg.add(ArgValueCandidates::new(keys)),
        Some("REF") => arg.add(ArgValueCandidates::new(kept)),
        Some("[SESSION] ARTIFACT") => {
            arg.add(ArgValueCompleter::new(Words { first: sessions, last: artifacts }))
        }
        Some("SESSION] [N") => {
            arg.add(ArgValueCompleter::new(Words { first: sessions, last: numbers }))
        }
        Some("SESSION] [ID") => {
            arg.add(ArgValueCompleter::new(Words { first: sessions, last: ids }))
        }
        Some("FILE" | "FILE|-" | "FILE|DIR|-" | "FILE[:LINE[,LINE]]") => {
            arg.value_hint(ValueHint::FilePath)
        }
        _ => arg,
    }
}

/// Completes two words, the first of which is optional.
struct Words {
    first: fn() -> Vec<CompletionCandidate>,
    last: fn() -> Vec<CompletionCandidate>,
}

impl ValueCompleter for Words {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        self.complete_at(0, current)
    }

    fn complete_at(&self, at: usize, current: &OsStr) -> Vec<CompletionCandidate> {
        let mut all = (self.last)();
        if at == 0 {
            all.extend((self.first)());
        }
        let begun = current.to_string_lossy();
        all.retain(|one| one.get_value().to_string_lossy().starts_with(&*begun));
        all
    }
}

fn candidate(value: impl AsRef<str>, about: &str) -> CompletionCandidate {
    let about = Some(one_line(about, ABOUT)).filter(|about| !about.is_empty());
    CompletionCandidate::new(value.as_ref()).help(about.map(Into::into))
}

fn context() -> Context {
    Context::new(&Global { quiet: true, no_interactive: true, ..Global::default() })
}

fn sessions() -> Vec<CompletionCandidate> {
    let heads = find::every(&context(), true).map(|(heads, _)| heads).unwrap_or_default();
    heads.iter().map(|head| candidate(head.name().as_str(), &head.file().title)).collect()
}

/// Branches that do not belong to a session.
fn branches() -> Vec<CompletionCandidate> {
    let context = context();
    let (Ok(git), Ok(refs)) = (context.git(), context.refs()) else { return Vec::new() };
    let all = git.refs(&[RefNames::BRANCHES, RefNames::REMOTES]).unwrap_or_default();
    let others = all.iter().filter(|one| refs.session_of_any(one.name.as_str()).is_none());
    let short = others.filter_map(|one| {
        let name = one.name.as_str();
        name.strip_prefix(RefNames::BRANCHES).or_else(|| name.strip_prefix(RefNames::REMOTES))
    });
    short.filter(|name| !name.ends_with("/HEAD")).map(|name| candidate(name, "")).collect()
}

fn stages() -> Vec<CompletionCandidate> {
    let names = show::names();
    let file = |stage: Stage| names.iter().find(|(name, _)| *name == stage.name());
    let about = |stage| file(stage).map_or("the code, task by task", |(_, file)| file.file_name());
    Stage::ALL.into_iter().map(|stage| candidate(stage.name(), about(stage))).collect()
}

fn artifacts() -> Vec<CompletionCandidate> {
    let names = show::names().into_iter();
    names.map(|(name, artifact)| candidate(name, artifact.file_name())).collect()
}

fn modes() -> Vec<CompletionCandidate> {
    [
        ("ask", "ask on the terminal"),
        ("wait", "leave each draft as a commit, exit 3"),
        ("auto", "approve every draft"),
    ]
    .into_iter()
    .map(|(mode, about)| candidate(mode, about))
    .collect()
}

/// Configuration keys and sections.
fn keys() -> Vec<CompletionCandidate> {
    key_names().iter().map(|key| candidate(key, "")).collect()
}

/// Attempts of the session that the command line names, or of the default session.
fn numbers() -> Vec<CompletionCandidate> {
    let context = context();
    let session = named().map_or_else(|| find::session_name(&context, None), Ok).ok();
    let numbers = of(&context, session.as_ref());
    numbers.iter().map(|one| candidate(one.number.to_string(), &one.reason)).collect()
}

/// The session that the command line names.
fn named() -> Option<SessionName> {
    let typed = std::env::args().skip_while(|word| word != "--").skip(3);
    let mut names = typed.filter_map(|word| word.parse::<SessionName>().ok());
    names.find(|name| name.as_str().parse::<u32>().is_err())
}

/// Requirements, features, components and tasks of the session that the command line names, or of
/// the default session.
fn ids() -> Vec<CompletionCandidate> {
    let context = context();
    let Ok(git) = context.git() else { return Vec::new() };
    let named = named().or_else(|| find::session_name(&context, None).ok());
    let Ok(session) = find::session(&context, named.as_ref()) else { return Vec::new() };
    let records = Records::at(git, &session.name, &session.tip);
    let mut all: Vec<CompletionCandidate> = Vec::new();
    all.extend(records.requirements.iter().map(|one| candidate(&one.id, &one.title)));
    all.extend(records.features.iter().map(|one| candidate(&one.id, &one.name)));
    all.extend(records.components.iter().map(|one| candidate(&one.id, &one.name)));
    all.extend(records.plan.tasks.iter().map(|one| candidate(&one.id, &one.title)));
    all
}

/// The refs of all attempts.
fn kept() -> Vec<CompletionCandidate> {
    of(&context(), None).iter().map(|one| candidate(one.ref_name(), &one.reason)).collect()
}

fn of(context: &Context, session: Option<&SessionName>) -> Vec<Attempt> {
    context.git().and_then(|git| attempts(git, session)).unwrap_or_default()
}
