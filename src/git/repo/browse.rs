//! The user's browser, found in the same way as by `git help --web`.

use anyhow::Result;

use crate::git::Cmd;
use crate::git::environment::cannot_start;
use crate::git::{Git, settings};

/// Opens an address in the browser of `web.browser`; without that setting, in the desktop's own
/// browser if there is a desktop (`has_desktop`); otherwise in a browser found by `git
/// web--browse`, which may be a text browser in the terminal. Returns false if no browser could be
/// started.
///
/// # Errors
/// Git cannot be started, or its configuration cannot be read.
pub fn browse(git: &Git, address: &str, has_desktop: bool) -> Result<bool> {
    let has_setting = settings::get(git, "web.browser")?.is_some();
    if has_desktop && !has_setting {
        let desktop = git.read(["web--browse", "--browser=xdg-open", address]);
        if at_terminal(&desktop)? {
            return Ok(true);
        }
    }
    at_terminal(&git.read(["web--browse", address]))
}

/// Runs the browser with access to the terminal; returns true if it succeeded.
fn at_terminal(browser: &Cmd<'_>) -> Result<bool> {
    let status = browser.command().status().map_err(|error| cannot_start(&error))?;
    Ok(status.success())
}
