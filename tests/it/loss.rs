//! Work is never lost: destructive situations, one after the other, each held to the same measure
//! by `belongings`: every byte a person wrote and every commit is there afterwards.
//!
//! What a run does with other people's work is in `yours` and `meanwhile`, a moved HEAD in `moved`,
//! ordinary runs that are killed in `kill`; here it is about going back, putting away, plain git in
//! between, and the shape of the repository.

mod belongings;
mod drafts;
mod formats;
mod going_back;
mod killed;
mod many;
mod models;
mod plain_git;
mod shapes;
mod worktrees;

use crate::support::Sandbox;
use belongings::Belongings;

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// Runs the program and fails when something that was there before is lost, or the repository is
/// broken.
#[track_caller]
fn keeps(sandbox: &Sandbox, args: &[&str], code: i32) -> String {
    let before = Belongings::of(sandbox);
    let outcome = sandbox.cowork(args);
    before.assert_kept(sandbox, &format!("{args:?}\n{}", outcome.stderr));
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    outcome.exits(code).stderr
}

/// A session with an approved design, and some files of other people.
fn designed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\n.env\nbuild/\n");
    for name in ["gone.txt", "kept.txt", "mode.sh", "moved.txt", "staged.txt", "src/deep/a.txt"] {
        sandbox.write(name, &format!("{name}\n"));
    }
    sandbox.commit_all("other people's");
    sandbox.auto(&["--stop-after", "design"]).exits(0);
    sandbox
}

/// Every kind of uncommitted work, in paths no session has to do with.
fn scatter(sandbox: &Sandbox) {
    sandbox.write("README.md", "# Changed, not staged\n");
    sandbox.write("staged.txt", "staged\n");
    sandbox.write("new.txt", "new and staged\n");
    sandbox.git(&["add", "staged.txt", "new.txt"]);
    sandbox.write("staged.txt", "staged, and changed again\n");
    sandbox.git(&["rm", "-q", "gone.txt"]);
    sandbox.git(&["mv", "moved.txt", "moved to.txt"]);
    sandbox.git(&["update-index", "--chmod=+x", "mode.sh"]);
    sandbox.write("untracked.txt", "untracked\n");
    sandbox.write("a folder/of mine/\n\u{fc}.txt", "untracked, below\n");
    sandbox.write(".env", "SECRET=ignored\n");
    sandbox.write("build/out/big.bin", "ignored, below\n");
    sandbox.write("noise.log", "ignored by pattern\n");
}
