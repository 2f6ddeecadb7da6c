//! The file tools: list, read, search, write, edit and delete within the working tree.
//!
//! The workspace decides what is allowed; these turn arguments into calls and refusals into
//! answers.

use super::plain::{Kind, rows};
use super::{Access, Answer, Field, Plain, Tool};

const PATH: Field = Field::text("path", "File, relative to the top of the project").required();

static TOOLS: [Plain; 6] = [
    Plain {
        name: "list_files",
        description: "Lists the project's files, without hidden and ignored ones. Paths are \
                      relative to the top of the project.",
        access: Access::Read,
        fields: &[
            Field::text("path", "Directory to list; the whole project when left out"),
            Field::text("pattern", "Glob such as *.rs or src/**/*.py"),
        ],
        run: |context, args| {
            let path = args.some_text("path").unwrap_or(".");
            Ok(Answer::ok(context.workspace.list(path, args.some_text("pattern"))?))
        },
    },
    Plain {
        name: "read_file",
        description: "Reads a text file, or a part of a long one. The first line of the answer \
                      says which lines these are; it is not part of the file.",
        access: Access::Read,
        fields: &[
            PATH,
            Field::new("offset", Kind::Number, "First line to read, from 1"),
            Field::new("limit", Kind::Number, "Number of lines"),
        ],
        run: |context, args| {
            let (offset, limit) = (args.number("offset"), args.number("limit"));
            Ok(Answer::ok(context.workspace.read(args.text("path"), offset, limit)?))
        },
    },
    Plain {
        name: "search_files",
        description: "Finds the lines that match a regular expression, as path:line: text.",
        access: Access::Read,
        fields: &[
            Field::text("pattern", "Regular expression, matched within lines").required(),
            Field::text("path", "File or directory to search; everything when left out"),
            Field::text("glob", "Only files such as *.rs"),
        ],
        run: |context, args| {
            let path = args.some_text("path").unwrap_or(".");
            let found =
                context.workspace.search(args.text("pattern"), path, args.some_text("glob"));
            Ok(Answer::ok(found?))
        },
    },
    Plain {
        name: "write_file",
        description: "Makes a file, or replaces all of it. Missing directories are made. Write the \
                      complete content; to change a part of a file, use edit_file.",
        access: Access::Write,
        fields: &[PATH, Field::text("content", "The complete content").required()],
        run: |context, args| {
            Ok(Answer::ok(context.workspace.write(args.text("path"), args.text("content"))?))
        },
    },
    Plain {
        name: "edit_file",
        description: "Replaces one passage of a file. Copy old_text exactly from the file, with \
                      enough lines that it occurs only once.",
        access: Access::Write,
        fields: &[
            PATH,
            Field::text("old_text", "The passage as it is now").required(),
            Field::text("new_text", "What to put there; empty to delete it").required(),
            Field::new("replace_all", Kind::Flag, "Replace every occurrence"),
        ],
        run: |context, args| {
            let (old, new) = (args.text("old_text"), args.text("new_text"));
            let all = args.flag("replace_all");
            Ok(Answer::ok(context.workspace.edit(args.text("path"), old, new, all)?))
        },
    },
    Plain {
        name: "delete_file",
        description: "Deletes a file, never a directory.",
        access: Access::Write,
        fields: &[PATH],
        run: |context, args| Ok(Answer::ok(context.workspace.delete(args.text("path"))?)),
    },
];

/// The tools of this file.
pub(super) fn tools() -> impl Iterator<Item = &'static dyn Tool> {
    rows(&TOOLS)
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
