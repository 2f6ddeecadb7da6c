//! What a workspace is made of.

use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;

use crate::activity::Watch;
use crate::private::PrivateFiles;
use crate::secret::Secrets;
use crate::workspace::sandbox::Confinement;
use crate::workspace::tracking::Tracking;

/// What a workspace is made of.
#[derive(Clone, Default)]
pub struct WorkspaceOptions {
    /// The top level of the working tree.
    pub root: PathBuf,
    /// Where the journal is kept, outside the tree; created when missing.
    pub state_dir: PathBuf,
    /// Directories below the root, such as `.cowork/sessions/todo`, that hold the session's own
    /// artifacts: readable with the file tools, written only through [`SessionFiles`].
    pub artifact_dirs: Vec<String>,
    /// Seconds a command may take.
    pub timeout_s: u64,
    /// Seconds a caller may ask for.
    pub timeout_max_s: u64,
    /// Put before `sh -c COMMAND`, which is not confined then.
    pub command_prefix: Vec<String>,
    /// How commands are confined.
    pub confinement: Confinement,
    /// Keys that never reach a command's environment nor leave in its output.
    pub secrets: Secrets,
    /// What nobody but the person sees.
    pub private: PrivateFiles,
    /// The environment of the program, of which commands get a safe part.
    pub env: Vec<(OsString, OsString)>,
    /// Told which command runs and what it prints, and which files tools change.
    pub watch: Option<Watch>,
    /// Tells what commands changed; without it, that is not found out.
    pub tracking: Option<Rc<dyn Tracking>>,
}
