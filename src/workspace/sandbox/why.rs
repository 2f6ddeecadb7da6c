//! Why commands are not confined as well as they could be, in a person's words, and what helps.

use std::fmt::{Display, Formatter};
#[cfg(target_os = "linux")]
use std::io;
#[cfg(target_os = "linux")]
use std::path::Path;

/// On by default in Ubuntu since 23.10: namespaces are made, and have no rights.
#[cfg(target_os = "linux")]
const APPARMOR: (&str, &str) = (
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "kernel.apparmor_restrict_unprivileged_userns=0",
);
/// Of Debian's kernels.
#[cfg(target_os = "linux")]
const DEBIAN: (&str, &str) =
    ("/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone=1");

/// Says it in one line, and what helps in a second one.
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
    /// From what the helper said.
    pub(super) fn told(text: &str) -> Self {
        let mut lines = text.trim().lines().map(|line| line.trim().to_owned());
        let cause = lines.next().unwrap_or_else(|| "the helper failed".to_owned());
        Self { cause, remedy: lines.next().unwrap_or_default() }
    }
}

#[cfg(target_os = "linux")]
impl Why {
    /// In a namespace root is no more than the owner of its own files.
    pub(super) fn foreign_tree() -> Self {
        Self {
            cause: "the working tree belongs to another user than root".to_owned(),
            remedy: "Run this as the user it belongs to".to_owned(),
        }
    }

    /// The kernel makes no user namespace.
    pub(super) fn no_namespace(error: io::Error) -> Self {
        let number = error.raw_os_error();
        let (cause, remedy) = match number {
            Some(libc::ENOSPC) => (
                "this system's limit on user namespaces is reached".to_owned(),
                "To raise it: sudo sysctl user.max_user_namespaces=10000".to_owned(),
            ),
            Some(libc::EPERM | libc::EACCES) => (
                format!("this {} allows no user namespaces", surroundings()),
                allow().unwrap_or_default(),
            ),
            Some(libc::EINVAL | libc::ENOSYS) => {
                ("this kernel has no user namespaces".to_owned(), String::new())
            }
            _ => (format!("making a user namespace failed: {error}"), String::new()),
        };
        Self { cause, remedy }
    }

    /// It makes one without rights.
    pub(super) fn powerless(what: &str, error: io::Error) -> Self {
        Self {
            cause: format!(
                "this {} makes user namespaces without rights (writing {what}: {error})",
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

/// Which setting allows them, as far as that can be seen.
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
    fn what_the_helper_says_is_read_again() {
        let why = Why::no_namespace(io::Error::from_raw_os_error(libc::ENOSPC));
        assert!(why.cause.contains("limit") && why.remedy.contains("sysctl"), "{why:?}");
        assert_eq!(Why::told(&format!("{why}\n")), why);
        assert_eq!(Why::told("oops\n"), Why { cause: "oops".into(), remedy: String::new() });
        assert_eq!(Why::told("").cause, "the helper failed");
    }
}
