//! Arguments that several commands share, and the type that a command returns.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::suggest::hinted;
use crate::error::Error;
use crate::gate::Mode;
use crate::session::SessionName;
use crate::stage::{Depth, Stage};
use crate::stages::DepthChoice;

/// `--color`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Options every command takes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Never ask a question
    #[arg(long, global = true)]
    pub no_interactive: bool,
    /// How drafts are reviewed: ask (on a terminal), wait (commit the draft and exit with 3), auto
    /// (approve every draft without asking)
    #[arg(long, global = true, value_name = "MODE", value_parser = parse_mode())]
    pub review: Option<Mode>,
    /// Write events or results to standard output as JSON lines
    #[arg(long, global = true)]
    pub json: bool,
    /// Model to use in this run
    #[arg(long, global = true, value_name = "NAME")]
    pub model: Option<String>,
    /// Base URL of the model server for this run
    #[arg(long, global = true, value_name = "URL")]
    pub base_url: Option<String>,
    /// Replay a recording instead of asking a model
    #[arg(long, global = true, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Record the model's answers to a file for --replay
    #[arg(long, global = true, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Show the model's text while it arrives
    #[arg(long, global = true, overrides_with = "no_stream")]
    pub stream: bool,
    /// Do not show the model's text
    #[arg(long, global = true)]
    pub no_stream: bool,
    /// Session to operate on
    #[arg(long, global = true, value_name = "S")]
    pub session: Option<SessionName>,
    /// Verbose output
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print only errors and results
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// When to use colors: auto, always, never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// A session as a positional argument; `--session` does the same.
#[derive(Clone, Debug, Args)]
pub(crate) struct SessionArg {
    /// Session name [default: the branch you are on]
    #[arg(value_name = "SESSION")]
    pub name: Option<SessionName>,
}

/// The exit code of a command.
pub(crate) type Answer = anyhow::Result<u8>;

/// Parses a depth for clap.
pub(crate) fn depth_choice() -> impl TypedValueParser<Value = DepthChoice> {
    PossibleValuesParser::new(DepthChoice::NAMES).try_map(|name| name.parse())
}

/// Parses a depth that a session is raised to.
pub(crate) fn parse_depth() -> impl TypedValueParser<Value = Depth> {
    PossibleValuesParser::new(Depth::ALL.map(Depth::name)).try_map(|name| name.parse())
}

/// Parses a review mode.
fn parse_mode() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(Mode::NAMES).try_map(|name| name.parse())
}

/// Parses a stage for clap.
pub(crate) fn parse_stage(text: &str) -> Result<Stage, Error> {
    text.parse().map_err(|_| {
        let names = Stage::ALL.map(Stage::name);
        let all = format!("one of: {}", names.join(", "));
        hinted(Error::usage(format!("there is no stage '{text}'")), text, names, all)
    })
}
