//! Checks the repository: states that stop a session, hooks, and free disk space.

use std::path::Path;

use super::finding::Finding;
use crate::cli::context::Context;
use crate::git::{self, Git, Head};
use crate::shell_quote::quoted;

/// Warns if there is less free space than this: sessions that build code need it.
const LITTLE: u64 = 1 << 30;
/// With less free space than this, commits are likely to fail soon.
const TOO_LITTLE: u64 = 50 << 20;

/// Runs all checks of the repository.
pub(super) fn look(context: &Context, git: &Git) -> Vec<Finding> {
    let mut findings = match state(context, git) {
        Ok(findings) => findings,
        Err(error) => vec![Finding::of_error("repository", &error)],
    };
    findings.extend(match hooks(git) {
        Ok(findings) => findings,
        Err(error) => vec![Finding::of_error("hooks", &error)],
    });
    findings.extend(disk(git));
    findings
}

fn state(context: &Context, git: &Git) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if let Some(operation) = git::state::operation_in_progress(git)? {
        findings.push(Finding::problem("repository", operation.message()).fix(operation.abort()));
    }
    for (lock, age) in git::locks::stale(git, &[]) {
        let path = lock.display().to_string();
        let text = format!("{path} is {age} old, and no process is known to hold it");
        findings.push(Finding::problem("repository", text).fix(format!("rm {}", quoted(&path))));
    }
    if let Ok(refs) = context.refs() {
        if let Err(error) = git::refs::refuse_symbolic(git, &refs.own_roots()) {
            findings.push(Finding::of_error("repository", &error));
        }
        let prefix = context.config()?.project.branch_prefix.clone();
        if git::refs::branch_exists(git, &prefix)? {
            let text = format!("a branch named '{prefix}' prevents branches named '{prefix}/…'");
            findings.push(
                Finding::problem("repository", text)
                    .fix(format!("git branch -m {prefix} old-{prefix}")),
            );
        }
    }
    if git::state::sparse_excludes(git, ".cowork/sessions/x/session.json")? {
        findings.push(
            Finding::problem("repository", ".cowork is outside this sparse checkout")
                .fix("git sparse-checkout add .cowork"),
        );
    }
    if git.common_dir().join("shallow").exists() {
        let text = "this is a shallow clone: history that sessions are read from may be missing";
        findings.push(Finding::warning("repository", text).fix("git fetch --unshallow"));
    }
    if findings.is_empty() {
        let at = match git.head()? {
            Head::Branch { name, .. } => format!("on branch {}", name.short()),
            Head::Unborn { branch } => format!("on branch {}, without a commit", branch.short()),
            Head::Detached { oid } => format!("HEAD is detached at {}", short(oid.as_str())),
        };
        findings.push(Finding::ok("repository", format!("{}, {at}", git.top().display())));
    }
    Ok(findings)
}

fn short(oid: &str) -> &str {
    oid.get(..7).unwrap_or(oid)
}

fn hooks(git: &Git) -> anyhow::Result<Vec<Finding>> {
    let met = git::hooks::met(git)?;
    let run: Vec<&str> =
        met.iter().filter(|hook| hook.not_executable.is_none()).map(|hook| hook.name).collect();
    let off = met.iter().filter_map(|hook| hook.not_executable.as_ref());
    let mut findings: Vec<Finding> = off
        .map(|path| {
            let path = path.display().to_string();
            Finding::warning("hooks", format!("{path} is not run: it is not executable"))
                .fix(format!("chmod +x {}", quoted(&path)))
        })
        .collect();
    let ours = match git::hooks::are_installed(git)? {
        true => "",
        false => "; git cowork init --hooks installs those that protect sessions",
    };
    let text = match run.as_slice() {
        [] => format!("none{ours}"),
        run => format!("git also runs these for sessions: {}{ours}", run.join(", ")),
    };
    findings.push(Finding::ok("hooks", text));
    Ok(findings)
}

/// The working tree and the state directory may be on different disks.
fn disk(git: &Git) -> Vec<Finding> {
    let writes = tempfile::tempfile_in(git.common_dir());
    if let Err(error) = writes {
        let folder = git.common_dir().display().to_string();
        let finding = Finding::problem("disk", format!("{folder} cannot be written: {error}"));
        return vec![finding.fix(format!("ls -ld {}", quoted(&folder)))];
    }
    let places = [("working tree", git.top()), ("git directory", git.common_dir())];
    let room: Vec<(&str, &Path, u64)> =
        places.into_iter().filter_map(|(name, path)| Some((name, path, free(path)?))).collect();
    let least = room.iter().min_by_key(|(_, _, free)| *free);
    let Some((name, path, free)) = least else { return Vec::new() };
    let text = format!("{} free for the {name}", gigabytes(*free));
    let fix = format!("du -sh {}", quoted(&path.display().to_string()));
    vec![match *free {
        ..TOO_LITTLE => Finding::problem("disk", text).fix(fix),
        TOO_LITTLE..LITTLE => Finding::warning("disk", text).fix(fix),
        _ => Finding::ok("disk", text),
    }]
}

/// Bytes that the user can still write there.
#[cfg(unix)]
fn free(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

#[cfg(not(unix))]
fn free(_path: &Path) -> Option<u64> {
    None
}

fn gigabytes(bytes: u64) -> String {
    const MB: u64 = 1_000_000;
    match bytes / MB {
        mb @ 0..1000 => format!("{mb} MB"),
        mb => format!("{}.{} GB", mb / 1000, mb % 1000 / 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_has_units_people_use() {
        assert_eq!(gigabytes(49_999_999), "49 MB");
        assert_eq!(gigabytes(1_550_000_000), "1.5 GB");
        assert_eq!(gigabytes(212_000_000_000), "212.0 GB");
    }
}
