//! Project files that instruct or configure coding agents, or have an editor start programs when the
//! folder is opened. They are read as data; a model may write one only if a task of the approved plan
//! names it. ARCHITECTURE.md lists them.

/// Names of such files in any folder.
const NAMES: [&str; 21] = [
    "AGENT.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "CRUSH.md",
    "GEMINI.md",
    "QWEN.md",
    "WARP.md",
    ".aider.conf.yml",
    ".augment-guidelines",
    ".crush.json",
    ".cursorrules",
    ".roomodes",
    ".rules",
    ".windsurfrules",
    ".goosehints",
    ".mcp.json",
    "crush.json",
    "opencode.json",
    "opencode.jsonc",
];
/// Folders that contain only such files, anywhere in the tree.
const FOLDERS: [&str; 24] = [
    ".agents",
    ".amazonq",
    ".augment",
    ".claude",
    ".clinerules",
    ".codex",
    ".continue",
    ".crush",
    ".cursor",
    ".devcontainer",
    ".factory",
    ".gemini",
    ".goose",
    ".junie",
    ".kilocode",
    ".kiro",
    ".opencode",
    ".openhands",
    ".qwen",
    ".roo",
    ".trae",
    ".vscode",
    ".windsurf",
    ".zed",
];
/// Files and folders at the top of the tree.
const AT_TOP: [&str; 7] = [
    ".github/agents",
    ".github/copilot-instructions.md",
    ".github/hooks",
    ".github/instructions",
    ".github/prompts",
    ".github/chatmodes",
    "CONTRIBUTING.md",
];
/// Files that agents run or read and that git often ignores, so that `git ls-files` does not list
/// them.
const ALSO_IGNORED: [&str; 5] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".gemini/settings.json",
];

/// True if a path, relative to the top of a tree, instructs or configures agents.
pub fn instructs_agents(path: &str) -> bool {
    let is = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    NAMES.iter().any(|entry| is(entry, name))
        || path.split('/').any(|part| FOLDERS.iter().any(|entry| is(entry, part)))
        || AT_TOP.iter().any(|entry| {
            let start = path.get(..entry.len()).is_some_and(|start| is(start, entry));
            start && matches!(path.as_bytes().get(entry.len()), None | Some(b'/'))
        })
}

/// Returns why a protected file needs a person's decision, as a clause to follow "because".
pub fn why_protected(path: &str) -> &'static str {
    match instructs_agents(path) {
        true => "it instructs agents and no task of the plan names it",
        false => "git itself acts on it",
    }
}

/// Returns the paths of such files at the top of a tree, whether or not git lists them.
pub(crate) fn at_top() -> impl Iterator<Item = &'static str> {
    let files = AT_TOP.into_iter().filter(|path| path.ends_with(".md"));
    NAMES.into_iter().chain(files).chain(ALSO_IGNORED)
}

#[cfg(test)]
mod tests {
    use super::{AT_TOP, FOLDERS, NAMES, instructs_agents};

    #[test]
    fn the_documents_list_them_all() {
        let documents = include_str!("../ARCHITECTURE.md");
        for name in NAMES.iter().chain(&FOLDERS).chain(&AT_TOP) {
            assert!(documents.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn files_that_instruct_agents_are_recognized_by_path() {
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
