//! Repositories whose attributes filter the files of sessions: one that stores content elsewhere, as
//! git-lfs does, one that encrypts, as git-crypt does, and line ends that git refuses. The filters do
//! what git-lfs 3.3 and git-crypt 0.7 were seen to do.

use std::fs;

use crate::support::Sandbox;

const PRD: &str = "cowork/todo:.cowork/sessions/todo/prd.md";

fn filter(sandbox: &Sandbox, name: &str, clean: &str, smudge: &str, attributes: &str) {
    let bin = sandbox.root().join("filters");
    fs::create_dir_all(&bin).unwrap();
    for (way, script) in [("clean", clean), ("smudge", smudge)] {
        sandbox.executable(&bin.join(way), script);
        let path = bin.join(way);
        sandbox.git(&["config", &format!("filter.{name}.{way}"), path.to_str().unwrap()]);
    }
    sandbox.git(&["config", &format!("filter.{name}.required"), "true"]);
    sandbox.write(".gitattributes", attributes);
    sandbox.git(&["add", "--renormalize", "."]);
    sandbox.commit_file(".gitattributes", attributes, "attributes");
}

/// Stores the content under `.git/store` and commits a pointer.
fn store_elsewhere(sandbox: &Sandbox) {
    let clean = "f=$(mktemp); cat >$f; id=$(git hash-object $f); \
                 store=$(git rev-parse --git-common-dir)/store; mkdir -p $store; mv $f $store/$id; \
                 echo version https://git-lfs.github.com/spec/v1; echo oid sha256:$id";
    let smudge = "f=$(mktemp); cat >$f; id=$(sed -n 's/^oid sha256://p' $f); \
                  store=$(git rev-parse --git-common-dir)/store; \
                  if [ -f $store/$id ]; then cat $store/$id; else cat $f; fi; rm -f $f";
    let attributes = "*.md filter=lfs diff=lfs merge=lfs -text\n*.json filter=lfs -text\n";
    filter(sandbox, "lfs", clean, smudge, attributes);
}

/// Encrypts everything below `.cowork`.
fn encrypt(sandbox: &Sandbox) {
    encrypt_as(sandbox, ".cowork/sessions/** filter=git-crypt diff=git-crypt\n");
}

fn encrypt_as(sandbox: &Sandbox, attributes: &str) {
    let clean = "printf '\\000GITCRYPT\\000'; tr 'A-Za-z' 'N-ZA-Mn-za-m'";
    let smudge = "tail -c +11 | tr 'A-Za-z' 'N-ZA-Mn-za-m'";
    filter(sandbox, "git-crypt", clean, smudge, attributes);
}

#[test]
fn documents_are_committed_as_text_where_a_filter_stores_content_elsewhere() {
    let sandbox = Sandbox::new();
    store_elsewhere(&sandbox);
    sandbox.auto(&[]).exits(0);
    assert!(sandbox.git(&["show", PRD]).starts_with("# "));
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["merge", "todo"]).exits(0);
    assert!(!sandbox.git(&["log", "-1", "--format=%s", "main"]).starts_with("version"));
    sandbox.commit_file("notes.md", "# Notes\n", "notes");
    assert!(sandbox.git(&["show", "HEAD:notes.md"]).starts_with("version"));
    sandbox.assert_sound();
}

/// The attributes of a repository that had sessions before it had the filter.
#[test]
fn a_second_session_leaves_out_a_filter_that_is_new() {
    let sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["merge", "-q", "cowork/todo"]);
    store_elsewhere(&sandbox);
    let new = ["new", "-n", "two", "a second idea", "--review", "auto", "--stop-after", "idea"];
    sandbox.cowork(&new).exits(0);
    let attributes = sandbox.read(".cowork/.gitattributes");
    assert!(attributes.starts_with("* -filter -text"), "{attributes}");
    assert!(attributes.contains("linguist-generated"), "{attributes}");
    assert!(sandbox.git(&["show", "HEAD:.cowork/sessions/two/idea.md"]).starts_with("# "));
}

#[test]
fn a_pointer_that_was_committed_is_read_as_the_document() {
    let sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let text = sandbox.artifact("prd.md");
    store_elsewhere(&sandbox);
    sandbox.write(".cowork/.gitattributes", "");
    sandbox.git(&["add", "--renormalize", "."]);
    sandbox.git(&["commit", "-qam", "pointers"]);
    assert!(sandbox.git(&["show", PRD]).starts_with("version"));
    assert_eq!(sandbox.cowork(&["show", "prd"]).exits(0).stdout.trim(), text.trim());
    assert!(sandbox.cowork(&["status"]).exits(0).stdout.contains("todo"));
    assert!(sandbox.cowork(&["log"]).exits(0).stdout.contains("prd"));
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), before, "no empty commit");
    fs::remove_dir_all(sandbox.path(".git/store")).unwrap();
    sandbox.cowork(&["show", "prd"]).exits(5).says("git lfs pull");
}

