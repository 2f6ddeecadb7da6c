//! Only a person can change git control files.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::rc::Rc;

use super::*;
use crate::workspace::Tracking;
use crate::workspace::testing::{Tree, edit};
use crate::workspace::{RefusalKind, effects};

/// A repository with its hooks in `.githooks` and a configuration file in the tree.
struct Hooked(PathBuf);

impl Tracking for Hooked {
    fn uncommitted(&self) -> anyhow::Result<BTreeSet<String>> {
        let paths =
            ["src/.gitattributes", "src/made", "src/CLAUDE.md"].map(str::to_owned).into_iter();
        Ok(paths.filter(|path| self.0.join(path).exists()).collect())
    }

    fn is_uncommitted(&self, _: &str) -> anyhow::Result<bool> {
        Ok(false)
    }

    fn wrote(&self, _: &str) {}

    fn tracks_below(&self, _: &str) -> anyhow::Result<bool> {
        Ok(true)
    }

    fn tracks(&self, _: &str) -> anyhow::Result<bool> {
        Ok(false)
    }

    fn would_run(&self, git_dir: &std::path::Path) -> anyhow::Result<Option<String>> {
        Ok(git_dir.join("runs").exists().then(|| "runs".to_owned()))
    }

    fn ignored(&self) -> anyhow::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn submodules(&self) -> anyhow::Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    fn acted_on(&self) -> anyhow::Result<GitControlFiles> {
        let files = BTreeSet::from(["etc/gitconfig".to_owned()]);
        Ok(GitControlFiles { files, folders: BTreeSet::from([".githooks".to_owned()]) })
    }
}

fn tree() -> Tree {
    let tree = Tree::with(|options| options.tracking = Some(Rc::new(Hooked(options.root.clone()))));
    tree.put(".githooks/pre-commit", "theirs\n");
    tree.put("etc/gitconfig", "theirs\n");
    let hook = tree.root().join(".githooks/pre-commit");
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    tree
}

fn proposed(tree: &Tree) -> Vec<(String, Option<String>)> {
    let read = |copy: PathBuf| std::fs::read_to_string(copy).unwrap();
    let proposed = tree.workspace.proposals().all().into_iter();
    proposed.map(|proposed| (proposed.path, proposed.content.map(read))).collect()
}

#[test]
fn writes_to_git_control_files_are_refused_and_saved() {
    let tree = tree();
    for path in [
        ".gitattributes",
        "sub/.GitAttributes",
        ".gitmodules",
        ".lfsconfig",
        ".gitattributes.",
        "GITATT~1",
        ".githooks/pre-push",
        ".GITHOOKS/pre-push",
        "etc/gitconfig",
    ] {
        let refusal = tree.workspace.write(path, "mine\n").unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Protected, "{path}");
        assert!(refusal.message.contains("git itself acts on it"), "{refusal}");
    }
    assert!(tree.edit(".githooks/pre-commit", "theirs", "mine").is_err());
    assert!(tree.workspace.delete(".githooks/pre-commit").is_err());
    assert_eq!(tree.get(".githooks/pre-commit"), "theirs\n");
    assert_eq!(tree.get("etc/gitconfig"), "theirs\n");
    for gone in [".gitattributes", "sub", ".gitmodules", ".lfsconfig", ".githooks/pre-push"] {
        assert!(!tree.root().join(gone).exists(), "{gone}");
    }
    assert!(tree.workspace.written().paths().is_empty());
    tree.workspace.write(".githooks-2/x", "x").unwrap();
    tree.workspace.write(".gitignore", "x").unwrap();
}

#[test]
fn an_accepted_change_may_be_committed_with_exactly_these_bytes() {
    let tree = tree();
    assert!(tree.workspace.write(".gitattributes", "*.sh eol=lf\n").is_err());
    assert!(tree.edit(".githooks/pre-commit", "theirs", "mine").is_err());
    // The second edit applies to the result of the first.
    assert!(tree.edit(".githooks/pre-commit", "mine", "ours").is_err());
    let reopened = tree.reopened();
    let [attributes, hook] = &reopened.proposals().all()[..] else {
        panic!("{:?}", reopened.proposals().all())
    };
    reopened.proposals().accept(attributes).unwrap();
    reopened.proposals().accept(hook).unwrap();
    assert_eq!(tree.get(".gitattributes"), "*.sh eol=lf\n");
    assert_eq!(tree.get(".githooks/pre-commit"), "ours\n");
    let metadata = tree.root().join(".githooks/pre-commit").metadata().unwrap();
    assert_eq!(metadata.permissions().mode() & 0o111, 0o111);
    assert!(reopened.proposals().all().is_empty());
    assert!(reopened.written().is_as_written(".gitattributes"));
    assert!(tree.reopened().proposals().may_be_recorded(".gitattributes"));
    tree.put(".gitattributes", "* -diff\n");
    assert!(!tree.workspace.proposals().may_be_recorded(".gitattributes"));
    assert!(tree.workspace.proposals().may_be_recorded("src/main.rs"));
    assert!(tree.workspace.write(".gitmodules", "x").is_err());
    let [modules] = &tree.workspace.proposals().all()[..] else { panic!() };
    tree.workspace.proposals().decline(modules).unwrap();
    assert!(tree.reopened().proposals().all().is_empty());
}

