//! Checks the forge that pull requests go to, and the user's program for it.

use std::sync::mpsc::channel;
use std::time::Duration;

use super::finding::Finding;
use crate::cli::context::Context;
use crate::forge::{Address, Program, ProgramState};
use crate::git::{self, Git};

/// Timeout for the forge.
const LIMIT: Duration = Duration::from_secs(10);

/// Checks whether a pull request can be opened from here; empty if the remote is not on a forge.
pub(super) fn look(context: &Context, git: &Git) -> Vec<Finding> {
    let address = || {
        let head = git.head().ok()?;
        let branch = head.branch().map(git::RefName::short).unwrap_or_default().to_owned();
        let remote = git::remote::default_remote(git, &branch).ok()??;
        Address::of_remote(&git::remote::push_url(git, &remote).ok()?)
    };
    let Some(address) = address() else { return Vec::new() };
    let (host, top, env) = (address.host.clone(), git.top().to_owned(), context.env.clone());
    let (done, answer) = channel();
    std::thread::spawn(move || {
        // After the timeout, nobody receives the result.
        let _ = done.send(Program::ready(&address, &top, env.iter()));
    });
    let Ok(ready) = answer.recv_timeout(LIMIT) else {
        let text = format!("{host} did not answer within {} s", LIMIT.as_secs());
        return vec![Finding::warning("forge", text).fix("gh auth status")];
    };
    finding(&host, &ready).into_iter().collect()
}

fn finding(host: &str, ready: &[(&str, ProgramState)]) -> Option<Finding> {
    const BY_HAND: &str =
        "git cowork pr pushes the branch, and prints the URL to open the pull request";
    if let Some((name, _)) = ready.iter().find(|(_, ready)| *ready == ProgramState::Yes) {
        return Some(Finding::ok("forge", format!("{name} is signed in to {host}")));
    }
    if let Some((name, _)) = ready.iter().find(|(_, ready)| *ready == ProgramState::SignedOut) {
        let text = format!("{name} is not signed in to {host}: {BY_HAND}");
        let fix = format!("{name} auth login --hostname {host}");
        return Some(Finding::warning("forge", text).fix(fix));
    }
    let install = |name: &str| match name {
        "glab" => "https://gitlab.com/gitlab-org/cli",
        _ => "https://cli.github.com",
    };
    match ready {
        [] => Some(Finding::ok("forge", format!("{host}: {BY_HAND}"))),
        [(name, _)] => {
            let text = format!("{host}: {name} is not installed: {BY_HAND}");
            Some(Finding::warning("forge", text).fix(format!("install {name}: {}", install(name))))
        }
        // An unknown kind of host: perhaps neither of the two programs supports it.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn each_state_of_the_program_has_its_fix() {
        let of = |ready: &[(&str, ProgramState)]| {
            let finding = finding("git.example.org", ready)?;
            Some((finding.state, finding.json()["fixes"].clone()))
        };
        assert_eq!(of(&[("gh", ProgramState::Yes)]).unwrap().0, State::Ok);
        let (state, fixes) = of(&[("glab", ProgramState::SignedOut)]).unwrap();
        assert_eq!(state, State::Warning);
        assert_eq!(fixes, serde_json::json!(["glab auth login --hostname git.example.org"]));
        let (_, fixes) = of(&[("gh", ProgramState::Missing)]).unwrap();
        assert_eq!(fixes, serde_json::json!(["install gh: https://cli.github.com"]));
        assert_eq!(of(&[]).unwrap().0, State::Ok);
        assert!(of(&[("gh", ProgramState::Missing), ("glab", ProgramState::Missing)]).is_none());
        assert_eq!(
            of(&[("gh", ProgramState::Missing), ("glab", ProgramState::Yes)]).unwrap().0,
            State::Ok
        );
    }
}
