//! Tools of the project that a session meets: programs in hooks that read every file, conventions
//! of commit messages, and tools that read every tag. Each is known by its configuration file at
//! the top of the tree.

use std::path::Path;

/// What of a session concerns a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// It checks or formats files in hooks; the line that excludes `.cowork`.
    Files(&'static str),
    /// It refuses commit messages.
    Messages,
    /// It takes every tag for a version.
    Tags,
}

/// A tool that this project uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectTool {
    /// Its name.
    pub name: &'static str,
    /// What of a session concerns it.
    pub concern: Concern,
    /// Its configuration files, each with a word that one shared by tools has to contain.
    files: &'static [(&'static str, &'static str)],
}

const TOOLS: &[ProjectTool] = &[
    ProjectTool {
        name: "pre-commit",
        concern: Concern::Files(r"add a line to .pre-commit-config.yaml: exclude: ^\.cowork/"),
        files: &[(".pre-commit-config.yaml", "")],
    },
    ProjectTool {
        name: "prettier",
        concern: Concern::Files("to exclude the folder: echo .cowork/ >>.prettierignore"),
        files: &[
            (".prettierrc", ""),
            (".prettierrc.json", ""),
            (".prettierrc.yaml", ""),
            (".prettierrc.yml", ""),
            ("prettier.config.js", ""),
            ("prettier.config.mjs", ""),
            ("package.json", "\"prettier\""),
        ],
    },
    ProjectTool {
        name: "lefthook",
        concern: Concern::Files("add to its command in lefthook.yml: exclude: '.cowork/**'"),
        files: &[("lefthook.yml", ""), ("lefthook.yaml", ""), (".lefthook.yml", "")],
    },
    ProjectTool {
        name: "commitlint",
        concern: Concern::Messages,
        files: &[
            (".commitlintrc", ""),
            (".commitlintrc.json", ""),
            (".commitlintrc.yaml", ""),
            (".commitlintrc.yml", ""),
            (".commitlintrc.js", ""),
            (".commitlintrc.cjs", ""),
            (".commitlintrc.mjs", ""),
            (".commitlintrc.ts", ""),
            ("commitlint.config.js", ""),
            ("commitlint.config.cjs", ""),
            ("commitlint.config.mjs", ""),
            ("commitlint.config.ts", ""),
            ("package.json", "\"commitlint\""),
        ],
    },
    ProjectTool { name: "gitlint", concern: Concern::Messages, files: &[(".gitlint", "")] },
    ProjectTool {
        name: "commitizen",
        concern: Concern::Messages,
        files: &[
            (".cz.toml", ""),
            ("cz.toml", ""),
            (".cz.json", ""),
            (".cz.yaml", ""),
            ("pyproject.toml", "[tool.commitizen]"),
        ],
    },
    ProjectTool {
        name: "setuptools-scm",
        concern: Concern::Tags,
        files: &[
            ("pyproject.toml", "setuptools_scm"),
            ("pyproject.toml", "setuptools-scm"),
            ("setup.py", "use_scm_version"),
            ("setup.cfg", "setuptools_scm"),
        ],
    },
    ProjectTool {
        name: "hatch-vcs",
        concern: Concern::Tags,
        files: &[("pyproject.toml", "hatch-vcs")],
    },
    ProjectTool {
        name: "release-it",
        concern: Concern::Tags,
        files: &[
            (".release-it.json", ""),
            (".release-it.js", ""),
            (".release-it.cjs", ""),
            (".release-it.ts", ""),
            (".release-it.yaml", ""),
            (".release-it.yml", ""),
            (".release-it.toml", ""),
            ("package.json", "\"release-it\""),
        ],
    },
    ProjectTool {
        name: "git-cliff",
        concern: Concern::Tags,
        files: &[
            ("cliff.toml", ""),
            (".cliff.toml", ""),
            ("Cargo.toml", "metadata.git-cliff"),
            ("pyproject.toml", "[tool.git-cliff"),
        ],
    },
];

impl ProjectTool {
    /// True if its configuration keeps it from `.cowork` already.
    pub fn excludes_sessions(&self, top: &Path) -> bool {
        // Prettier has a file of its own for what it leaves alone.
        let ignore_file = (self.name == "prettier").then_some(".prettierignore");
        let files = self.files.iter().map(|(file, _)| *file).chain(ignore_file);
        let mut texts = files.filter_map(|file| std::fs::read_to_string(top.join(file)).ok());
        texts.any(|text| text.contains(".cowork"))
    }
}

/// The tools that a project uses, by the files at the top of its working tree.
pub fn detect(top: &Path) -> impl Iterator<Item = &'static ProjectTool> {
    TOOLS.iter().filter(move |tool| {
        let mut files = tool.files.iter();
        files.any(|(file, word)| match word.is_empty() {
            true => top.join(file).is_file(),
            false => std::fs::read_to_string(top.join(file)).is_ok_and(|text| text.contains(word)),
        })
    })
}

/// The tool of a project that takes every tag for a version, if it has one.
pub fn reads_tags(top: &Path) -> Option<&'static str> {
    detect(top).find(|tool| tool.concern == Concern::Tags).map(|tool| tool.name)
}

/// The words with which conventional commits begin a subject that changes nothing for users.
const TYPES: [&str; 6] = ["chore", "build", "ci", "feat", "task", "misc"];

/// The subject template that fits a project's convention of commit messages, if it has one.
pub fn subject(top: &Path) -> Option<String> {
    let tool = detect(top).find(|tool| tool.concern == Concern::Messages)?;
    let text: String = tool
        .files
        .iter()
        .filter_map(|(file, _)| std::fs::read_to_string(top.join(file)).ok())
        .collect();
    if tool.name == "gitlint" && !text.contains("conventional") {
        return None;
    }
    // A project may have types of its own.
    let own_types = text.split_once("type-enum").map(|(_, types)| types);
    let fits = |word: &&&str| own_types.is_none_or(|types| types.contains(**word));
    let word = TYPES.iter().find(fits).unwrap_or(&TYPES[0]);
    Some(format!("{word}({{stage}}): {{summary_lower}}"))
}

/// How to keep the checks of a project's hooks from the files of sessions.
pub fn exclusion(top: &Path) -> &'static str {
    let mut lines = detect(top).filter_map(|tool| match tool.concern {
        Concern::Files(line) => Some(line),
        _ => None,
    });
    lines.next().unwrap_or("make the hook skip what is below .cowork/")
}
