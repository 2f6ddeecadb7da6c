//! JavaScript and TypeScript, for Node: npm, pnpm and yarn; jest, vitest, mocha and `node --test`.

mod npm_lock;
mod one_test;

use std::path::Path;

use crate::languages::commands::{ProjectCommands, text};
use crate::languages::language::NodeRole::{self, Anonymous, Code, Type, Variable};
use crate::languages::language::{
    Imports, Language, NO_PATTERNS, PLAIN, Programs, RunnerOutput, Syntax, TestCode,
};
use crate::languages::manager::{Manager, ManifestFiles, USUAL};
use crate::languages::one_test::OneTest;

pub(super) static JAVASCRIPT: Language = Language {
    name: "node",
    also: &["javascript", "typescript", "nodejs"],
    syntaxes: &[
        Syntax {
            name: "javascript",
            extensions: &["js", "mjs", "cjs", "jsx"],
            shapes: &[
                ("function_declaration", Code),
                ("generator_function_declaration", Code),
                ("method_definition", Code),
                ("class_declaration", Type),
                ("variable_declarator", Variable),
                ("arrow_function", Anonymous),
                ("function_expression", Anonymous),
            ],
            bodies_by_brace: false,
        },
        Syntax {
            name: "typescript",
            extensions: &["ts", "mts", "cts"],
            shapes: TYPESCRIPT,
            bodies_by_brace: false,
        },
        Syntax { name: "tsx", extensions: &["tsx"], shapes: TYPESCRIPT, bodies_by_brace: false },
    ],
    manifests: &["package.json"],
    other_files: &["tsconfig.json"],
    imports: Imports {
        begins: &["import ", "export "],
        words: &["import", "from", "as", "export", "require"],
        folder_files: &["index", "main"],
        package_is_folder: false,
    },
    tests: Some(TestCode {
        head: r#"^\s*(?:await\s+)?(?:[xf]?(?:it|test|specify)|[xf]test)(?:\.\w+)*(?:\([^'"`]*\)|`[^`]*`)?\(\s*(?:'(?<name>[^']*)'|"(?<double>[^"]*)"|`(?<back>[^`]*)`)"#,
        group: r#"^\s*[xf]?(?:describe|context|suite)(?:\.\w+)*\(\s*['"`](?<name>[^'"`]*)['"`]"#,
        skip: r"^\s*x(?:it|test|describe|specify|context)\b|\b(?:it|test|describe|specify|context|suite)\.(?:skip|todo|fixme|failing|skipIf|concurrent\.skip)\b|\bskip:\s*(?:true|['\x22])|\b(?:t|this|ctx|context)\.skip\(",
        skip_all: r"\b(?:it|test|describe|specify|context|suite)\.only\b|^\s*f(?:it|describe)\(",
        assertion: r"\bexpect(?:\.\w+)?\s*\(|\bassert\b\s*[.(]|\.should\b|\bt\.(?:is|equal|deepEqual|ok|not|throws|true|false|same|like)\w*\(",
        comment: "//",
        ..NO_PATTERNS
    }),
    runners: RunnerOutput {
        failed: &[
            // jest and vitest: a file, or a test in a file
            r"^\s*FAIL\s+(?:\|[^|]*\| )?(?<name>\S+\.[cm]?[jt]sx?(?: > .*)?)(?: \([^)]*\))?$",
            // jest
            r"^\s+● (?<name>\S.*)$",
            // jest, mocha, vitest and node: one test
            r"^\s*[✕×✖✗] (?<name>\S.*)$",
            // mocha
            r"^\s+\d+\) (?<name>\S.*)$",
        ],
        // jest prints this heading before the output of a test.
        not_tests: &["Console"],
        reports: &[r"^\s*✖ (?<name>\S.*)$"],
        ends: &["^✔ ", "^ℹ "],
        ..PLAIN.runners
    },
    one_test: Some(OneTest {
        passed: one_test::PASSED,
        names: one_test::names,
        command: one_test::command,
    }),
    test_script: Some(("package.json", |text| script(&package(text)?, "test"))),
    commands,
    programs: Programs {
        run_tests: &["npm"],
        test_frameworks: &["jest", "vitest"],
        take_paths: &["eslint", "npx eslint"],
        fix: &[("eslint", "--fix"), ("npx eslint", "--fix")],
        ..PLAIN.programs
    },
    managers: &[
        Manager {
            name: "npm",
            locks: &["package-lock.json", "npm-shrinkwrap.json"],
            manifests: &["package.json"],
            not_beside: &["pnpm-lock.yaml", "yarn.lock"],
            without_lock: true,
            asks,
            is_installed: npm_lock::is_installed,
            complete: "npm ls --all >/dev/null",
            unreadable: &["EJSONPARSE"],
            // If a model's edit of the manifest made the lock file stale, npm install updates it.
            fetch: "{ npm ci --ignore-scripts --no-audit --no-fund || \
                    npm install --ignore-scripts --no-audit --no-fund; }",
            after: "npm rebuild",
            leaves: "node_modules",
            by_hand: |place, files| match npm_lock::is_current(place, files) {
                true => "npm ci".to_owned(),
                false => "npm install".to_owned(),
            },
            programs: PROGRAMS,
            ..USUAL
        },
        Manager {
            name: "pnpm",
            locks: &["pnpm-lock.yaml"],
            manifests: &["package.json"],
            asks,
            complete: "command -v pnpm >/dev/null || exit 127; \
                       cmp -s pnpm-lock.yaml node_modules/.pnpm/lock.yaml",
            fetch: "pnpm install --ignore-scripts --ignore-pnpmfile --prefer-frozen-lockfile",
            after: "pnpm rebuild",
            leaves: "node_modules",
            by_hand: |_, _| "pnpm install".to_owned(),
            programs: PROGRAMS,
            ..USUAL
        },
        Manager {
            name: "yarn",
            locks: &["yarn.lock"],
            manifests: &["package.json"],
            not_beside: &["pnpm-lock.yaml"],
            // While fetching, yarn 2 and later versions run plugins of the project.
            asks: |place, files| {
                let lock = files.get(&place.join("yarn.lock"));
                asks(place, files) && !lock.is_some_and(|text| text.contains("__metadata:"))
            },
            complete: "command -v yarn >/dev/null || exit 127; \
                       test -e node_modules/.yarn-integrity",
            fetch: "YARN_IGNORE_PATH=1 yarn install --ignore-scripts --non-interactive",
            leaves: "node_modules",
            by_hand: |_, _| "yarn install".to_owned(),
            programs: PROGRAMS,
            ..USUAL
        },
    ],
    foreign_folders: &["node_modules", "bower_components", "__snapshots__"],
    guidance: GUIDANCE,
    ..PLAIN
};

