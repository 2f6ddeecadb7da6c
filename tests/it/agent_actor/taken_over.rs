//! What a program has changed gets into the session's tree whole, or is named; and into no other tree.

use super::{CODING, ENDS, coding_by, has_left_nothing, install, noted, settle};
use crate::support::{Sandbox, todo};

#[test]
fn what_only_other_tools_ignore_is_taken_over_and_what_cannot_be_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write(".ignore", "lib/\n*.sh\n");
    sandbox.write("folder/a", "a\n");
    sandbox.write("folder/within/b", "b\n");
    sandbox.commit_all("files");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    sandbox.server.forget();
    settle(&sandbox, "agent = \"codex\"", "");
    let does = format!(
        r#"task_file
if [ $N = 1 ]; then
  printf x >"$(printf 'b\377d')"
  rm -r folder; echo now a file >folder
fi
{ENDS}"#
    );
    install(&sandbox, "codex", &does);
    let outcome = sandbox.cowork(&CODING).exits(0);
    let show = |path: &str| sandbox.git(&["show", &format!("cowork/todo:{path}")]);
    assert_eq!(sandbox.read("lib/store.sh"), todo::code_of("TASK-001"));
    assert_eq!(show("lib/store.sh").trim_end(), todo::code_of("TASK-001").trim_end());
    assert_eq!(show("folder").trim_end(), "now a file");
    let name = "b\u{fffd}d";
    let named = format!("- {name}: its name is not UTF-8");
    assert!(noted(&sandbox, "input.2").contains(&named), "{}", noted(&sandbox, "input.2"));
    outcome.says("was not copied: its name is not UTF-8");
    has_left_nothing(&sandbox);
}

#[test]
fn what_it_did_while_the_branch_was_switched_does_not_get_into_another_branch() {
    let mut sandbox = coding_by("");
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    let repo = sandbox.repo().display().to_string();
    let switches = format!("[ $N = 1 ] && git -C '{repo}' checkout -q main");
    install(&sandbox, "codex", &format!("task_file\n{switches}\n{ENDS}"));
    let outcome = sandbox.cowork(&CODING).exits(5);
    outcome.says("cannot copy the changes of Codex").says("cowork/todo");
    assert_eq!(sandbox.git(&["status", "--porcelain"]).trim(), "");
    assert!(!sandbox.exists("lib/store.sh"));
    sandbox.git(&["checkout", "-q", "cowork/todo"]);
    sandbox.cowork(&CODING).exits(0);
    assert_eq!(sandbox.read("lib/store.sh"), todo::code_of("TASK-001"));
    has_left_nothing(&sandbox);
}

#[test]
fn too_many_new_files_at_the_top_are_named_and_one_that_is_large_keeps_no_other_out() {
    let does = format!(
        r#"task_file
if [ $N = 1 ]; then seq -f top-%g 201 | xargs touch
elif [ $N = 2 ]; then seq -f top-%g 201 | xargs rm; echo note >NOTES.md; truncate -s 11M dump; fi
{ENDS}"#
    );
    let sandbox = coding_by(&does);
    sandbox.cowork(&CODING).exits(0);
    let told = noted(&sandbox, "input.2");
    assert!(told.contains("- ./: too big to be recorded (201 new files)"), "{told}");
    let told = noted(&sandbox, "input.3");
    assert!(told.contains("- dump: it is larger than 10 MiB"), "{told}");
    let tree = sandbox.git(&["ls-tree", "--name-only", "cowork/todo"]);
    assert!(tree.contains("NOTES.md") && !tree.contains("top-"), "{tree}");
    has_left_nothing(&sandbox);
}
