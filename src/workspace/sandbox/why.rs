//! Explains to the user why commands are confined at a weaker level, and the remedy.

use std::fmt::{Display, Formatter};
#[cfg(target_os = "linux")]
use std::io;
#[cfg(target_os = "linux")]
use std::path::Path;

/// Default in Ubuntu since 23.10: user namespaces can be created, but have no privileges.
#[cfg(target_os = "linux")]
const APPARMOR: (&str, &str) = (
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "kernel.apparmor_restrict_unprivileged_userns=0",
);
/// A setting of Debian's kernels.
#[cfg(target_os = "linux")]
const DEBIAN: (&str, &str) =
    ("/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone=1");

/// The cause, displayed on the first line, and the remedy, on the second.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) struct Why {
    pub(super) cause: String,
    pub(super) remedy: String,
}

impl Display for Why {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}", self.cause, self.remedy)
    }
}

impl Why {
    /// Parses the helper's error output.
    pub(super) fn told(text: &str) -> Self {
        let mut lines = text.trim().lines().map(|line| line.trim().to_owned());
        let cause = lines.next().unwrap_or_else(|| "the helper failed".to_owned());
        Self { cause, remedy: lines.next().unwrap_or_default() }
    }
}

#[cfg(target_os = "linux")]
impl Why {
    /// The tree is another user's: inside a user namespace, root has no special rights to it.
    pub(super) fn foreign_tree() -> Self {
        Self {
            cause: "the working tree does not belong to root".to_owned(),
            remedy: "Run git-cowork as the owner of the working tree".to_owned(),
        }
    }

    /// The kernel refuses to create a user namespace.
    pub(super) fn no_namespace(error: io::Error) -> Self {
        let number = error.raw_os_error();
        let (cause, remedy) = match number {
            Some(libc::ENOSPC) => (
                "this system's limit on user namespaces is reached".to_owned(),
                "To raise it: sudo sysctl user.max_user_namespaces=10000".to_owned(),
            ),
            Some(libc::EPERM | libc::EACCES) => (
                format!("this {} does not allow user namespaces", surroundings()),
                allow().unwrap_or_default(),
            ),
            Some(libc::EINVAL | libc::ENOSYS) => {
                ("this kernel does not support user namespaces".to_owned(), String::new())
            }
            _ => (format!("creating a user namespace failed: {error}"), String::new()),
        };
        Self { cause, remedy }
    }

    /// The kernel gives user namespaces no privileges.
    pub(super) fn powerless(what: &str, error: io::Error) -> Self {
        Self {
            cause: format!(
                "this {} gives user namespaces no privileges (writing {what}: {error})",
                surroundings()
            ),
            remedy: allow().unwrap_or_default(),
        }
    }
}

#[cfg(target_os = "linux")]
fn surroundings() -> &'static str {
    match is_container() {
        true => "container",
        false => "system",
    }
}

#[cfg(target_os = "linux")]
fn is_container() -> bool {
    ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists())
        || std::fs::read("/proc/1/environ")
            .is_ok_and(|env| env.split(|byte| *byte == 0).any(|set| set.starts_with(b"container=")))
}

/// Returns the setting that allows user namespaces, if it can be determined.
#[cfg(target_os = "linux")]
fn allow() -> Option<String> {
    let is = |file: &str, value: &str| {
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == value)
    };
    if is(APPARMOR.0, "1") {
        Some(format!("To allow them: sudo sysctl {}", APPARMOR.1))
    } else if is(DEBIAN.0, "0") {
        Some(format!("To allow them: sudo sysctl {}", DEBIAN.1))
    } else if is_container() {
        Some(
            "To allow them, start the container with a seccomp profile that has clone, unshare, \
             mount and pivot_root, such as docker run --security-opt seccomp=unconfined"
                .to_owned(),
        )
    } else {
        None
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_helper_are_parsed() {
        let why = Why::no_namespace(io::Error::from_raw_os_error(libc::ENOSPC));
        assert!(why.cause.contains("limit") && why.remedy.contains("sysctl"), "{why:?}");
        assert_eq!(Why::told(&format!("{why}\n")), why);
        assert_eq!(Why::told("oops\n"), Why { cause: "oops".into(), remedy: String::new() });
        assert_eq!(Why::told("").cause, "the helper failed");
    }
}
