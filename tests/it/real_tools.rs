//! Sessions in projects with tools that check commits, run by the tools themselves where they are on
//! PATH; elsewhere a test is skipped and counted. What they were seen to do is in `hooks`,
//! `conventions` and `filters` with stand-ins.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::json;

use crate::support::skip::skipped;
use crate::support::{Reply, Sandbox, at};

/// Requests of a whole session in which no tool wants anything.
const REQUESTS: usize = 16;

/// The folder of a program on PATH.
fn folder(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find(|folder| folder.join(program).is_file())
}

/// A repository in which these programs can be run; `None`, and told, if one is not here.
fn with(programs: &[&str]) -> Option<Sandbox> {
    if let Some(missing) = programs.iter().find(|program| folder(program).is_none()) {
        skipped(&format!("{missing} is not here"));
        return None;
    }
    Some(Sandbox::new())
}

/// The whole session from `new` to `merge`, in which no request was made because of a tool.
#[track_caller]
fn runs_to_the_merge(sandbox: &Sandbox) {
    sandbox.auto(&[]).exits(0);
    assert_eq!(sandbox.server.requests().len(), REQUESTS, "requests because of the tool");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["merge"]).exits(0);
    sandbox.assert_sound();
}

/// The first task's files are not as the tools want them.
fn write_untidy_files(sandbox: &Sandbox) {
    let file = json!({"path": "lib/store.sh", "content": "# TASK-001: Keep todos in a file  "});
    let draft = Reply::call("write_file", file)
        .and("write_file", json!({"path": "lib/store.py", "content": "x = {'a':1}\n"}))
        .and("update_task_status", json!({"task_id": "TASK-001", "new_status": "completed"}));
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), draft);
}

#[test]
fn pre_commit_with_fixers() {
    let Some(sandbox) = with(&["pre-commit", "black", "end-of-file-fixer"]) else { return };
    let hook = |id: &str, more: &str| {
        format!("      - {{id: {id}, name: {id}, entry: {id}, language: system{more}}}\n")
    };
    let config = format!(
        "repos:\n  - repo: local\n    hooks:\n{}{}{}{}",
        hook("black", ", types: [python]"),
        hook("end-of-file-fixer", ", types: [text]"),
        hook("trailing-whitespace-fixer", ", types: [text]"),
        hook("check-json", ", types: [json]"),
    );
    sandbox.commit_file(".pre-commit-config.yaml", &config, "pre-commit");
    install(&sandbox, "pre-commit", &["install"]);
    write_untidy_files(&sandbox);
    runs_to_the_merge(&sandbox);
    assert_eq!(sandbox.blob("main", "lib/store.py"), "x = {\"a\": 1}\n");
    assert_eq!(sandbox.blob("main", "lib/store.sh"), "# TASK-001: Keep todos in a file\n");
}