#[test]
fn changes_by_commands_are_reverted_and_saved() {
    let tree = tree();
    let watch = effects::watch(&tree.workspace.tree).unwrap();
    tree.put(".githooks/pre-commit", "evil\n");
    tree.put(".githooks/pre-push", "evil\n");
    tree.put(".githooks/lib/helper", "evil\n");
    tree.put(".gitattributes", "* -diff\n");
    tree.put("src/.gitattributes", "* -diff\n");
    tree.put("src/made", "good\n");
    std::fs::remove_file(tree.root().join("etc/gitconfig")).unwrap();
    let effects = watch.end().unwrap();
    let mut expected = [
        ".gitattributes",
        ".githooks/lib/helper",
        ".githooks/pre-commit",
        ".githooks/pre-push",
        "etc/gitconfig",
        "src/.gitattributes",
    ];
    expected.sort_unstable();
    assert_eq!(effects.put_back, expected);
    assert_eq!(tree.get(".githooks/pre-commit"), "theirs\n");
    assert_eq!(tree.get("etc/gitconfig"), "theirs\n");
    let hook = tree.root().join(".githooks/pre-commit").metadata().unwrap();
    assert_eq!(hook.permissions().mode() & 0o777, 0o755);
    for gone in
        [".gitattributes", ".githooks/pre-push", ".githooks/lib/helper", "src/.gitattributes"]
    {
        assert!(!tree.root().join(gone).exists(), "{gone}");
    }
    assert_eq!(tree.workspace.written().paths(), ["src/made"]);
    let proposed = proposed(&tree);
    assert_eq!(proposed.len(), expected.len());
    assert!(proposed.contains(&("etc/gitconfig".to_owned(), None)));
    assert!(proposed.contains(&(".githooks/pre-commit".to_owned(), Some("evil\n".to_owned()))));
}

#[test]
fn hooks_made_by_mode_changes_and_links_are_reverted() {
    let tree = tree();
    tree.put(".githooks/pre-push.sample", "sample\n");
    tree.put("evil/pre-commit", "evil\n");
    let watch = effects::watch(&tree.workspace.tree).unwrap();
    let sample = tree.root().join(".githooks/pre-push.sample");
    std::fs::set_permissions(&sample, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(watch.end().unwrap().put_back, [".githooks/pre-push.sample"]);
    assert_eq!(sample.metadata().unwrap().permissions().mode() & 0o111, 0);

    let watch = effects::watch(&tree.workspace.tree).unwrap();
    std::fs::rename(tree.root().join(".githooks"), tree.root().join("aside")).unwrap();
    symlink("evil", tree.root().join(".githooks")).unwrap();
    watch.end().unwrap();
    assert!(tree.root().join(".githooks").symlink_metadata().unwrap().is_dir());
    assert_eq!(tree.get(".githooks/pre-commit"), "theirs\n");
    assert_eq!(tree.get("evil/pre-commit"), "evil\n");

    let watch = effects::watch(&tree.workspace.tree).unwrap();
    std::fs::remove_file(tree.root().join("etc/gitconfig")).unwrap();
    std::fs::create_dir_all(tree.root().join("etc/gitconfig/x")).unwrap();
    symlink("evil/pre-commit", tree.root().join(".gitattributes")).unwrap();
    watch.end().unwrap();
    assert_eq!(tree.get("etc/gitconfig"), "theirs\n");
    assert!(tree.root().join(".gitattributes").symlink_metadata().is_err());
}

#[test]
fn changes_of_a_killed_command_are_reverted_by_the_next_process() {
    let tree = tree();
    std::mem::forget(effects::watch(&tree.workspace.tree).unwrap());
    tree.put(".githooks/pre-commit", "evil\n");
    tree.reopened();
    assert_eq!(tree.get(".githooks/pre-commit"), "theirs\n");
    assert!(tree.workspace.edit(".githooks/pre-commit", &[edit("evil", "worse")]).is_err());
}

#[test]
fn agent_instructions_are_written_only_if_a_plan_names_them() {
    let tree = tree();
    tree.put("AGENTS.md", "theirs\n");
    let refusal = tree.edit("AGENTS.md", "theirs", "mine").unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Protected);
    assert!(refusal.message.contains("it instructs agents and no task of the plan names it"));
    for path in ["CLAUDE.md", "lib/.claude/settings.json", ".github/copilot-instructions.md"] {
        assert!(tree.workspace.write(path, "mine\n").is_err(), "{path}");
    }
    let watch = effects::watch(&tree.workspace.tree).unwrap();
    tree.put("AGENTS.md", "evil\n");
    tree.put("src/CLAUDE.md", "evil\n");
    tree.put(".claude/settings.local.json", "evil\n");
    let put_back = watch.end().unwrap().put_back;
    assert_eq!(put_back, [".claude/settings.local.json", "AGENTS.md", "src/CLAUDE.md"]);
    assert_eq!(tree.get("AGENTS.md"), "theirs\n");
    assert!(!tree.root().join("src/CLAUDE.md").exists());

    let planned = ["CLAUDE.md", "src/CLAUDE.md", "etc/gitconfig"].map(str::to_owned);
    tree.workspace.protection().plan(planned);
    tree.workspace.write("CLAUDE.md", "mine\n").unwrap();
    assert!(tree.workspace.proposals().may_be_recorded("CLAUDE.md"));
    assert!(tree.edit("AGENTS.md", "theirs", "mine").is_err());
    assert!(tree.workspace.write("etc/gitconfig", "mine\n").is_err());
    let watch = effects::watch(&tree.workspace.tree).unwrap();
    tree.put("src/CLAUDE.md", "made\n");
    assert!(watch.end().unwrap().put_back.is_empty());
    assert_eq!(tree.get("src/CLAUDE.md"), "made\n");
}
