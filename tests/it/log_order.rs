//! The log of a session that went back and forth: every commit behind the ones it stands on,
//! whatever the clock says, and every line a sentence.

use std::collections::BTreeMap;

use crate::support::Sandbox;

/// Everything that moves a session, with all of git's dates in one second.
fn back_and_forth() -> Sandbox {
    let mut sandbox = Sandbox::new();
    for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        sandbox.set_env(name, "2031-01-02T03:04:05Z");
    }
    sandbox.auto(&["--stop-after", "design"]).exits(0);
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    let goto = ["resume", "--review", "auto", "--stop-after", "plan"];
    sandbox.cowork(&goto).exits(0);
    sandbox.cowork(&[&goto[..], &["--goto-stage", "design"]].concat()).exits(0);
    sandbox.cowork(&["restore", "todo", "1"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    sandbox.cowork(&["review", "--abort"]).exits(0);
    sandbox.cowork(&["undo"]).exits(0);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["delete", "todo", "--yes"]).exits(0);
    sandbox.cowork(&["undo"]).exits(0);
    sandbox
}

#[test]
fn every_commit_comes_behind_those_it_stands_on() {
    let sandbox = back_and_forth();
    let lines = sandbox.cowork(&["log", "todo", "--json"]).exits(0).json_lines();
    let commits: Vec<&str> = lines.iter().filter_map(|line| line["commit"].as_str()).collect();
    let place: BTreeMap<&str, usize> =
        commits.iter().enumerate().map(|(at, commit)| (*commit, at)).collect();
    assert_eq!(place.len(), commits.len(), "a commit is told twice");
    assert!(commits.len() > 25, "{}", commits.len());
    for (commit, at) in &place {
        let below = sandbox.git(&["rev-list", commit]);
        for other in below.lines().skip(1) {
            assert!(place.get(other).is_none_or(|other| other < at), "{other} after {commit}");
        }
    }
    let back = lines.iter().filter(|line| line["event"] == "went_back");
    for line in back {
        assert!(line["from"].is_string() && line["to"].is_string(), "{line}");
    }
}

#[test]
fn every_line_reads_well() {
    let sandbox = back_and_forth();
    let shown = sandbox.cowork(&["log", "todo"]).exits(0).stdout;
    let verbose = sandbox.cowork(&["log", "todo", "-v"]).exits(0).stdout;
    for broken in [" ,", " to ,", "  ,", "from  ", "by \n", ": \n", "()", "· \n", "· ·"] {
        assert!(!shown.contains(broken), "{broken:?} in\n{shown}");
        assert!(!verbose.contains(broken), "{broken:?} in\n{verbose}");
    }
    for whole in [
        "attempt 1 left behind: back to prd  ",
        "attempt 2 left behind: back to design  ",
        "attempt 4 left behind: plan aborted  ",
        "attempt 6 left behind: deleted  ",
    ] {
        assert!(shown.contains(whole), "{whole:?} not in\n{shown}");
    }
    for whole in [
        "from coding to design, by Ana Example\n",
        "while at plan, by Ana Example\n",
        "after completion, by Ana Example\n",
    ] {
        assert!(verbose.contains(whole), "{whole:?} not in\n{verbose}");
    }
}
