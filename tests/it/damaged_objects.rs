//! Loose objects whose files are broken: no command runs for ever, an error names the object and the
//! way out, and the other sessions are usable.

use std::fs;
use std::path::PathBuf;

use crate::support::Sandbox;

/// The options of `git init` for every format of a repository.
const FORMATS: [&[&str]; 4] = [
    &[],
    &["--object-format=sha256"],
    &["--ref-format=reftable"],
    &["--object-format=sha256", "--ref-format=reftable"],
];

/// Two sessions, all of whose objects are loose; `todo` is delivered.
fn two_sessions(format: &[&str]) -> Option<Sandbox> {
    let sandbox = Sandbox::in_format(format)?;
    sandbox.auto(&[]).exits(0);
    let new = ["new", "-b", "main", "-n", "other", "another list", "--review", "auto"];
    sandbox.cowork(&[&new[..], &["--stop-after", "idea"]].concat()).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    Some(sandbox)
}

/// The id of an object, and its file.
fn loose(sandbox: &Sandbox, object: &str) -> (String, PathBuf) {
    let id = sandbox.git(&["rev-parse", object]);
    let path = sandbox.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    (id, path)
}

/// Puts other bytes into a file that may be a link to that of another repository.
fn replace(path: &PathBuf, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

const READING: [&[&str]; 5] = [
    &["status", "todo"],
    &["log", "todo"],
    &["verify", "todo"],
    &["merge", "todo"],
    &["trace", "todo"],
];

#[test]
fn a_broken_object_is_named_and_the_other_session_is_usable() {
    for format in FORMATS {
        let Some(sandbox) = two_sessions(format) else { continue };
        for object in ["todo~3", "todo", "todo^{tree}", "todo:.cowork/sessions/todo/session.json"] {
            let (id, path) = loose(&sandbox, &format!("cowork/{object}"));
            let whole = fs::read(&path).unwrap();
            for bytes in [&whole[..whole.len() / 2], b"", b"garbage"] {
                replace(&path, bytes);
                let what = format!("{format:?} {object} of {} bytes", bytes.len());
                for args in READING {
                    let told = sandbox.cowork(args);
                    let err = &told.stderr;
                    assert_eq!(told.code, 5, "{what} {args:?}: {err}");
                    assert!(
                        err.contains(&id) && err.contains("git fsck"),
                        "{what} {args:?}: {err}"
                    );
                    assert!(err.contains("git fetch --refetch"), "{what} {args:?}: {err}");
                }
                let listed = sandbox.cowork(&["list", "--all"]).exits(0);
                let told = listed.stdout + &listed.stderr;
                assert!(told.contains("todo") && told.contains("other"), "{what}: {told}");
                let all = sandbox.cowork(&["verify", "--all"]).exits(1);
                assert!(all.stdout.contains("other: all is well"), "{what}: {}", all.stdout);
                assert!(all.stderr.contains(&id), "{what}: {}", all.stderr);
                for command in ["status", "log", "verify"] {
                    sandbox.cowork(&[command, "other"]).exits(0);
                }
            }
            replace(&path, &whole);
        }
        sandbox.cowork(&["verify", "--all"]).exits(0);
    }
}
