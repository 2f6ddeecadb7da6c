//! Files of a project that tell coding agents how to work, or configure them. They are read as data;
//! no model writes them unless a task of the approved plan names the very file.

/// Names of such files, in any folder.
const NAMES: [&str; 11] = [
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".goosehints",
    ".mcp.json",
    "opencode.json",
    "opencode.jsonc",
];
/// Folders that hold nothing else, in any folder.
const FOLDERS: [&str; 9] = [
    ".agents",
    ".claude",
    ".clinerules",
    ".codex",
    ".cursor",
    ".gemini",
    ".opencode",
    ".roo",
    ".windsurf",
];
/// Files and folders from the top of the tree.
const AT_TOP: [&str; 5] = [
    ".github/copilot-instructions.md",
    ".github/instructions",
    ".github/prompts",
    ".github/chatmodes",
    "CONTRIBUTING.md",
];
/// What agents run or read that git often ignores, so that no look at git's list finds it.
const ALSO_IGNORED: [&str; 5] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".gemini/settings.json",
];

/// Whether a path, relative to the top of a tree, tells agents how to work or configures them.
pub fn instructs_agents(path: &str) -> bool {
    let is = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    NAMES.iter().any(|known| is(known, name))
        || path.split('/').any(|part| FOLDERS.iter().any(|known| is(known, part)))
        || AT_TOP.iter().any(|known| {
            let start = path.get(..known.len()).is_some_and(|start| is(start, known));
            start && matches!(path.as_bytes().get(known.len()), None | Some(b'/'))
        })
}

/// Why a person decides about a protected file, after its name and "because".
pub fn why_protected(path: &str) -> &'static str {
    match instructs_agents(path) {
        true => "it instructs agents and no task of the plan names it",
        false => "git itself acts on it",
    }
}

/// Such files at the top of a tree, whether or not git lists them.
pub(crate) fn at_top() -> impl Iterator<Item = &'static str> {
    let files = AT_TOP.into_iter().filter(|path| path.ends_with(".md"));
    NAMES.into_iter().chain(files).chain(ALSO_IGNORED)
}

/// The pathspecs by which git lists those it tracks.
pub(crate) fn pathspecs() -> impl Iterator<Item = String> {
    let named = NAMES.into_iter().map(|name| format!(":(top,glob,icase)**/{name}"));
    let folders = FOLDERS.into_iter().map(|folder| format!(":(top,glob,icase)**/{folder}/**"));
    let at_top = AT_TOP.into_iter().map(|path| format!(":(top,icase){path}"));
    named.chain(folders).chain(at_top)
}

#[cfg(test)]
mod tests {
    use super::instructs_agents;

    #[test]
    fn what_instructs_agents_is_known_by_its_path() {
        for path in [
            "AGENTS.md",
            "lib/agents.md",
            "CLAUDE.md",
            ".claude/settings.json",
            ".claude",
            "web/.cursor/rules/a.mdc",
            ".cursorrules",
            ".github/copilot-instructions.md",
            ".github/instructions/a.md",
            "CONTRIBUTING.md",
            "opencode.json",
        ] {
            assert!(instructs_agents(path), "{path}");
        }
        for path in [
            "README.md",
            "docs/CONTRIBUTING.md",
            "agents.md/x",
            "src/agents.rs",
            ".claudex/a",
            ".github/workflows/ci.yml",
            ".github/instructions2/a",
            "CONTRIBUTING.mdx",
        ] {
            assert!(!instructs_agents(path), "{path}");
        }
    }
}