fn install(sandbox: &Sandbox, program: &str, args: &[&str]) {
    let mut command = sandbox.command(program);
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Gives the sandbox the template that the refused `new` names.
fn takes_the_named_template(sandbox: &Sandbox) {
    let before = sandbox.all_refs();
    let refused = sandbox.auto(&[]).exits(5);
    assert_eq!(sandbox.all_refs(), before);
    assert!(sandbox.server.requests().is_empty(), "nothing was paid");
    let named = refused.stderr.split("git config cowork.project.subject '").nth(1);
    let template = named.and_then(|rest| rest.split('\'').next()).unwrap();
    sandbox.git(&["config", "cowork.project.subject", template]);
}

#[test]
fn husky_with_stock_commitlint() {
    let Some(sandbox) = with(&["husky", "commitlint"]) else { return };
    // `node_modules/.bin`, as npm installs it.
    let rules =
        folder("commitlint").unwrap().join("../@commitlint/config-conventional/lib/index.js");
    let rules = format!("module.exports = {{extends: [{rules:?}]}};\n");
    sandbox.commit_file("commitlint.config.js", &rules, "chore: commitlint");
    install(&sandbox, "husky", &[]);
    sandbox.write(".husky/commit-msg", "commitlint --edit \"$1\"\n");
    sandbox.commit_all("chore: husky");
    takes_the_named_template(&sandbox);
    runs_to_the_merge(&sandbox);
}

#[test]
fn stock_gitlint() {
    let Some(sandbox) = with(&["gitlint"]) else { return };
    sandbox.hook("commit-msg", "exec gitlint --staged --msg-filename \"$1\" </dev/null");
    runs_to_the_merge(&sandbox);
}

#[test]
fn stock_commitizen() {
    let Some(sandbox) = with(&["cz"]) else { return };
    sandbox.commit_file(".cz.toml", "[tool.commitizen]\nname = \"cz_conventional_commits\"\n", "x");
    sandbox.hook("commit-msg", "exec cz check --allow-abort --commit-msg-file \"$1\"");
    takes_the_named_template(&sandbox);
    runs_to_the_merge(&sandbox);
}

#[test]
fn lefthook_with_prettier() {
    let Some(sandbox) = with(&["lefthook", "prettier"]) else { return };
    let config = "pre-commit:\n  commands:\n    prettier:\n      glob: '*.{json,md,js}'\n      \
                  run: prettier --write {staged_files}\n      stage_fixed: true\n";
    sandbox.commit_file("lefthook.yml", config, "lefthook");
    install(&sandbox, "lefthook", &["install"]);
    runs_to_the_merge(&sandbox);
}

#[test]
fn lint_staged_with_prettier() {
    let Some(sandbox) = with(&["lint-staged", "prettier"]) else { return };
    sandbox.commit_file(
        "package.json",
        "{\"lint-staged\": {\"*.{json,md,js}\": \"prettier --write\"}}\n",
        "x",
    );
    sandbox.hook("pre-commit", "exec lint-staged");
    runs_to_the_merge(&sandbox);
}

#[test]
fn git_lfs_for_documents() {
    let Some(sandbox) = with(&["git-lfs"]) else { return };
    sandbox.git(&["lfs", "install", "--local"]);
    sandbox.git(&["lfs", "track", "*.md", "*.json"]);
    sandbox.git(&["add", "--renormalize", "."]);
    sandbox.commit_all("lfs");
    runs_to_the_merge(&sandbox);
    assert!(sandbox.blob("main", ".cowork/sessions/todo/prd.md").starts_with("# "));
}

/// The server that a clone names is not asked for a document.
#[test]
fn a_pointer_of_git_lfs_downloads_nothing() {
    let Some(sandbox) = with(&["git-lfs"]) else { return };
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    sandbox.git(&["lfs", "install", "--local"]);
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let url = format!("[lfs]\n\turl = http://{}/\n", server.local_addr().unwrap());
    sandbox.commit_file(".lfsconfig", &url, "lfs");
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
        "a".repeat(64)
    );
    sandbox.commit_file(".cowork/sessions/todo/prd.md", &pointer, "pointer");
    sandbox.cowork(&["show", "prd"]).exits(5).says("git lfs pull");
    assert!(server.accept().is_err(), "a server was asked");
}

#[test]
fn git_crypt_for_documents_both_ways() {
    let Some(sandbox) = with(&["git-crypt"]) else { return };
    install(&sandbox, "git-crypt", &["init"]);
    let line = ".cowork/** filter=git-crypt diff=git-crypt\n";
    sandbox.commit_file(".gitattributes", line, "crypt");
    sandbox.auto(&[]).exits(5).says("git config cowork.project.filters true");
    let exempt = sandbox.fork();
    exempt.commit_file(".gitattributes", &format!("{line}.cowork/** -filter\n"), "exempt");
    runs_to_the_merge(&exempt);
    assert!(exempt.blob("main", ".cowork/sessions/todo/prd.md").starts_with("# "));
    sandbox.git(&["config", "cowork.project.filters", "true"]);
    runs_to_the_merge(&sandbox);
    let stored = sandbox.git(&["cat-file", "blob", "main:.cowork/sessions/todo/prd.md"]);
    assert!(stored.contains("GITCRYPT"));
    install(&sandbox, "git-crypt", &["lock"]);
    sandbox.cowork(&["show", "todo", "prd"]).exits(5).says("git-crypt unlock");
}

#[test]
fn setuptools_scm_sees_no_stage_as_a_version() {
    let Some(sandbox) = with(&["setuptools-scm"]) else { return };
    let project = "[build-system]\nrequires = [\"setuptools-scm\"]\n[project]\nname = \"x\"\n\
                   dynamic = [\"version\"]\n[tool.setuptools_scm]\n";
    sandbox.commit_file("pyproject.toml", project, "scm");
    sandbox.git(&["tag", "v1.2.0"]);
    runs_to_the_merge(&sandbox);
    let version = sandbox.command("setuptools-scm").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    assert!(version.starts_with("1.2.1.dev"), "{version}");
    assert!(fs::read_dir(sandbox.path(".git/refs/cowork/stages")).is_ok());
}
