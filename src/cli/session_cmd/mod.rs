//! What several commands share: finding, locking and opening a session, running it, the next step.

pub(crate) mod approved;
pub(crate) mod asking;
pub(crate) mod choose_model;
pub(crate) mod confinement;
pub(crate) mod delivered;
pub(crate) mod dependencies;
pub(crate) mod depth;
pub(crate) mod event_log;
pub(crate) mod fetch_consent;
pub(crate) mod find;
pub(crate) mod first_request;
pub(crate) mod from_files;
pub(crate) mod lock;
pub(crate) mod models;
pub(crate) mod new_session;
pub(crate) mod next_step;
pub(crate) mod open;
pub(crate) mod pending_start;
pub(crate) mod preflight;
pub(crate) mod recorder;
pub(crate) mod remove;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod text_input;
pub(crate) mod workspace;
