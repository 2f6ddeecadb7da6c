//! The content of a stage: its paths, the diff a reader is shown, the object ids an approval names,
//! and the gate about it that other terminals see (`git cowork watch`).

use crate::choice::Choice;
use crate::git::{self, DiffStyle, Oid};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::record::ApprovedContent;
use crate::session::{self, Asks, OpenGate};
use crate::stages::{Approves, StageSpec};

/// The folder of everything that is not the session's code.
const COWORK: &str = ".cowork/";

/// The commit on which a stage's work is based.
pub(crate) fn before_stage(run: &Run<'_>) -> Oid {
    let start = run.session.history.first();
    let entry = run.session.last_stage().map(|(_, entry)| entry).or(start);
    entry.map_or_else(|| run.session.tip.clone(), |entry| entry.commit.clone())
}

/// The commit that a draft is compared with. For adopted code that nobody has reviewed yet, it is
/// the commit from which the adopted branch was started.
pub(crate) fn shown_from(run: &Run<'_>, spec: &StageSpec) -> Oid {
    let is_new = spec.approves == Approves::Tree
        && run.session.file.is_adopted()
        && run.session.stage_entry(spec.stage).is_none();
    let start = is_new.then(|| session::start_of_code(run.env.git, &run.session)).flatten();
    start.unwrap_or_else(|| before_stage(run))
}

/// The diff between two commits or trees for a reader of this stage: the stage's documents, or the
/// code without `.cowork`.
pub(crate) fn shown_diff(
    run: &Run<'_>,
    spec: &StageSpec,
    from: &Oid,
    to: &Oid,
    style: DiffStyle,
) -> anyhow::Result<String> {
    shown_diff_in(run, spec, from, to, style, false)
}

/// Like [`shown_diff`], in git's colours if `color` is set.
pub(crate) fn shown_diff_in(
    run: &Run<'_>,
    spec: &StageSpec,
    from: &Oid,
    to: &Oid,
    style: DiffStyle,
    color: bool,
) -> anyhow::Result<String> {
    let git = run.env.git;
    let paths = shown_paths(run, spec, from, to)?;
    let is_all_code = || Ok::<_, anyhow::Error>(paths.len() == changed_code(run, from, to)?.len());
    if paths.is_empty() {
        // Without paths, git would show every file.
        Ok(String::new())
    } else if spec.approves == Approves::Tree && is_all_code()? {
        git::diff::text_outside(git, from, to, COWORK, style, color)
    } else {
        git::diff::text(git, from, to, &paths, style, color)
    }
}

/// The paths that a reader of this stage is shown of the diff between two commits or trees.
pub(crate) fn shown_paths(
    run: &Run<'_>,
    spec: &StageSpec,
    from: &Oid,
    to: &Oid,
) -> anyhow::Result<Vec<String>> {
    if spec.approves == Approves::Artifacts {
        return Ok(document_paths(run, spec));
    }
    let mut code = changed_code(run, from, to)?;
    let private = run.env.workspace.private();
    code.retain(|path| !private.has(path));
    Ok(code)
}

/// The paths of the code that differ between two commits or trees.
fn changed_code(run: &Run<'_>, from: &Oid, to: &Oid) -> anyhow::Result<Vec<String>> {
    let mut paths = git::paths::changed(run.env.git, from, to)?;
    paths.retain(|path| !path.starts_with(COWORK));
    Ok(paths)
}

/// The paths of the stage's documents.
pub(crate) fn document_paths(run: &Run<'_>, spec: &StageSpec) -> Vec<String> {
    let path = |artifact| run.path_of(artifact);
    spec.artifacts.iter().map(|artifact| path(*artifact)).collect()
}

