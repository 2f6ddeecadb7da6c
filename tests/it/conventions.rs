//! Tools of the project that a session meets: conventions of commit messages, and tools that take
//! every tag for a version. The hooks do what commitlint 20, gitlint 0.19 and commitizen 4 were
//! seen to do.

use std::fs;

use crate::support::Sandbox;

/// `config-conventional`: a known type, a subject that begins in lower case, no full stop, at most
/// 100 columns.
const COMMITLINT: &str = "\
    head -n 1 \"$1\" | grep -qE '^(build|chore|ci|docs|feat|fix|test)(\\([a-z-]+\\))?: [^A-Z]' || \
    { echo 'subject must not be sentence-case [subject-case]'; exit 1; }\n\
    head -n 1 \"$1\" | grep -q '[.]$' && { echo 'subject-full-stop'; exit 1; }\n\
    grep -qE '^.{101}' \"$1\" && { echo 'footer-max-line-length'; exit 1; }\n\
    exit 0";

/// Stock gitlint: its exit code is the number of violations.
const GITLINT: &str = "\
    head -n 1 \"$1\" | grep -qE '^.{73}' && { echo 'T1 title exceeds max length'; exit 1; }\n\
    head -n 1 \"$1\" | grep -q '[].?:!,;]$' && { echo 'T3 title has trailing punctuation'; exit 1; }\n\
    sed 1d \"$1\" | grep -qE '^.{81}' && { echo 'B1 line exceeds max length'; exit 1; }\n\
    sed 1d \"$1\" | grep -q . || { echo 'B6 body message is missing'; exit 2; }\n\
    exit 0";

fn merges(sandbox: &Sandbox) -> String {
    sandbox.cowork(&["merge", "todo"]).exits(0);
    sandbox.assert_sound();
    sandbox.git(&["log", "-1", "--format=%s", "main"])
}

#[test]
fn a_refused_convention_costs_nothing_and_the_named_template_passes() {
    let sandbox = Sandbox::new();
    sandbox.hook("commit-msg", COMMITLINT);
    let before = sandbox.all_refs();
    let set = "git config cowork.project.subject 'chore({stage}): {summary_lower}'";
    sandbox.auto(&[]).exits(5).says("subject-case").says(set);
    assert_eq!(sandbox.all_refs(), before);
    assert!(sandbox.server.requests().is_empty(), "nothing was paid");
    sandbox.git(&["config", "cowork.project.subject", "chore({stage}): {summary_lower}"]);
    sandbox.auto(&[]).exits(0);
    assert!(merges(&sandbox).starts_with("chore(merge): "));
}

#[test]
fn messages_fit_stock_gitlint() {
    let sandbox = Sandbox::new();
    sandbox.hook("commit-msg", GITLINT);
    sandbox.auto(&[]).exits(0);
    merges(&sandbox);
}

