//! How the helper is started: the words before a command, and whether confinement works here.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Context as _;

use super::confinement::{Confinement, Level};
use super::place::Place;
use super::seatbelt;
use super::spec::{HELPER_WORD, Spec};
use super::why::Why;

/// Longer specifications are passed in a file: Linux limits an argument to 128 KiB, and a tree may
/// contain a thousand repositories.
const ARGUMENT_MAX: usize = 64 * 1024;

/// Returns the words before a confined command.
pub(super) fn before(helper: &Path, place: &Place, spec: &Spec) -> anyhow::Result<Vec<OsString>> {
    if cfg!(target_os = "macos") {
        let profile = seatbelt::profile(spec);
        return Ok(vec!["/usr/bin/sandbox-exec".into(), "-p".into(), profile.into()]);
    }
    let mut spec = serde_json::to_string(spec)?;
    if spec.len() > ARGUMENT_MAX {
        let file = place.keep_spec(&spec).context("writing the sandbox specification")?;
        spec = format!("@{}", file.display());
    }
    Ok(vec![helper.into(), HELPER_WORD.into(), spec.into()])
}

/// Runs `true` in the sandbox; returns why it cannot be confined, or `None` on success.
pub(super) fn try_out(
    helper: &Path,
    place: &Place,
    spec: &Spec,
    root: &Path,
) -> anyhow::Result<Option<Why>> {
    let words = before(helper, place, spec)?;
    let tried = std::process::Command::new(&words[0])
        .args(&words[1..])
        .arg("true")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(root)
        .stdin(std::process::Stdio::null())
        .output()
        .context("starting the sandbox helper")?;
    if tried.status.success() {
        return Ok(None);
    }
    Ok(Some(Why::told(&String::from_utf8_lossy(&tried.stderr))))
}

/// Adds the folders of other trees to `spec`, if the kernel and the file system support overlays.
pub(super) fn with_overlays(
    helper: &Path,
    place: &Place,
    spec: Spec,
    wanted: &Confinement,
) -> anyhow::Result<Spec> {
    if wanted.overlays.is_empty() || spec.level != Level::Namespaces {
        return Ok(spec);
    }
    let with = Spec { overlays: wanted.overlays.clone(), ..spec.clone() };
    match try_out(helper, place, &with, &spec.root)? {
        None => Ok(with),
        Some(why) => {
            tracing::info!("no overlays: {}", why.cause);
            Ok(spec)
        }
    }
}
