//! Eight sessions at once, each in a working tree of its own.

use super::{Belongings, scatter};
use crate::support::Sandbox;

const SESSIONS: usize = 8;

#[test]
fn eight_sessions_in_eight_working_trees() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\n.env\nbuild/\n");
    for name in ["gone.txt", "kept.txt", "mode.sh", "moved.txt", "staged.txt"] {
        sandbox.write(name, &format!("{name}\n"));
    }
    sandbox.commit_all("other people's");
    scatter(&sandbox);
    let before = Belongings::of(&sandbox);
    let main = sandbox.git(&["rev-parse", "main"]);
    let run = |n: usize| {
        let (name, tree) = (format!("s{n}"), format!("-w=../tree{n}"));
        let new = ["new", "-n", &name, &tree, "a todo list", "--review", "auto"];
        sandbox.cowork(&new).exits(0);
    };
    std::thread::scope(|scope| {
        for n in 0..SESSIONS {
            scope.spawn(move || run(n));
        }
    });
    before.assert_kept(&sandbox, "eight sessions");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    for n in 0..SESSIONS {
        let name = format!("s{n}");
        let status = sandbox.cowork(&["status", &name, "--json"]).exits(0).json();
        assert_eq!(status["state"], "completed", "{name}");
        let tree = format!("../tree{n}");
        assert_eq!(sandbox.git(&["-C", &tree, "status", "--porcelain"]), "", "{name}");
        let files = sandbox.git(&["ls-tree", "-r", "--name-only", &format!("cowork/{name}")]);
        let others = files.lines().filter(|f| f.starts_with(".cowork/sessions/"));
        assert!(
            others.clone().all(|f| f.starts_with(&format!(".cowork/sessions/{name}/"))),
            "{files}"
        );
    }
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    assert!(sandbox.server.unexpected().is_empty());
}
