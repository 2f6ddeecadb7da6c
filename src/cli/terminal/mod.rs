//! The terminal: output of events, colours, signals, panics.

pub(crate) mod lanes;
pub(crate) mod log_row;
pub(crate) mod log_table;
pub(crate) mod origin;
pub(crate) mod paint;
pub(crate) mod records;
pub(crate) mod runtime;
pub(crate) mod said;
pub(crate) mod signals;
pub(crate) mod stage_table;
pub(crate) mod ui;