#[test]
fn a_filter_that_encrypts_is_not_left_out_unasked() {
    let sandbox = Sandbox::new();
    encrypt(&sandbox);
    let before = sandbox.all_refs();
    let refused = sandbox.auto(&[]).exits(5);
    let refused = refused.says("the filter 'git-crypt'").says(".cowork/** -filter");
    refused.says("git config cowork.project.filters true");
    assert_eq!(sandbox.all_refs(), before);
    assert!(sandbox.server.requests().is_empty(), "nothing was paid");

    sandbox.git(&["config", "cowork.project.filters", "true"]);
    sandbox.auto(&[]).exits(0);
    assert!(sandbox.git(&["cat-file", "blob", PRD]).contains("GITCRYPT"));
    assert!(sandbox.artifact("prd.md").starts_with("# "));
    for command in ["show", "status", "log", "verify", "list", "diff"] {
        let outcome = sandbox.cowork(&[command]).exits(0);
        assert!(!outcome.stdout.contains("GITCRYPT"), "{command}: {}", outcome.stdout);
    }
    sandbox.cowork(&["revert", "todo", "--to", "plan", "--review", "auto"]).exits(0);
    sandbox.cowork(&["merge", "todo"]).exits(0);
    sandbox.assert_sound();

    // As in a clone that is locked.
    sandbox.git(&["config", "--remove-section", "filter.git-crypt"]);
    sandbox.cowork(&["show", "todo", "prd"]).exits(5).says("git-crypt unlock");
    let new = ["new", "-n", "two", "a second idea", "--review", "auto"];
    sandbox.cowork(&new).exits(5).says("git-crypt unlock");
    assert!(sandbox.git_fails(&["rev-parse", "-q", "--verify", "cowork/two"]));
}

#[test]
fn line_ends_that_git_would_refuse_are_not_those_of_documents() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.git(&["config", "core.safecrlf", "true"]);
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    assert!(!sandbox.artifact("prd.md").contains('\r'));
    sandbox.cowork(&["verify"]).exits(0);
}

/// Git merges no file that it takes for binary: it leaves one side, without markers.
#[test]
fn both_sides_of_an_encrypted_document_are_merged() {
    let sandbox = Sandbox::new();
    encrypt(&sandbox);
    sandbox.git(&["config", "cowork.project.filters", "true"]);
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let prd = ".cowork/sessions/todo/prd.md";
    sandbox.git(&["branch", "-q", "other"]);
    for (branch, from, to) in
        [("cowork/todo", "List todos", "Show todos"), ("other", "Add a todo", "Write a todo")]
    {
        sandbox.git(&["switch", "-q", branch]);
        let text = sandbox.read(prd).replace(&format!(" {from}\n"), &format!(" {to}\n"));
        sandbox.commit_file(prd, &text, to);
    }
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    assert!(sandbox.git_fails(&["merge", "other"]));
    sandbox.cowork(&["verify", "--fix"]);
    let merged = sandbox.read(prd);
    assert!(merged.contains("Show todos") && merged.contains("Write a todo"), "{merged}");
}

#[test]
fn of_several_filters_the_one_that_encrypts_decides() {
    let sandbox = Sandbox::new();
    store_elsewhere(&sandbox);
    encrypt_as(&sandbox, "*.json filter=lfs\ndesign.md filter=git-crypt\n");
    sandbox.auto(&[]).exits(5).says("the filter 'git-crypt' changes");
    assert!(sandbox.server.requests().is_empty(), "nothing was paid");
}

/// The attributes are on the session's branch only, and name only its own folder.
#[test]
fn an_encrypted_session_is_read_from_other_branches() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-q", "-c", "crypt"]);
    encrypt_as(&sandbox, ".cowork/sessions/todo/** filter=git-crypt\n");
    sandbox.git(&["config", "cowork.project.filters", "true"]);
    sandbox.auto(&[]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    for command in [&["verify", "todo"][..], &["status", "todo"], &["show", "todo", "prd"]] {
        sandbox.cowork(command).exits(0);
    }
    sandbox.cowork(&["merge", "todo"]).exits(0);
}

#[test]
fn a_filter_that_does_not_work_is_told_before_anything_is_made() {
    for (clean, why) in [("cat", "as it is"), ("base64", "cannot be told"), ("exit 1", "failed")] {
        let sandbox = Sandbox::new();
        filter(&sandbox, "own", "cat", "cat", ".cowork/** filter=own\n");
        sandbox.executable(&sandbox.root().join("filters/clean"), clean);
        sandbox.git(&["config", "cowork.project.filters", "true"]);
        sandbox.auto(&[]).exits(5).says("the filter 'own' does not work").says(why);
        assert!(sandbox.server.requests().is_empty(), "nothing was paid");
    }
}

#[test]
fn a_filter_that_comes_later_stops_the_next_run() {
    let sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    store_elsewhere(&sandbox);
    let before = sandbox.server.requests().len();
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(5);
    told.says("would commit a pointer").says(".cowork/** -filter");
    assert_eq!(sandbox.server.requests().len(), before, "nothing was paid");
    sandbox.write(".gitattributes", "*.md filter=lfs\n.cowork/** -filter\n");
    sandbox.commit_all("exempt");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
}

/// Attributes of a session from before they kept line ends.
#[test]
fn older_attributes_get_the_line_that_safecrlf_needs() {
    let sandbox = Sandbox::new();
    let old = "*.json linguist-generated\nknowledge.md merge=union\n";
    sandbox.commit_file(".cowork/.gitattributes", old, "attributes");
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.git(&["config", "core.safecrlf", "true"]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.read(".cowork/.gitattributes"), format!("* -text\n{old}"));
}

#[test]
fn a_filter_that_leaves_documents_as_they_are_is_no_obstacle() {
    let sandbox = Sandbox::new();
    filter(&sandbox, "own", "cat", "cat", "* filter=own\n");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert!(sandbox.git(&["show", PRD]).starts_with("# "));
}

/// The name is the clone's; the command that is shown is pasted into a shell.
#[test]
fn the_name_of_a_filter_cannot_end_the_command_in_a_hint() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitattributes", ".cowork/** filter=x;touch${IFS}made\n", "attributes");
    let told = sandbox.auto(&[]).exits(5);
    told.says("git config 'filter.x;touch${IFS}made.clean' COMMAND");
}
