//! The file tools: list, read, search, write, edit and delete within the working tree.
//!
//! The workspace decides what is allowed; these tools convert arguments to calls and refusals to
//! answers.

use super::plain::{Number, Plain, arguments, some};
use super::{Answer, Effect, Tool, documents};
use crate::stages;
use crate::workspace::Edit;

arguments! {
    ListFiles {
        path: Option<String>,
        /// such as *.rs or src/**/*.py
        pattern: Option<String>,
        recursive: Option<bool>,
        max_depth: Option<Number>,
    }

    ReadFile {
        path: String,
        /// first line
        offset: Option<Number>,
        /// lines
        limit: Option<Number>,
    }

    SearchFiles {
        pattern: String,
        path: Option<String>,
        /// such as *.rs
        glob: Option<String>,
    }

    WriteFile {
        path: String,
        content: String,
    }

    Passage {
        old_text: String,
        new_text: String,
        replace_all: Option<bool>,
    }

    EditFile {
        path: String,
        old_text: Option<String>,
        new_text: Option<String>,
        replace_all: Option<bool>,
        edits: Option<Vec<Passage>>,
    }

    DeleteFile {
        path: String,
    }
}

/// The tools of this file.
pub(super) static TOOLS: [&dyn Tool; 6] = [
    &Plain {
        name: "list_files",
        description: "List files, without hidden and ignored ones. Paths begin at the top of \
                      the project.",
        effect: Effect::Looks,
        run: |context, args: ListFiles| {
            let path = some(args.path.as_ref()).unwrap_or(".");
            let flat = args.recursive == Some(false);
            let depth = if flat { Some(1) } else { args.max_depth.map(|depth| depth.0) };
            Ok(Answer::ok(context.workspace.list(path, some(args.pattern.as_ref()), depth)?))
        },
    },
    &Plain {
        name: "read_file",
        description: "Read a text file or a part of it. The answer's first line says which lines \
                      follow.",
        effect: Effect::Looks,
        run: |context, args: ReadFile| {
            let (offset, limit) = (args.offset.map(|line| line.0), args.limit.map(|lines| lines.0));
            Ok(Answer::ok(context.workspace.read(&args.path, offset, limit)?))
        },
    },
    &Plain {
        name: "search_files",
        description: "Find lines that match a regular expression; prints path:line: text.",
        effect: Effect::Looks,
        run: |context, args: SearchFiles| {
            let path = some(args.path.as_ref()).unwrap_or(".");
            let glob = some(args.glob.as_ref());
            Ok(Answer::ok(context.workspace.search(&args.pattern, path, glob)?))
        },
    },
    &Plain {
        name: "write_file",
        description: "Write a whole file; missing directories are created.",
        effect: Effect::Acts,
        run: |context, args: WriteFile| {
            Ok(Answer::ok(context.workspace.write(&args.path, &args.content)?))
        },
    },
    &Plain {
        name: "edit_file",
        description: "Replace a passage of a file, or several with `edits` (all or none). Copy \
                      old_text exactly; it must occur once.",
        effect: Effect::Acts,
        run: |context, args: EditFile| {
            let path = args.path.clone();
            let edits = edits(args)?;
            match documents::of_path(&path) {
                Some(document) => documents::edit(context, &path, document, &edits),
                None => {
                    let stage = context.stage;
                    anyhow::ensure!(
                        stages::row(stage).writes_code(),
                        "{path} is not a document of {stage}; code is written in a later stage"
                    );
                    Ok(Answer::ok(context.workspace.edit(&path, &edits)?))
                }
            }
        },
    },
    &Plain {
        name: "delete_file",
        description: "Delete a file.",
        effect: Effect::Acts,
        run: |context, args: DeleteFile| Ok(Answer::ok(context.workspace.delete(&args.path)?)),
    },
];

