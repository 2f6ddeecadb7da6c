//! Options for opening a workspace.

use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;

use crate::activity::Watch;
use crate::private::PrivateFiles;
use crate::secret::Secrets;
use crate::workspace::sandbox::Confinement;
use crate::workspace::tracking::Tracking;

/// Options for opening a workspace.
#[derive(Clone, Default)]
pub struct WorkspaceOptions {
    /// The top level of the working tree.
    pub root: PathBuf,
    /// The directory of the journal, outside the tree; created if missing.
    pub state_dir: PathBuf,
    /// Directories below the root, such as `.cowork/sessions/todo`, with the session's artifacts:
    /// readable with the file tools, written only through [`SessionFiles`].
    pub artifact_dirs: Vec<String>,
    /// Default time limit of a command in seconds.
    pub timeout_s: u64,
    /// Largest time limit in seconds that a caller may request.
    pub timeout_max_s: u64,
    /// Words put before `sh -c COMMAND`; if set, the built-in sandbox is not used.
    pub command_prefix: Vec<String>,
    /// How commands are confined.
    pub confinement: Confinement,
    /// Keys that are removed from a command's environment and redacted in its output.
    pub secrets: Secrets,
    /// Files that only the user may see.
    pub private: PrivateFiles,
    /// The environment of git-cowork; commands get a safe subset.
    pub env: Vec<(OsString, OsString)>,
    /// Callback for the running command, its output, and the files that tools change.
    pub watch: Option<Watch>,
    /// Reports what commands changed; if `None`, changes by commands are not detected.
    pub tracking: Option<Rc<dyn Tracking>>,
}
