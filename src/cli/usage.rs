//! Reports a wrong command line like every other error: what is wrong, and one hint.

use std::error::Error as _;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::args::Global;
use crate::cli::context::Context;
use crate::cli::suggest::{corrected, hinted};
use crate::error::{Error, Kind};
use crate::shell_quote::quoted;

/// What other tools call the beginning of a session.
const VERBS: [&str; 6] = ["start", "run", "create", "begin", "make", "build"];
/// Options of other tools for a run that asks nothing.
const BY_ITSELF: [&str; 4] = ["-y", "--yes", "--auto", "--yolo"];
/// Options of other tools for a text.
const MESSAGE: [&str; 3] = ["-m", "--message", "--prompt"];

/// Prints help or the version, or reports an error and returns 2. With `--json` the error is an
/// event, even though the options could not be parsed.
pub(super) fn answer(command: &clap::Command, error: &clap::Error, args: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let words: Vec<&str> =
        args.iter().skip(1).filter_map(|arg| arg.to_str()).take_while(|arg| *arg != "--").collect();
    let global = Global { json: words.contains(&"--json"), ..Global::default() };
    Context::new(&global).ui.error(&said(command, error, &words).into());
    ExitCode::from(Kind::Usage.exit_code())
}

fn said(command: &clap::Command, error: &clap::Error, words: &[&str]) -> Error {
    let named = words.iter().find_map(|word| command.find_subcommand(word));
    let help = match named {
        Some(command) => format!("see its options: git cowork {} -h", command.get_name()),
        None => "see the commands: git cowork -h".to_owned(),
    };
    let wrong = text(error, ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = text(error, ContextKind::InvalidSubcommand);
            let error = Error::usage(format!("there is no command '{word}'"));
            let plain: Vec<&str> = words.iter().copied().filter(|w| !w.starts_with('-')).collect();
            match beginning(&word, &plain) {
                Some(line) => error.hint(format!("to start a session: {line}")),
                None => hinted(error, &word, names(command), "see the commands: git cowork -h"),
            }
        }
        ErrorKind::UnknownArgument if wrong.starts_with('-') => {
            let said = Error::usage(format!("there is no option '{wrong}'"));
            match text(error, ContextKind::SuggestedArg) {
                _ if BY_ITSELF.contains(&wrong.as_str()) => said
                    .hint(format!("to be asked nothing: {}", corrected(&wrong, "--review=auto"))),
                _ if MESSAGE.contains(&wrong.as_str()) => {
                    said.hint("the text has no option: git cowork new \"what you want built\"")
                }
                right if right.is_empty() => said.hint(help),
                right => said.hint(format!("did you mean: {}", corrected(&wrong, &right))),
            }
        }
        ErrorKind::UnknownArgument => {
            let said = Error::usage(format!("unexpected argument '{wrong}'"));
            match named.map(clap::Command::get_name) {
                Some(name @ ("delete" | "archive")) => {
                    let sessions =
                        words.iter().filter(|word| !word.starts_with('-') && **word != name);
                    let each: Vec<String> =
                        sessions.map(|one| format!("git cowork {name} {}", quoted(one))).collect();
                    said.hint(format!("one after the other: {}", each.join(" && ")))
                }
                _ => said.hint(help),
            }
        }
        ErrorKind::InvalidValue => {
            let value = text(error, ContextKind::InvalidValue);
            if value.is_empty() {
                return Error::usage(format!("{wrong} requires a value")).hint(help);
            }
            let valid = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(valid)) => valid.as_slice(),
                _ => &[],
            };
            let said = Error::usage(format!("'{value}' is not a valid value for {wrong}"));
            let all = format!("one of: {}", valid.join(", "));
            hinted(said, &value, valid.iter().map(String::as_str), all)
        }
        ErrorKind::ValueValidation => {
            match error.source().and_then(|error| error.downcast_ref::<Error>()) {
                Some(ours) => ours.hints.iter().fold(Error::usage(&ours.message), Error::hint),
                None => Error::usage(first_lines(error)).hint(help),
            }
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::Strings(missing)) => missing.join(", "),
                _ => text(error, ContextKind::InvalidArg),
            };
            let said = Error::usage(format!("{missing} is missing"));
            said.hint(usage(error).unwrap_or(help))
        }
        ErrorKind::TooManyValues => {
            let value = text(error, ContextKind::InvalidValue);
            Error::usage(format!("unexpected argument '{value}'")).hint(help)
        }
        _ => Error::usage(first_lines(error)).hint(help),
    }
}

/// The command that starts a session, for who typed another verb for it, or only the idea.
fn beginning(word: &str, words: &[&str]) -> Option<String> {
    let at = words.iter().position(|one| *one == word)?;
    let is_verb = VERBS.contains(&word);
    let idea = &words[at + usize::from(is_verb)..];
    match idea {
        [] => Some("git cowork new \"what you want built\"".to_owned()),
        // One or two words may be a command that was mistyped.
        [one] if !is_verb && !one.contains(' ') => None,
        [_, _] if !is_verb => None,
        _ => Some(format!("git cowork new {}", quoted(&idea.join(" ")))),
    }
}

/// Names and aliases of all commands but `hook`.
fn names(command: &clap::Command) -> Vec<&str> {
    // Includes the hidden aliases `approve` and `abort`, which users may type.
    let typed = command.get_subcommands().filter(|command| command.get_name() != "hook");
    typed
        .flat_map(|command| std::iter::once(command.get_name()).chain(command.get_all_aliases()))
        .collect()
}

fn text(error: &clap::Error, kind: ContextKind) -> String {
    error.get(kind).map(ToString::to_string).unwrap_or_default()
}

/// Clap's own message, on one line.
fn first_lines(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines: Vec<&str> =
        text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let line = lines.join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

/// The usage line of the command.
fn usage(error: &clap::Error) -> Option<String> {
    let text = error.render().to_string();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "))?;
    Some(format!("usage: {usage}"))
}