/// The single edit, the list of edits, or both together.
fn edits(args: EditFile) -> anyhow::Result<Vec<Edit>> {
    let edit = |old_text, new_text, replace_all: Option<bool>| Edit {
        old_text,
        new_text,
        replace_all: replace_all.unwrap_or_default(),
    };
    let several = args.edits.unwrap_or_default().into_iter();
    let mut edits: Vec<Edit> =
        several.map(|one| edit(one.old_text, one.new_text, one.replace_all)).collect();
    match (args.old_text, args.new_text) {
        (None, None) if !edits.is_empty() => {}
        (Some(old), Some(new)) => edits.insert(0, edit(old, new, args.replace_all)),
        // Some models leave the fields for a single edit empty beside the list.
        (Some(_), None) | (None, Some(_)) if !edits.is_empty() => {}
        (Some(_), None) => anyhow::bail!("missing: new_text (empty to delete the passage)"),
        (None, Some(_)) => anyhow::bail!("missing: old_text"),
        (None, None) => anyhow::bail!("missing: old_text and new_text, or edits"),
    }
    if edits.len() > 1 && edits[0].old_text.is_empty() && edits[0].new_text.is_empty() {
        edits.remove(0);
    }
    Ok(edits)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Outcome;
    use super::super::testing::Bench;
    use super::*;
    use crate::stage::Stage;

    fn files(calls: &[(&str, Value)]) -> (Vec<Answer>, Outcome) {
        let bench = Bench::new(Stage::Coding);
        let mut run = bench.context();
        let answers = calls.iter().map(|(name, args)| run.call(name, &args.to_string())).collect();
        (answers, run.0.outcome)
    }

    #[test]
    fn a_file_is_made_changed_found_and_deleted() {
        let (answers, outcome) = files(&[
            ("write_file", json!({"path": "src/a.rs", "content": "one\ntwo\n"})),
            ("edit_file", json!({"path": "src/a.rs", "old_text": "two", "new_text": "2"})),
            ("read_file", json!({"path": "src/a.rs", "offset": "2", "limit": null})),
            ("read_file", json!({"path": "src/a.rs", "offset": -3, "limit": 1})),
            ("search_files", json!({"pattern": "^2$"})),
            ("list_files", json!({"path": ""})),
            ("delete_file", json!({"path": "src/a.rs"})),
            ("list_files", json!({})),
        ]);
        let texts: Vec<_> = answers.iter().map(|answer| answer.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "created src/a.rs (2 lines)",
                "edited src/a.rs at line 2",
                "src/a.rs, lines 2-2 of 2\n2\n",
                "src/a.rs, lines 1-1 of 2; for more: offset 2\none\n",
                "src/a.rs:2: 2",
                "src/a.rs",
                "deleted src/a.rs",
                "no files in . (hidden and ignored ones are left out)",
            ]
        );
        assert!(answers.iter().all(|answer| answer.ok) && outcome.guard_refusals == 0);
    }

    #[test]
    fn a_list_respects_its_depth() {
        let write = |path| ("write_file", json!({"path": path, "content": ""}));
        let (answers, _) = files(&[
            write("a"),
            write("b/c"),
            write("b/d/e"),
            ("list_files", json!({"recursive": false})),
            ("list_files", json!({"recursive": true})),
            ("list_files", json!({"recursive": true, "max_depth": 2})),
            ("list_files", json!({"path": "b", "max_depth": "1"})),
            ("list_files", json!({"max_depth": 1, "hidden": true})),
        ]);
        let texts: Vec<_> = answers[3..].iter().map(|answer| answer.text.as_str()).collect();
        assert_eq!(texts[..4], ["a\nb/", "a\nb/c\nb/d/e", "a\nb/c\nb/d/", "b/c\nb/d/"]);
        assert!(texts[4].starts_with("a\nb/\n(ignored, because unknown: hidden (known: "));
    }

    #[test]
    fn a_directory_is_refused_as_a_directory() {
        let (answers, outcome) = files(&[
            ("write_file", json!({"path": "src/a", "content": "a\n"})),
            ("read_file", json!({"path": "src"})),
            ("write_file", json!({"path": "src/", "content": "x"})),
            ("edit_file", json!({"path": "src", "old_text": "a", "new_text": "b"})),
            ("delete_file", json!({"path": "./src/"})),
            ("write_file", json!({"path": ".", "content": "x"})),
            ("delete_file", json!({"path": "."})),
        ]);
        let texts: Vec<_> = answers[1..].iter().map(|answer| answer.text.as_str()).collect();
        for (text, instead) in texts.iter().zip([
            "list_files shows what is in it",
            "give the path of a file in it",
            "give the path of a file in it",
            "delete its files one by one",
            "give the path of a file in it",
            "delete its files one by one",
        ]) {
            assert!(text.contains(" is a directory, not a file; "), "{text}");
            assert!(text.contains(instead), "{text}");
        }
        assert_eq!(outcome.guard_refusals, 0);
    }

    #[test]
    fn several_edits_are_one_call() {
        let edit = |old, new| json!({"old_text": old, "new_text": new});
        let (answers, _) = files(&[
            ("write_file", json!({"path": "a", "content": "one\ntwo\n"})),
            ("edit_file", json!({"path": "a", "edits": [edit("one", "1"), edit("too", "2")]})),
            ("edit_file", json!({"path": "a", "edits": [edit("one", "1"), edit("two", "2")]})),
            (
                "edit_file",
                json!({"path": "a", "old_text": "", "new_text": "",
                                 "edits": [edit("1", "one")]}),
            ),
            ("read_file", json!({"path": "a"})),
            ("edit_file", json!({"path": "a", "old_text": "1"})),
            ("edit_file", json!({"path": "a"})),
        ]);
        let texts: Vec<_> = answers.iter().map(|answer| answer.text.as_str()).collect();
        assert!(texts[1].starts_with("nothing was written to a: 1 of 2 edits"), "{}", texts[1]);
        assert_eq!(texts[2], "edited a: 2 edits, at lines 1, 2");
        assert_eq!(texts[3], "edited a at line 1");
        assert_eq!(texts[4], "a, lines 1-2 of 2\none\n2\n");
        assert!(texts[5].contains("missing: new_text") && texts[6].contains("or edits"));
    }

    #[test]
    fn guards_are_counted_and_mistakes_are_not() {
        let (answers, outcome) = files(&[
            ("read_file", json!({"path": "/etc/passwd"})),
            ("write_file", json!({"path": "../x", "content": ""})),
            ("read_file", json!({"path": "missing"})),
            ("read_file", json!({"path": {}})),
            ("read_file", json!({})),
        ]);
        assert!(answers.iter().all(|answer| !answer.ok));
        assert_eq!(outcome.guard_refusals, 2);
        assert_eq!(answers[0].text, "Security: Absolute paths are not allowed");
        assert_eq!(answers[4].text, "read_file: missing: path");
    }
}