/// Adds a person's edits of the session's own code to the draft, because a person is reviewing it
/// now; their other changes in the working tree stay out. Files that exist only in the draft are
/// the session's as well. Returns the paths.
pub(crate) fn take_persons_code(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: Option<&Oid>,
) -> anyhow::Result<Vec<String>> {
    if spec.approves != Approves::Tree {
        return Ok(Vec::new());
    }
    let mut own_paths = project_files::code_since_start(run, &run.session.tip)?;
    if let Some(draft) = draft {
        own_paths.extend(project_files::code_since_start(run, draft)?);
    }
    let journal = run.env.workspace.written().paths();
    let user_files = run.env.state.protected()?;
    // Files marked skip-worktree or assume-unchanged must stay out of commits.
    let entries = run.env.git.status()?.into_iter().filter(|entry| entry.hidden.is_none());
    let edits = entries.map(|entry| entry.path).filter(|path| {
        own_paths.contains(path)
            && !journal.contains(path)
            && !user_files.iter().any(|entry| entry.path == *path)
    });
    let edits: Vec<String> = edits.collect();
    run.env.workspace.written().adopt(&edits)?;
    for path in &edits {
        run.env.workspace.protection().allow(path);
    }
    Ok(edits)
}

/// The content of the draft in the working tree.
pub(crate) fn content_now(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<ApprovedContent> {
    content_at(run, spec, &run.tree()?)
}

/// The content that an approval of this stage names, in a commit or tree.
pub(crate) fn content_at(
    run: &Run<'_>,
    spec: &StageSpec,
    commit: &Oid,
) -> anyhow::Result<ApprovedContent> {
    match spec.approves {
        Approves::Tree => {
            let tree = git::snapshot::tree_of(run.env.git, commit.as_str())?;
            Ok(ApprovedContent::of_tree(tree.unwrap_or_else(|| commit.clone())))
        }
        Approves::Artifacts => {
            let files: Vec<(String, String)> = spec
                .artifacts
                .iter()
                .map(|artifact| {
                    let path = run.path_of(*artifact);
                    (artifact.file_name().to_owned(), path)
                })
                .collect();
            ApprovedContent::of_files(run.env.git, commit, &files)
        }
    }
}

/// A digest of the session's code in the approved content, if that is a tree.
pub(crate) fn code_digest(
    run: &Run<'_>,
    approved: &ApprovedContent,
) -> anyhow::Result<Option<String>> {
    let digest = |tree| session::code_digest(run.env.git, &run.session, tree);
    approved.tree().map(digest).transpose()
}

/// The stage's documents that exist, as paths in the working tree.
pub(crate) fn documents_on_disk(run: &Run<'_>, spec: &StageSpec) -> Vec<String> {
    if spec.approves == Approves::Tree {
        return Vec::new();
    }
    let paths = document_paths(run, spec).into_iter();
    paths.filter(|path| run.env.git.top().join(path).is_file()).collect()
}

/// Publishes that a gate about a draft is open_gate, with its choices and remarks.
pub(crate) fn open_gate(
    run: &Run<'_>,
    spec: &StageSpec,
    tree: &Oid,
    iteration: u32,
    (asks, remarks): (Asks, Vec<String>),
) -> anyhow::Result<()> {
    let from = shown_from(run, spec);
    let paths = shown_paths(run, spec, &from, tree)?;
    run.env.gates.open(|id, holder| OpenGate {
        id,
        holder,
        stage: spec.stage,
        iteration,
        tree: tree.clone(),
        from,
        paths,
        is_code: spec.approves == Approves::Tree,
        remarks,
        asks,
    });
    Ok(())
}

/// Like [`open_gate`], for a question that is not about a draft: it only has remarks.
pub(crate) fn open_menu(run: &Run<'_>, title: &str, keys: Vec<Choice>, remarks: Vec<String>) {
    let tip = &run.session.tip;
    run.env.gates.open(|id, holder| OpenGate {
        id,
        holder,
        stage: run.stage.get(),
        iteration: 0,
        tree: tip.clone(),
        from: tip.clone(),
        paths: Vec::new(),
        is_code: false,
        remarks,
        asks: Asks::Menu { title: title.to_owned(), keys },
    });
}
