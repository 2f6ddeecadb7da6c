//! Each rule a mechanical check applies is in the prompt of the role it judges: a model cannot keep a
//! rule that nobody has told it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A finding's code, and who is told of the rule with which words.
type Rule = (&'static str, &'static [(&'static str, &'static str)]);

const UNFINISHED: &str = "Refused while a task is not completed, a file to create is missing, a \
                          completed task has changed no file, or nothing outside `.cowork` is \
                          changed.";
const NO_KEYS: &[(&str, &str)] = &[("actor", "Never write a key, password or token")];
const GIVEN: &[(&str, &str)] = &[("actor", "Ids are given in that order")];
const CODING: &[(&str, &str)] = &[("coding-actor", UNFINISHED), ("coding-correct", UNFINISHED)];
const PROGRAM_RUNS: &str = "Leave the project's own commands (build, tests, lint) to the program: it \
                            runs them when your turn ends, and what fails newly is yours to fix.";
const OWN_COMMANDS: &[(&str, &str)] = &[
    ("coding-actor", PROGRAM_RUNS),
    ("coding-correct", PROGRAM_RUNS),
    ("coding-change", PROGRAM_RUNS),
];
const TASK: &[(&str, &str)] = &[(
    "plan-actor",
    "title, description, feature, component and criteria are never empty, and every id named must \
     exist",
)];
const BOTH_SIDES: &[(&str, &str)] = &[
    ("prd-actor", "Other text mentions only ids that exist."),
    ("design-actor", "Other text mentions only ids that exist."),
    ("plan-actor", "Other text mentions only ids that exist."),
];

