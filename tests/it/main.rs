//! Black-box tests of the real binary, with real git and a scripted model server over HTTP.
//!
//! `support` is the harness; every other file is one theme. Nothing here sleeps, depends on
//! order, or sees the machine it runs on. A case is a sandbox, what the model says where it
//! differs from the happy path of `support::todo`, a command, and what git and the server saw:
//!
//! ```text
//! let sandbox = Sandbox::new();                       // a repository, a home, a model server
//! sandbox.server.times(1, at("prd", "critic").iteration(1), reject("REQ-002 is vague"));
//! sandbox.auto(&["--stop-after", "prd"]).exits(0);    // git-cowork new … --review auto …
//! assert_eq!(sandbox.stages("main.."), ["start", "idea", "prd"]);
//! assert!(sandbox.server.requests_of("prd", "actor")[2].text().contains("vague"));
//! sandbox.assert_sound();                             // git fsck, a clean tree
//! ```
//!
//! What only begins with a session takes a copy of a prepared one: `Sandbox::stopped_after("prd")`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, its helpers too"
)]

mod adopt;
mod agent_actor;
mod agents;
#[cfg(unix)]
mod answers;
#[cfg(unix)]
mod approvals;
#[cfg(unix)]
mod approvals_random;
mod arguments;
#[cfg(unix)]
mod asked_back;
mod back;
#[cfg(unix)]
mod briefs;
mod broken;
mod budget;
mod by_hand;
mod challenger;
mod change_report;
mod changes;
mod changes_met;
#[cfg(unix)]
mod check_logs;
#[cfg(unix)]
mod children;
#[cfg(unix)]
mod circles;
mod clones;
mod codebase;
mod coding;
#[cfg(unix)]
mod colors;
mod command_tools;
mod commit_messages;
mod config;
#[cfg(unix)]
mod conventions;
#[cfg(unix)]
mod conversations;
mod counts;
mod criteria;
mod critic;
#[cfg(unix)]
mod damaged_objects;
mod decide;
mod deliver;
#[cfg(unix)]
mod dependencies;
#[cfg(unix)]
mod depth;
#[cfg(unix)]
mod disk;
#[cfg(unix)]
mod docs;
#[cfg(unix)]
mod doctor;
#[cfg(unix)]
mod doctor_project;
#[cfg(unix)]
mod edit;
#[cfg(unix)]
mod ending;
#[cfg(unix)]
mod evidence;
#[cfg(unix)]
mod excerpts;
mod exit_codes;
mod extras;
mod faults;
mod feedback;
mod filters;
mod findings;
#[cfg(unix)]
mod first_model;
mod gate_code;
#[cfg(unix)]
mod gate_keys;
#[cfg(unix)]
mod gate_models;
mod gateways;
mod git_hooks;
#[cfg(unix)]
mod hands;
mod harness;
#[cfg(unix)]
mod headings;
mod help;
mod hooks;
#[cfg(target_os = "linux")]
mod hostile;
mod idea;
#[cfg(unix)]
mod ideas;
mod inherit;
mod init;
#[cfg(unix)]
mod install;
#[cfg(unix)]
mod instructions;
mod json;
mod json_edits;
mod kept_files;
mod kept_heads;
mod kill;
#[cfg(unix)]
mod knowledge;
#[cfg(unix)]
mod law;
#[cfg(unix)]
mod left_open;
mod live;
#[cfg(unix)]
mod live_view;
mod log;
mod log_order;
#[cfg(unix)]
mod loss;
mod machines;
mod matrix;
mod meanwhile;
#[cfg(unix)]
mod merge;
mod messages;
mod mistakes;
mod models;
mod modify;
mod moved;
#[cfg(unix)]
mod named_tests;
mod names;
mod new;
mod newest;
mod next;
#[cfg(unix)]
mod notify;
#[cfg(unix)]
mod numbers;
mod odd_branches;
#[cfg(unix)]
mod odd_files;
#[cfg(unix)]
mod odd_histories;
#[cfg(unix)]
#[cfg(unix)]
mod one_run;
mod other_text;
mod outage;
#[cfg(unix)]
mod pager;
mod picture;
mod pipeline;
#[cfg(unix)]
mod pr;
#[cfg(unix)]
mod preflight;
#[cfg(unix)]
mod private;
#[cfg(unix)]
mod prune;
#[cfg(unix)]
mod readings;
#[cfg(unix)]
mod real_tools;
#[cfg(unix)]
mod records_gone;
mod records_merge;
mod removals;
#[cfg(unix)]
mod replay;
mod report;
mod repos;
mod requests;
mod responses;
mod review;
mod rules;
#[cfg(unix)]
mod run_end;
#[cfg(unix)]
mod runner;
#[cfg(unix)]
mod screens;
#[cfg(unix)]
mod second_look;
mod secrets;
#[cfg(unix)]
mod self_review;
mod servers;
mod size;
mod spec_folder;
mod spec_kinds;
mod states;
mod status;
#[cfg(unix)]
mod stop;
mod structure;
#[cfg(unix)]
mod stuck;
mod sudden_end;
mod summaries;
mod support;
#[cfg(unix)]
mod terminal;
mod thinking;
mod tidy;
mod trust;
mod two_people;
#[cfg(unix)]
mod typed;
#[cfg(unix)]
mod unasked;
mod unchanged;
mod unlisted;
mod untold;
mod usage;
#[cfg(unix)]
mod user_files;
mod verify;
#[cfg(unix)]
mod watch;
#[cfg(unix)]
mod watch_gate;
#[cfg(unix)]
mod web;
#[cfg(unix)]
mod why;
mod words;
mod worldwide;
mod yours;