#[test]
fn a_convention_that_no_template_meets_ends_before_anything_is_made() {
    let sandbox = Sandbox::new();
    sandbox.hook("commit-msg", "grep -q JIRA- \"$1\" || { echo 'no ticket'; exit 1; }");
    let before = sandbox.all_refs();
    sandbox.auto(&[]).exits(5).says("no ticket").says("cowork.project.subject");
    assert_eq!(sandbox.all_refs(), before);
    assert!(sandbox.server.requests().is_empty());
    sandbox.hook("commit-msg", "grep -q ^Signed-off-by: \"$1\" || { echo 'DCO'; exit 1; }");
    sandbox.auto(&[]).exits(5).says("git config cowork.project.signoff true");
    sandbox.cowork(&["init"]).exits(0).says("signoff = true");
    assert!(sandbox.read(".cowork/config.toml").contains("\nsignoff = true\n"));
    fs::remove_dir_all(sandbox.path(".cowork")).unwrap();
    sandbox.git(&["config", "cowork.project.signoff", "true"]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
}

/// A change and an adopted branch meet the hooks like a new session.
#[test]
fn no_command_makes_anything_that_a_convention_refuses() {
    let sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    sandbox.git(&["switch", "-q", "-c", "feature", "main"]);
    sandbox.commit_file("lib/feature.sh", "true\n", "a feature");
    sandbox.hook("commit-msg", COMMITLINT);
    let (before, paid) = (sandbox.all_refs(), sandbox.server.requests().len());
    for command in [&["modify", "--project", "todo", "one more thing"][..], &["adopt", "feature"]] {
        sandbox.cowork(command).exits(5).says("cowork.project.subject");
    }
    assert_eq!(sandbox.all_refs(), before);
    assert_eq!(sandbox.server.requests().len(), paid, "nothing was paid");
}

#[test]
fn init_writes_the_template_of_the_projects_convention() {
    let sandbox = Sandbox::new();
    sandbox.write("commitlint.config.js", "rules: {'type-enum': [2, 'always', ['ci', 'feat']]}\n");
    sandbox.cowork(&["init"]).exits(0).says("ci({stage}): {summary_lower}");
    let listed = sandbox.cowork(&["config", "project.subject"]).exits(0);
    assert!(listed.stdout.contains("ci({stage}): {summary_lower}"), "{}", listed.stdout);
}

/// Prettier keeps JSON whose lists of plain values are on one line if they fit in 80 columns.
#[test]
fn json_is_written_as_prettier_writes_it() {
    let sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let text = sandbox.read(".cowork/sessions/todo/requirements.json");
    assert!(text.contains("\"acceptance_criteria\": [\"Add a todo works\"]"), "{text}");
    let short = |line: &&str| line.ends_with('[') && !line.contains("requirements");
    assert_eq!(text.lines().find(short), None);
}

#[test]
fn a_setting_that_stops_git_is_told_and_not_met_halfway() {
    let sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    sandbox.git(&["config", "blame.ignoreRevsFile", ".git-blame-ignore-revs"]);
    let told = sandbox.cowork(&["why", "lib/add.sh"]).exits(0).stdout;
    assert!(told.contains("TASK-002"), "{told}");
    sandbox.cowork(&["why", "lib/add.sh:1"]).exits(0).says("names .git-blame-ignore-revs, which");
    sandbox.git(&["config", "--unset", "blame.ignoreRevsFile"]);
    sandbox.git(&["config", "merge.verifySignatures", "true"]);
    let before = sandbox.all_refs();
    for args in [&["merge", "todo", "--dry-run"][..], &["merge", "todo"]] {
        sandbox.cowork(args).exits(5).says("git -c merge.verifySignatures=false cowork merge todo");
    }
    assert_eq!(sandbox.all_refs(), before);
    sandbox.cowork(&["merge", "todo", "--without-artifacts"]).exits(0);
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert!(!files.contains(".cowork"), "{files}");
}

#[test]
fn stages_have_labels_that_no_release_tool_reads() {
    let sandbox = Sandbox::new();
    let version = "[build-system]\nrequires = [\"setuptools-scm\"]\n";
    sandbox.commit_file("pyproject.toml", version, "a version from tags");
    sandbox.git(&["tag", "v1.0"]);
    sandbox.auto(&["--stop-after", "prd"]).exits(0).says("refs/cowork/stages/todo/prd");
    assert_eq!(sandbox.tags(), ["v1.0"]);
    assert!(sandbox.git(&["describe", "--tags"]).starts_with("v1.0-"));
    let labels = ["refs/cowork/stages/todo/idea", "refs/cowork/stages/todo/prd"];
    assert_eq!(sandbox.refs("refs/cowork/stages"), labels);
    sandbox.cowork(&["verify"]).exits(0);
    let shown = sandbox.cowork(&["status"]).exits(0);
    let told = &shown.stdout;
    sandbox.git(&["config", "cowork.project.tags", "true"]);
    let found = sandbox.cowork(&["verify"]).exits(1).stdout;
    assert!(found.contains("is labelled by refs/cowork/stages/todo/prd"), "{found}");
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    assert_eq!(sandbox.tags(), ["cowork/todo/idea", "cowork/todo/prd", "v1.0"]);
    assert!(sandbox.refs("refs/cowork/stages").is_empty());
    assert_eq!(&sandbox.cowork(&["status"]).exits(0).stdout, told, "read alike");
    sandbox.git(&["config", "cowork.project.tags", "auto"]);
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    assert_eq!(
        (sandbox.tags(), sandbox.refs("refs/cowork/stages")),
        (vec!["v1.0".to_owned()], labels.map(str::to_owned).to_vec())
    );
    sandbox.cowork(&["delete", "todo", "--yes"]).exits(0);
    assert!(sandbox.refs("refs/cowork/stages").is_empty());
}
