//! macOS: a profile for `sandbox-exec`, since macOS has neither namespaces nor Landlock. If several
//! rules match, the last one applies.
//!
//! The profile is generated and tested on all systems, but has never been run on a Mac. A profile
//! that the system rejects is detected before the first command, and then nothing counts as
//! confined.

use std::fmt::Write as _;
use std::path::Path;

use super::spec::Spec;

/// Devices that are safe to write.
const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/tty", "/dev/random", "/dev/dtracehelper"];

/// Returns the profile of a command.
pub(super) fn profile(spec: &Spec) -> String {
    let mut text = "(version 1)\n(allow default)\n(deny file-write*)\n".to_owned();
    let mut rule = |what: &str, filter: &str, path: &Path| {
        let _ = writeln!(text, "({what} ({filter} {}))", quoted(path));
    };
    for path in DEVICES {
        rule("allow file-write*", "literal", Path::new(path));
    }
    rule("allow file-write*", "subpath", Path::new("/dev/fd"));
    for path in std::iter::once(&spec.root).chain(&spec.writable) {
        rule("allow file-write*", "subpath", path);
        rule("deny file-write-unlink", "literal", path);
    }
    for path in &spec.sealed {
        rule("deny file-write*", "subpath", path);
        // Rules match paths, so folders that contain a sealed path must not be renamed.
        for above in path.ancestors().skip(1).take_while(|above| above.starts_with(&spec.root)) {
            rule("deny file-write-unlink", "literal", above);
        }
    }
    for path in &spec.closed {
        rule("deny file-read-data", "subpath", path);
    }
    let own = std::iter::once(&spec.root).chain(&spec.writable).chain(&spec.sealed);
    for path in own.chain(&spec.kept).filter(|_| !spec.closed.is_empty()) {
        rule("allow file-read-data", "subpath", path);
    }
    for path in &spec.hidden {
        rule("deny file-read* file-write* network-outbound", "subpath", path);
    }
    if !spec.network {
        text.push_str("(deny network*)\n");
    }
    // Other programs would act on behalf of the command, outside the sandbox.
    text.push_str("(deny signal)\n(allow signal (target same-sandbox))\n");
    text.push_str("(deny appleevent-send)\n(deny lsopen)\n(deny job-creation)\n");
    text
}

/// Returns a string literal of the profile language.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Level;

    fn spec(network: bool) -> Spec {
        let paths = |paths: &[&str]| paths.iter().map(Into::into).collect();
        Spec {
            level: Level::Seatbelt,
            root: "/r".into(),
            content: None,
            sealed: paths(&["/r/.git", "/r/a/b/.git", "/elsewhere/.git"]),
            writable: paths(&["/private/tmp/x"]),
            hidden: paths(&["/Users/ana/.ssh"]),
            covers: Vec::new(),
            closed: paths(&["/Users/ana"]),
            kept: paths(&["/Users/ana/.rustup"]),
            overlays: Vec::new(),
            shown: Vec::new(),
            users: None,
            network,
            doors: Vec::new(),
            inside: false,
        }
    }

    /// Evaluates the rules as the system does: the last matching one applies.
    fn allowed(profile: &str, operation: &str, path: &str) -> bool {
        let fits = |line: &&str| {
            let line = line.trim_start_matches("(allow ").trim_start_matches("(deny ");
            let (operations, filter) = line.split_once('(').unwrap_or((line, ""));
            let named = operations.trim_end_matches(')').split_whitespace().any(|named| {
                named == "default"
                    || named
                        .strip_suffix('*')
                        .map_or(named == operation, |start| operation.starts_with(start))
            });
            let of = filter.split('"').nth(1).unwrap_or_default();
            let place = match filter.split(' ').next() {
                Some("literal") => path == of,
                Some("subpath") => Path::new(path).starts_with(of),
                _ => filter.is_empty(),
            };
            named && place
        };
        let last = profile.lines().skip(1).filter(fits).last();
        last.is_some_and(|line| line.starts_with("(allow "))
    }

    #[test]
    fn only_the_tree_is_writable() {
        let profile = profile(&spec(false));
        let data = |path| allowed(&profile, "file-write-data", path);
        for path in ["/r/src/x", "/r/new", "/r/a/b/work", "/private/tmp/x/y", "/dev/null"] {
            assert!(data(path), "{path}");
        }
        for path in [
            "/r/.git/config",
            "/r/a/b/.git/hooks/x",
            "/r2/x",
            "/Users/ana/x",
            "/elsewhere/.git/HEAD",
            "/dev/disk0",
        ] {
            assert!(!data(path), "{path}");
        }
        let moved = |path| allowed(&profile, "file-write-unlink", path);
        for path in ["/r", "/r/.git", "/r/a", "/r/a/b", "/private/tmp/x"] {
            assert!(!moved(path), "{path}");
        }
        assert!(moved("/r/src") && moved("/r/a/b/work"));
    }

    #[test]
    fn keys_are_hidden_and_the_network_is_closed_by_default() {
        let closed = profile(&spec(false));
        assert!(allowed(&closed, "file-read-data", "/usr/bin/true"));
        assert!(!allowed(&closed, "file-read-data", "/Users/ana/.ssh/id"));
        assert!(!allowed(&closed, "file-read-data", "/Users/ana/notes"));
        assert!(allowed(&closed, "file-read-data", "/Users/ana/.rustup/x"));
        assert!(!allowed(&closed, "network-outbound", "/x"));
        let open = profile(&spec(true));
        assert!(allowed(&open, "network-outbound", "/x"));
        assert!(!allowed(&open, "network-outbound", "/Users/ana/.ssh/agent"));
    }

    #[test]
    fn a_path_cannot_break_out_of_its_string_literal() {
        let evil = Path::new("/r/\") (allow default) (\"\\");
        assert_eq!(quoted(evil), r#""/r/\") (allow default) (\"\\""#);
        let mut spec = spec(false);
        spec.root = evil.to_owned();
        let profile = profile(&spec);
        assert_eq!(profile.matches("\n(allow default)").count(), 1);
        let odd = Path::new("/r/a b (c) ; d #|é");
        assert_eq!(quoted(odd), "\"/r/a b (c) ; d #|é\"");
    }
}
