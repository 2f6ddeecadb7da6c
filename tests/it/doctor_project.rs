//! What `doctor` names before a session meets it: tools of the project, and settings of git that
//! would refuse its commits or its merge.

use serde_json::{Value, json};

use crate::support::script::START;
use crate::support::{Reply, Sandbox, at};

/// A sandbox in which all else is well.
fn well() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.server.lists(json!([{"id": "scripted", "max_model_len": 200_000}]));
    sandbox.server.on(at(START, "actor"), Reply::call("ready", json!({})));
    sandbox
}

/// Makes sure that one finding has this text and this fix, and is of this state.
#[track_caller]
fn names(sandbox: &Sandbox, state: &str, text: &str, fix: &str) {
    let outcome = sandbox.cowork(&["doctor", "--json"]);
    let outcome = outcome.exits(if state == "problem" { 4 } else { 0 });
    let says = |line: &Value| {
        let fixes = line["fixes"].to_string();
        line["state"] == state
            && line["text"].as_str().is_some_and(|said| said.contains(text))
            && (fix.is_empty() || fixes.contains(fix))
    };
    assert!(outcome.json_lines().iter().any(says), "{text}: {}", outcome.stdout);
}

#[test]
fn tools_that_would_refuse_or_misread_a_session_are_named() {
    let sandbox = well();
    sandbox.write(".pre-commit-config.yaml", "repos: []\n");
    names(&sandbox, "warning", "pre-commit may refuse", r"exclude: ^\\.cowork/");
    sandbox.write(".pre-commit-config.yaml", "exclude: ^\\.cowork/\nrepos: []\n");
    sandbox.write("cliff.toml", "");
    names(&sandbox, "ok", "git-cliff takes every tag for a version", "");
    sandbox.git(&["config", "cowork.project.tags", "true"]);
    names(&sandbox, "warning", "git-cliff takes the tags", "cowork.project.tags auto");
    sandbox.write(".commitlintrc.json", "{}");
    let set = "git config cowork.project.subject 'chore({stage}): {summary_lower}'";
    names(&sandbox, "warning", "its hook is not installed", set);
    sandbox.hook("commit-msg", "grep -q ^chore \"$1\" || { echo 'type-enum'; exit 1; }");
    names(&sandbox, "problem", "type-enum", set);
}

#[test]
fn settings_that_would_stop_a_session_later_are_named() {
    let sandbox = well();
    sandbox.git(&["config", "merge.verifySignatures", "true"]);
    names(&sandbox, "warning", "merge.verifySignatures", "commit.gpgSign true");
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.git(&["config", "core.safecrlf", "true"]);
    names(&sandbox, "warning", "core.safecrlf", "core.safecrlf warn");
    sandbox.git(&["config", "blame.ignoreRevsFile", ".revs"]);
    names(&sandbox, "warning", ".revs", "--unset blame.ignoreRevsFile");
    sandbox.git(&["config", "remote.origin.partialclonefilter", "blob:none"]);
    names(&sandbox, "warning", "partial clone", "git fetch --refetch");
    sandbox.write(".gitattributes", "*.md filter=crypt\n");
    names(&sandbox, "problem", "the filter 'crypt' applies to", ".cowork/** -filter");
    sandbox.write(".gitattributes", "");
    sandbox.executable(&sandbox.root().join("bin/code"), "exit 0");
    sandbox.git(&["config", "cowork.review.editor", "code"]);
    names(&sandbox, "warning", "returns before", "code --wait");
    sandbox.git(&["config", "commit.gpgSign", "true"]);
    sandbox.git(&["config", "gpg.program", "false"]);
    names(&sandbox, "problem", "commits are to be signed, and that fails", "-S -m test");
}
