//! The user's browser, found as `git help --web` finds it.

use anyhow::Result;

use super::spawn::{Cmd, cannot_start};
use super::{Git, settings};

/// Opens an address: in the browser of `web.browser`, else in the desktop's own where there is one
/// (`has_desktop`), else in whatever `git web--browse` finds, a text browser at the terminal too.
/// Whether one was found.
///
/// # Errors
/// Git cannot be started, or its configuration cannot be read.
pub fn browse(git: &Git, address: &str, has_desktop: bool) -> Result<bool> {
    let configured = settings::get(git, "web.browser")?.is_some();
    if has_desktop && !configured {
        let desktop = git.read(["web--browse", "--browser=xdg-open", address]);
        if at_terminal(&desktop)? {
            return Ok(true);
        }
    }
    at_terminal(&git.read(["web--browse", address]))
}

/// Runs it where it may ask and show; whether it succeeded.
fn at_terminal(browser: &Cmd<'_>) -> Result<bool> {
    let status = browser.command().status().map_err(|error| cannot_start(&error))?;
    Ok(status.success())
}