const TYPESCRIPT: &[(&str, NodeRole)] = &[
    ("function_declaration", Code),
    ("generator_function_declaration", Code),
    ("function_signature", Code),
    ("method_definition", Code),
    ("abstract_method_signature", Code),
    ("class_declaration", Type),
    ("abstract_class_declaration", Type),
    ("interface_declaration", Type),
    ("type_alias_declaration", Type),
    ("enum_declaration", Type),
    ("variable_declarator", Variable),
    ("arrow_function", Anonymous),
    ("function_expression", Anonymous),
];

/// Programs that need the project's packages.
const PROGRAMS: &[&str] =
    &["npm", "npx", "pnpm", "yarn", "node", "tsc", "eslint", "jest", "vitest", "mocha", "vite"];

/// Guidance for new JavaScript code.
const GUIDANCE: &str = "\
    JavaScript and TypeScript (Node):\n\n\
    - Layout: `package.json` with `\"type\": \"module\"`, sources in `src/`, scripts `test`, \
      `build`, `lint` where they exist. `.gitignore` has `node_modules/` and the build's output; \
      the lock file is committed.\n\
    - An existing project's language, module system and package manager stay (look for \
      `tsconfig.json` and the lock file). A new one is JavaScript, unless types are \
      asked for.\n\
    - Tests, where they are asked for: beside the existing ones; a new project uses \
      `node --test` with `*.test.js`.\n\
    - Errors: throw `Error` with a message, await every promise, set `process.exitCode` for a \
      user's mistake and print the message on stderr.\n\
    - Dependencies: `node:` modules first (fs, path, http, util). Name each package in the \
      design; do not add one just to save a few lines.\n\
    - `const`, plain functions and objects; no classes without state, no `any`.\n";

fn package(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text).ok()
}

fn script(package: &serde_json::Value, name: &str) -> Option<String> {
    // The script that `npm init` writes always fails.
    let script = package["scripts"][name].as_str();
    script.filter(|script| !script.contains("no test specified")).map(str::to_owned)
}

fn commands(root: &Path) -> Option<ProjectCommands> {
    let package = package(&text(root, "package.json")?)?;
    let command = |name: &str, command: &str| {
        script(&package, name).map_or(String::new(), |_| command.to_owned())
    };
    Some(ProjectCommands {
        test: command("test", "npm test"),
        build: command("build", "npm run build"),
        lint: command("lint", "npm run lint"),
    })
}

fn asks(place: &Path, files: &ManifestFiles) -> bool {
    files.iter().any(|(path, text)| {
        let Some(manifest) = package(text) else { return false };
        let names = |key: &str| manifest[key].as_object().is_some_and(|table| !table.is_empty());
        path.starts_with(place)
            && path.ends_with("package.json")
            && ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"]
                .into_iter()
                .any(names)
    })
}
