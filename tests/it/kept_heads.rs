//! Caches in the state directory: the heads of sessions in repositories with many sessions, the
//! files that the commits of long sessions changed, and the documents found readable. The caches do
//! not change the output of commands.

use crate::support::Sandbox;
use crate::support::copied::Refs;
use crate::support::many::delivered;
use crate::support::sessions::Sessions;

/// Paths in the repository.
const HEADS: &str = ".git/cowork/heads";
const READABLE: &str = ".git/cowork/readable";
const CHANGES: &str = ".git/cowork/sessions/todo/changes";

/// Creates a repository with this number of sessions.
fn repository(sessions: usize) -> Sandbox {
    let mut made = Sessions::new();
    made.grow(sessions, Refs::Packed);
    made.sandbox
}

fn listed(sandbox: &Sandbox) -> [String; 2] {
    let lists: [&[&str]; 2] = [&["list"], &["list", "--json"]];
    lists.map(|list| sandbox.cowork(list).exits(0).stdout)
}

#[test]
fn with_few_sessions_none_are_kept() {
    let sandbox = repository(20);
    listed(&sandbox);
    assert!(!sandbox.path(HEADS).exists());
}

#[test]
fn what_is_kept_is_what_would_be_read_and_a_broken_file_is_made_again() {
    let sandbox = repository(300);
    let first = listed(&sandbox);
    let kept = sandbox.read(HEADS);
    assert_eq!(kept.lines().count(), 301);
    assert_eq!(listed(&sandbox), first);

    let half = &kept[..kept.len() / 2];
    let lines = kept.lines().map(|line| line[..line.len() - 9].to_owned()).collect::<Vec<_>>();
    let other = kept.replacen("heads 2", "heads 0", 1).replace("todo list", "something else");
    for broken in [half, &lines.join("\n"), &other, "", "nonsense\n"] {
        sandbox.write(HEADS, broken);
        assert_eq!(listed(&sandbox), first, "{broken:.80}");
    }
    assert_eq!(sandbox.read(HEADS).lines().count(), 301);

    // If a session's branch moves, the cached head of its old tip is not used.
    sandbox.git(&["branch", "-f", "cowork/session-1", "cowork/session-1~1"]);
    let [_, json] = listed(&sandbox);
    let before = first[1].lines().find(|line| line.contains(r#""session":"session-1""#)).unwrap();
    let now = json.lines().find(|line| line.contains(r#""session":"session-1""#)).unwrap();
    assert_ne!(before, now);
    std::fs::remove_file(sandbox.path(HEADS)).unwrap();
    assert_eq!(listed(&sandbox)[1], json);
}

#[test]
fn a_file_that_says_something_else_is_named_and_not_used_where_commits_are_replaced() {
    let sandbox = repository(300);
    let first = listed(&sandbox);
    sandbox.cowork(&["verify", "session-5"]).exits(0);
    let forged = sandbox.read(HEADS).replace("todo list for the terminal", "forged title");
    sandbox.write(HEADS, &forged);
    assert!(listed(&sandbox)[0].contains("forged title"), "it is not used");
    let told = sandbox.cowork(&["verify", "session-5"]).exits(1).stdout;
    assert!(told.contains("kept-head-differs") && told.contains("rm "), "{told}");

    let commit = sandbox.git(&["rev-parse", "cowork/session-7~1"]);
    sandbox.git(&["replace", "--graft", &commit]);
    assert!(!listed(&sandbox)[0].contains("forged title"), "it is used with replaced commits");
    sandbox.git(&["replace", "-d", &commit]);
    std::fs::remove_file(sandbox.path(HEADS)).unwrap();
    assert_eq!(listed(&sandbox), first);
}

#[test]
fn files_that_the_commits_of_a_long_session_changed_are_kept() {
    let sandbox = delivered(100);
    let log = || {
        let ways: [&[&str]; 3] =
            [&["log", "todo"], &["log", "todo", "-v"], &["log", "todo", "--json"]];
        ways.map(|log| sandbox.cowork(log).exits(0).stdout)
    };
    let first = log();
    let kept = sandbox.read(CHANGES);
    assert!(kept.lines().count() > 200, "{kept}");
    assert_eq!(log(), first);
    sandbox.cowork(&["verify", "todo"]).exits(0);

    let half = &kept[..kept.len() / 2];
    let other = kept.replacen("changes 1", "changes 0", 1).replace("\n1 0 ", "\n7 0 ");
    for broken in [half, kept.trim_end(), &other, "", "nonsense\n", "changes 1 git-cowork 9.9.9\n"]
    {
        sandbox.write(CHANGES, broken);
        assert_eq!(log(), first, "{broken:.80}");
    }
    assert_eq!(sandbox.read(CHANGES).lines().count(), kept.lines().count());

    let forged = kept.replacen("\n1 0 parts", "\n7 0 parts", 1);
    assert_ne!(forged, kept);
    sandbox.write(CHANGES, &forged);
    assert!(log()[0].contains(" +7"), "it is not used");
    let told = sandbox.cowork(&["verify", "todo"]).exits(1).stdout;
    assert!(told.contains("kept-changes-differ") && told.contains("rm "), "{told}");
    let commit = sandbox.git(&["rev-parse", "cowork/todo~1"]);
    sandbox.git(&["replace", "--graft", &commit, "cowork/todo~3"]);
    assert!(!log()[0].contains(" +7"), "it is used with replaced commits");
}

#[test]
fn what_could_not_be_read_is_not_kept() {
    let sandbox = delivered(100);
    sandbox.git(&["repack", "-adq"]);
    let packs = sandbox.path(".git/objects/pack");
    for pack in packs.read_dir().unwrap().flatten().map(|entry| entry.path()) {
        if pack.extension().is_some_and(|kind| kind == "pack") {
            let aside = sandbox.path("../aside.pack");
            std::fs::rename(&pack, &aside).unwrap();
            std::fs::remove_file(pack.with_extension("idx")).unwrap();
            let mut unpack = sandbox.command("git");
            unpack.args(["unpack-objects", "-q"]).stdin(std::fs::File::open(aside).unwrap());
            assert!(unpack.status().unwrap().success());
        }
    }
    let first = sandbox.cowork(&["log", "todo"]).exits(0).stdout;
    std::fs::remove_file(sandbox.path(CHANGES)).unwrap();

    // As in a partial clone, whose server cannot be reached.
    let blob = sandbox.git(&["rev-parse", "cowork/todo:parts/00/020-1.sh"]);
    let object = sandbox.path(&format!(".git/objects/{}/{}", &blob[..2], &blob[2..]));
    let aside = sandbox.path("../aside");
    std::fs::rename(&object, &aside).unwrap();
    let without = sandbox.cowork(&["log", "todo"]).exits(0).stdout;
    assert_ne!(without, first);
    assert!(sandbox.read(CHANGES).lines().count() > 100, "the others are kept");
    std::fs::rename(&aside, &object).unwrap();
    assert_eq!(sandbox.cowork(&["log", "todo"]).exits(0).stdout, first);
}

#[test]
fn a_short_session_has_no_kept_files() {
    let sandbox = delivered(10);
    sandbox.cowork(&["log", "todo"]).exits(0);
    assert!(!sandbox.path(CHANGES).exists());
}

#[test]
fn documents_that_were_found_readable_are_not_read_again() {
    let sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    sandbox.git(&["tag", "as-delivered"]);
    std::fs::remove_file(sandbox.path(READABLE)).unwrap();
    let prd = ".cowork/sessions/todo/prd.md";
    let broken = sandbox.read(prd).replacen("\n### REQ-001", "\n### REQ-002", 1);
    assert_ne!(broken, sandbox.read(prd));
    let warns = |sandbox: &Sandbox| {
        let told = sandbox.cowork(&["status"]).exits(0).stderr;
        assert_eq!(told, sandbox.cowork(&["log"]).exits(0).stderr);
        told.contains("correct it, then commit it")
    };
    assert!(!warns(&sandbox));
    let kept = sandbox.read(READABLE);
    assert_eq!(kept.lines().count(), 2, "{kept}");
    for other in ["", "nonsense\n", &kept.replace("readable 1", "readable 0"), &kept[..30]] {
        sandbox.write(READABLE, other);
        assert!(!warns(&sandbox));
        assert!(sandbox.read(READABLE).starts_with(&kept), "{other:?} is not written again");
    }

    sandbox.write(prd, &broken);
    sandbox.git(&["commit", "-qam", "A person breaks it"]);
    assert!(warns(&sandbox), "the tree is another one");
    sandbox.cowork(&["verify"]).exits(1);
    let tree = sandbox.git(&["rev-parse", "HEAD:.cowork/sessions/todo"]);
    sandbox.write(READABLE, &format!("{kept}{tree}\n"));
    assert!(!warns(&sandbox), "it is not used");
    let told = sandbox.cowork(&["verify"]).exits(1).stdout;
    assert!(told.contains("kept-answer-differs") && told.contains("rm "), "{told}");
    sandbox.git(&["replace", "as-delivered", "as-delivered~1"]);
    assert!(warns(&sandbox), "it is used with replaced objects");
}
