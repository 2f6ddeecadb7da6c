//! Whole sessions in other languages: German, and Chinese, where no word is an ASCII letter. Headings,
//! titles, criteria and labels are theirs; ids and codes stay.

use serde_json::{Value, json};

use crate::support::todo::{DESIGN, IDEA, PRD, plan};
use crate::support::{Reply, Sandbox, at};

/// Words of the happy path, and what stands for them.
type Words = &'static [(&'static str, &'static str)];

const GERMAN: Words = &[
    ("# Product requirements", "# Anforderungen"),
    ("## Requirements", "## Was gebraucht wird"),
    ("## Features", "## Fähigkeiten"),
    ("## Later", "## Später"),
    ("Nothing is put off.", "Nichts wird verschoben."),
    ("`high` `functional`", "**Priorität:** `high`, **Art:** `functional`"),
    ("A user can: ", "Man kann: "),
    ("Add a todo", "Aufgabe hinzufügen"),
    ("List todos", "Aufgaben auflisten – größte zuerst"),
    ("Tick a todo off", "Aufgabe abhaken"),
    ("Reading and ticking", "Lesen und Abhaken"),
    ("Adding", "Hinzufügen"),
    ("Keep todos in a file", "Aufgaben in einer Datei halten"),
    (" works\n", " klappt, „auch mit Umlauten“\n"),
];

const CHINESE: Words = &[
    ("# Product requirements", "# 产品需求"),
    ("## Requirements", "## 需求"),
    ("## Features", "## 功能"),
    ("## Later", "## 以后"),
    ("Nothing is put off.", "没有推迟的内容。"),
    ("`high` `functional`", "**优先级：** `high` **类别：** `functional`"),
    ("A user can: ", "用户可以："),
    ("Add a todo", "添加待办事项"),
    ("List todos", "列出待办事项"),
    ("Tick a todo off", "勾选待办事项"),
    ("Reading and ticking", "阅读和勾选"),
    ("Adding", "添加"),
    ("Keep todos in a file", "把待办事项保存在文件中"),
    (" works\n", "可以使用\n"),
];

fn said(text: &str, words: Words) -> String {
    words.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The word for one of the happy path.
fn word(from: &str, words: Words) -> &'static str {
    words.iter().find(|(english, _)| *english == from).unwrap().1
}

#[test]
fn a_session_speaks_german_or_chinese_from_its_idea_to_its_merge() {
    let cases = [("eine Aufgabenliste fürs Terminal", GERMAN), ("终端待办事项列表", CHINESE)];
    for (idea, words) in cases {
        let sandbox = Sandbox::new();
        for (stage, tool, text) in [
            ("idea", "save_idea", IDEA),
            ("prd", "save_prd_doc", PRD),
            ("design", "save_design_doc", DESIGN),
            ("plan", "save_plan_doc", &plan()),
        ] {
            let draft = Reply::call(tool, json!({"content": said(text, words)}));
            sandbox.server.on(at(stage, "actor").turn(1), draft);
        }
        sandbox.cowork(&["new", "-n", "todo", idea, "--review", "auto"]).exits(0);
        let titles = |file: &str, list: &str, field: &str| -> Vec<String> {
            let all: Value = serde_json::from_str(&sandbox.artifact(file)).unwrap();
            let all = all[list].as_array().unwrap().iter();
            all.map(|one| one[field].as_str().unwrap().to_owned()).collect()
        };
        let title = |text| word(text, words).to_owned();
        let requirements = ["Add a todo", "List todos", "Tick a todo off"].map(title);
        assert_eq!(titles("requirements.json", "requirements", "title"), requirements);
        let features = ["Adding", "Reading and ticking"].map(title);
        assert_eq!(titles("feature_list.json", "features", "name"), features);
        let first = &titles("implementation_plan.json", "tasks", "title")[0];
        assert_eq!(*first, title("Keep todos in a file"));
        let task = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
        let subject = sandbox.git(&["log", "-1", "--format=%s", &task]);
        assert_eq!(subject, format!("coding: TASK-001 {first}"));
        let report = sandbox.artifact("delivery_report.md");
        assert!(report.contains(&requirements[0]), "{report}");
        sandbox.cowork(&["verify"]).exits(0);

        // A person's edit in the language is read as any other.
        let path = ".cowork/sessions/todo/prd.md";
        let new = format!("{} ✓", requirements[2]);
        sandbox.write(path, &sandbox.read(path).replace(&requirements[2], &new));
        sandbox.git(&["commit", "-q", "-a", "-m", "by hand"]);
        sandbox.cowork(&["verify", "--fix"]);
        assert_eq!(titles("requirements.json", "requirements", "title")[2], new);
        assert!(sandbox.cowork(&["show", "requirements"]).exits(0).stdout.contains(&new));
        sandbox.cowork(&["merge"]).exits(0);
        sandbox.assert_sound();
    }
}
