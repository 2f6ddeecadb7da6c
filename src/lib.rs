//! git-cowork: language models build software inside git, under review.
//!
//! # Layout
//!
//! Dependencies point in one direction, without cycles (checked by `tests/it/tidy.rs`, drawn in
//! `ARCHITECTURE.md`):
//!
//! ```text
//! argv ─► cli ─► session (read history) ─► pipeline ─► agent ⇄ model
//!                                             │           └─► tool ─► workspace, artifact
//!                                             ├─► gate ⇄ person
//!                                             └─► record (working tree ─► commit, tag, refs)
//! ```
//!
//! [`stage`], [`error`], [`event`], [`interrupt`], [`moment`], [`secret`] and [`spent`] are shared
//! by all modules and depend on none of them.

pub mod activity;
pub mod agent;
pub mod artifact;
pub mod choice;
pub mod cli;
pub mod clock;
pub mod codebase;
pub mod config;
pub mod error;
pub mod event;
pub mod forge;
pub mod gate;
pub mod git;
pub mod host;
pub mod instructions;
pub mod interrupt;
pub mod languages;
pub mod model;
pub mod moment;
pub mod origin;
mod path_text;
pub mod pipeline;
pub mod private;
pub mod record;
pub mod secret;
pub mod session;
pub mod spent;
pub mod stage;
pub mod stages;
pub mod tool;
pub mod ui;
pub mod verify;
pub mod workspace;

mod ascii;
mod clean;
mod excerpt;
mod headings;
mod in_threads;
mod keyboard;
mod line_count;
mod markdown_lines;
mod markers;
mod nearest;
mod palette;
mod present;
mod replace_file;
mod sha256;
mod shell_quote;
#[cfg(test)]
mod test_random;
mod typed_line;
mod web;
mod wrap;
