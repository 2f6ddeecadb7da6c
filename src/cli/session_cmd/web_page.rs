//! `git cowork show --web`: writes the page and opens it in a browser.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::approved::how_passed;
use crate::cli::session_cmd::find;
use crate::error::Error;
use crate::git;
use crate::replace_file::replace_file;
use crate::session::{SessionName, StateDir};
use crate::web::{self, PageSource};

/// File name of the page in the session's state directory.
const PAGE: &str = "session.html";

/// Writes the page of a session, prints its path and, at a terminal, opens it.
pub(crate) fn show(
    context: &Context,
    session: Option<&SessionName>,
    output: Option<&Path>,
) -> Answer {
    let git = context.git()?;
    let session = find::readable(context, session)?;
    find::warn_of_unreadable(context, &session)?;
    let name = session.name.clone();
    let status = find::status(context, session)?;
    let approvals = how_passed(git, context.config()?, &status.session)?;
    let secrets = context.secrets()?;
    let page =
        web::page(&PageSource { git, status: &status, passed: &approvals, secrets: &secrets })?;
    let path = match output {
        Some(path) if path == Path::new("-") => {
            context.print_bytes(&page)?;
            return Ok(0);
        }
        Some(path) => {
            std::fs::write(path, page).map_err(|error| not_written(path, &error))?;
            std::path::absolute(path).context("finding the path of the page")?
        }
        None => keep(&StateDir::open(&git.state_dir(), &name)?, &page)?,
    };
    let text = path.display().to_string();
    if context.global.json {
        let object = serde_json::json!({ "session": name.as_str(), "path": text });
        context.print(&format!("{object}\n"))?;
        return Ok(0);
    }
    context.print(&format!("{text}\n"))?;
    if output.is_none() && context.attended() && std::io::stdout().is_terminal() {
        open(context, &path)?;
    }
    Ok(0)
}

/// Writes the page to the session's state directory, where it cannot get into a commit. The next
/// page replaces it.
fn keep(state: &StateDir, page: &str) -> anyhow::Result<PathBuf> {
    let path = state.path().join(PAGE);
    replace_file(&path, page.as_bytes()).map_err(|error| not_written(&path, &error))?;
    Ok(path)
}

fn not_written(path: &Path, error: &std::io::Error) -> Error {
    Error::repository(format!("the page could not be written to {}: {error}", path.display()))
        .hint("write it somewhere else: git cowork show --web --output FILE")
}

/// Opens the page; prints a note if no browser is found.
fn open(context: &Context, path: &Path) -> anyhow::Result<()> {
    let set = |name: &&str| context.env.get(*name).is_some_and(|value| !value.is_empty());
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(set);
    if !git::browse::browse(context.git()?, &address(path), has_desktop)? {
        let text = "no browser was found; open that file in one, or name yours: \
                    git config --global web.browser NAME";
        context.note(text.to_owned());
    }
    Ok(())
}

/// The `file:` URL of a path.
fn address(path: &Path) -> String {
    let mut address = "file://".to_owned();
    let path = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    if !path.starts_with('/') {
        address.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b':' => address.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            byte => {
                // Writing to a string cannot fail.
                let _ = write!(address, "%{byte:02X}");
            }
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_escapes_what_shells_and_browsers_interpret() {
        let path = Path::new("/a b/it's#1?/ü.html");
        assert_eq!(address(path), "file:///a%20b/it%27s%231%3F/%C3%BC.html");
    }
}
