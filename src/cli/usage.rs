//! Reports a wrong command line like every other error: what is wrong, and one hint.

use std::error::Error as _;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::args::Global;
use crate::cli::context::Context;
use crate::cli::suggest::{corrected, hinted};
use crate::error::{Error, Kind};

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
            hinted(error, &word, names(command), help)
        }
        ErrorKind::UnknownArgument if wrong.starts_with('-') => {
            let said = Error::usage(format!("there is no option '{wrong}'"));
            match text(error, ContextKind::SuggestedArg) {
                right if right.is_empty() => said.hint(help),
                right => said.hint(format!("did you mean: {}", corrected(&wrong, &right))),
            }
        }
        ErrorKind::UnknownArgument => {
            Error::usage(format!("unexpected argument '{wrong}'")).hint(help)
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