const RULES: &[Rule] = &[
    // Any stage.
    ("named-test", &[("prd-actor", "a criterion ends with the one that shows it: `file::name`")]),
    (
        "missing-document",
        &[
            ("idea", "Call save_idea once"),
            ("prd-actor", "save_prd_doc with the whole document"),
            ("design-actor", "save_design_doc with the whole document"),
            ("plan-actor", "save_plan_doc with the whole document"),
            ("triage", "Call save_change_request once"),
            ("check", "Call save_check_report once"),
            ("delivery", "Call save_delivery_report once"),
        ],
    ),
    ("unreadable-file", &[("actor", "Only tool calls change anything.")]),
    ("secret", NO_KEYS),
    ("bad-id", GIVEN),
    ("duplicate-id", GIVEN),
    ("unknown-id-in-document", BOTH_SIDES),
    ("id-not-in-document", BOTH_SIDES),
    // Idea.
    ("idea-title", &[("idea", "The document has a title and exactly these sections")]),
    ("idea-sections", &[("idea", "The document has a title and exactly these sections")]),
    ("trivial-document", &[("idea", "200 to 400 words."), ("check", "one row per id")]),
    // Prd.
    ("requirement-count", &[("prd-actor", "{{ requirements }} requirements")]),
    ("feature-count", &[("prd-actor", "{{ features }} features")]),
    ("incomplete-requirement", &[("prd-actor", "Description and criteria are never empty")]),
    ("incomplete-feature", &[("prd-actor", "Description and criteria are never empty")]),
    ("untraced-feature", &[("prd-actor", "Every feature names a requirement")]),
    ("unknown-requirement", &[("prd-actor", "which must exist")]),
    ("unplanned-feature", &[("prd-actor", "If the scope has no `plan`, add no feature")]),
    // Design.
    ("component-count", &[("design-actor", "{{ components }} components")]),
    ("incomplete-component", &[("design-actor", "then the name")]),
    ("unknown-feature", &[("design-actor", "which must exist")]),
    (
        "uncovered-feature",
        &[
            ("design-actor", "Every feature is in at least one component"),
            ("plan-actor", "Every feature gets at least one task."),
            ("plan-alone", "every feature has a task"),
        ],
    ),
    // Plan.
    ("task-count", &[("plan-actor", "{{ tasks }} tasks")]),
    ("incomplete-task", TASK),
    ("untraced-task", TASK),
    ("unknown-dependency", TASK),
    ("task-without-files", &[("plan-actor", "Every task names at least one file")]),
    (
        "unknown-file",
        &[("plan-actor", "paths that exist in the repository, or that an earlier task creates")],
    ),
    ("ignored-file", &[("plan-actor", "new ones, which git must not ignore")]),
    ("code-of-removed", &[("plan-actor", "The code of what this change removes must go")]),
    ("dependency-cycle", &[("plan-actor", "no circles")]),
    ("sub-task-too-deep", &[("plan-actor", "at most {{ levels }} levels")]),
    ("sub-task-without-parent", &[("plan-actor", "`### TASK-001.1 Title` below their task")]),
    // Coding.
    ("open-task", CODING),
    ("missing-file", CODING),
    ("task-without-change", CODING),
    (
        "nothing-changed",
        &[
            ("coding-actor", UNFINISHED),
            ("coding-correct", UNFINISHED),
            ("coding-change", "refused while the session changes no file outside `.cowork`"),
            ("triage", "a change that changes no file outside `.cowork` cannot be delivered"),
            ("delivery", "A session that changes no file outside `.cowork` is not delivered."),
        ],
    ),
    ("feature-status", &[("coding-correct", "features follow their tasks")]),
    ("build-fails", OWN_COMMANDS),
    ("tests-fail", OWN_COMMANDS),
    ("lint-fails", OWN_COMMANDS),
    (
        "unwanted-tests",
        &[
            ("plan-actor", "{{ tests_rule }}"),
            ("coding-actor", "{{ tests_rule }}"),
            ("coding-correct", "{{ tests_rule }}"),
            ("coding-change", "{{ tests_rule }}"),
        ],
    ),
    // Triage.
    ("incomplete-change", &[("triage", "`summary` and `acceptance_criteria` may not be empty.")]),
    ("empty-scope", &[("triage", "At least one is true")]),
    ("unknown-component", &[("triage", "ids and paths that exist")]),
    // Delivery.
    ("delivery-title", &[("delivery", "at most {{ longest_title }} characters")]),
    ("delivery-summary", &[("delivery", "`## Summary`")]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// The text literal a piece of source begins with, white space aside.
fn literal(source: &str) -> Option<&str> {
    source.trim_start().strip_prefix('"')?.split('"').next()
}

/// The codes of all findings in the program. One that is not written at its finding is an argument or
/// a constant in the same file or in `artifact/check`, where nothing else is spelt like one.
fn codes() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let mut codes = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let begins = ["Finding::wrong(", "Finding::missing("];
        for begin in begins {
            codes.extend(code.split(begin).skip(1).filter_map(literal).map(str::to_owned));
        }
        let finds = begins.iter().any(|begin| code.contains(begin));
        if finds || file.starts_with(root().join("src/artifact/check")) {
            let words = code.split('"').skip(1).step_by(2);
            let kebab = |word: &&str| {
                word.contains('-')
                    && word.split('-').all(|part| !part.is_empty())
                    && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
            };
            codes.extend(words.filter(kebab).map(str::to_owned));
        }
    }
    codes
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_rule_is_in_the_prompt_of_the_role_it_judges() {
    let known: BTreeSet<String> = RULES.iter().map(|(code, _)| (*code).to_owned()).collect();
    let codes = codes();
    let untold: Vec<_> = codes.difference(&known).collect();
    assert!(untold.is_empty(), "rules no prompt is known to tell: {untold:?}");
    let gone: Vec<_> = known.difference(&codes).collect();
    assert!(gone.is_empty(), "rules nobody applies: {gone:?}");
    for (code, told) in RULES {
        assert!(!told.is_empty(), "{code}");
        for (prompt, words) in *told {
            let file = root().join("prompts").join(format!("{prompt}.md"));
            let text = flat(&fs::read_to_string(file).unwrap());
            assert!(text.contains(words), "{prompt}.md does not tell of {code}: {words}");
        }
    }
}
