//! A corpus of edits: a file's bytes, a model's edit, and the resulting bytes or the refusal.

use super::*;

fn edit(old: &str, new: &str) -> Edit {
    Edit { old_text: old.to_owned(), new_text: new.to_owned(), replace_all: false }
}

fn applied(text: &str, edits: &[Edit]) -> Result<Edited, String> {
    apply("f", text, edits).map_err(|refusal| refusal.message)
}

/// Name, file, old text, new text, resulting file.
const APPLIED: [(&str, &str, &str, &str, &str); 40] = [
    ("a line", "a\nb \nc\n", "b ", "x", "a\nx\nc\n"),
    ("part of a line", "let total = 1;\n", "total", "sum", "let sum = 1;\n"),
    ("a deletion", "a\nb\nc\n", "b\n", "", "a\nc\n"),
    ("the whole file", "a\n", "a\n", "b\n", "b\n"),
    ("to nothing", "a\n", "a\n", "", ""),
    // Line endings.
    ("CRLF", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n"),
    ("CRLF given as such", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"),
    ("CRLF and one line", "a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
    ("CRLF, and LF asked for", "a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
    ("mixed, the LF part", "a\nb\r\nc\n", "a\n", "x\n", "x\nb\r\nc\n"),
    ("mixed, the CRLF part", "a\nb\r\nc\n", "b", "x\ny", "a\nx\r\ny\r\nc\n"),
    ("mixed within the passage", "a\nb\r\nc\n", "a\nb\nc", "a\nx\nc", "a\nx\nc\n"),
    ("mixed, what stays keeps its end", "a\r\nb\nc\n", "a\nb\n", "a\nx\n", "a\r\nx\nc\n"),
    // End of the file.
    ("no final newline", "a\nb", "b", "c", "a\nc"),
    ("no final newline, one asked for", "a\nb", "b\n", "c\n", "a\nc"),
    ("no final newline, one added by the way", "a\nb", "b", "c\n", "a\nc"),
    ("a final newline on purpose", "a\nb", "b", "b\n", "a\nb\n"),
    ("the final newline stays", "a\nb\n", "b\n", "c", "a\nc\n"),
    ("CRLF without a final one", "a\r\nb", "a\nb", "a\nc", "a\r\nc"),
    // Byte-order mark.
    ("BOM", "\u{feff}a\nb\n", "a\nb", "x\nb", "\u{feff}x\nb\n"),
    ("BOM in the passage", "\u{feff}a\n", "\u{feff}a", "\u{feff}x", "\u{feff}x\n"),
    ("BOM and loose", "\u{feff}a  \nb\n", "a\nb\n", "x\nb\n", "\u{feff}x\nb\n"),
    // White space.
    ("ends of lines", "f() { \n  1\t\n}\n", "f() {\n  1\n}", "g() {}", "g() {}\n"),
    ("lines that stay keep theirs", "a \nb\nc\t\n", "a\nb\nc", "a\nx\nc", "a \nx\nc\t\n"),
    (
        "indentation",
        "class A:\n    def f(self):\n        return 1\n",
        "def f(self):\n    return 1",
        "def f(self):\n\n    return 2",
        "class A:\n    def f(self):\n\n        return 2\n",
    ),
    ("less indentation", "f:\n  a\n", "    f:\n      a", "    g:\n      a", "g:\n  a\n"),
    (
        "tabs",
        "if x {\n\ta()\n\tb()\n}\n",
        "\ta()\n\tb()",
        "\ta()\n\tc()",
        "if x {\n\ta()\n\tc()\n}\n",
    ),
    (
        "tabs that the model has as spaces",
        "f() {\n\tif x {\n\t\ta()\n\t}\n}\n",
        "    if x {\n        a()\n    }",
        "    if x {\n        a()\n        if y {\n            b()\n        }\n    }",
        "f() {\n\tif x {\n\t\ta()\n\t\tif y {\n\t\t\tb()\n\t\t}\n\t}\n}\n",
    ),
    (
        "tabs from the first column on",
        "f() {\n\ta()\n}\n",
        "f() {\n  a()\n}",
        "f() {\n  a()\n  b()\n}",
        "f() {\n\ta()\n\tb()\n}\n",
    ),
    ("a Makefile", "x:\n\tcc a\n", "\tcc a", "\tcc a b", "x:\n\tcc a b\n"),
    // Text that is not ASCII.
    ("accents", "naïve\ncafé\n", "café", "thé", "naïve\nthé\n"),
    ("wide characters", "標題\n内容\n", "内容", "正文", "標題\n正文\n"),
    ("curly quotes", "say “hi” now\n", "\"hi\"", "\"ho\"", "say “ho” now\n"),
    ("an apostrophe in what stays", "It’s a one.\n", "It's a one.", "It's a two.", "It’s a two.\n"),
    ("dashes", "a – b — c\n", "a - b - c", "a - b - d", "a – b — d\n"),
    ("blanks that do not break", "10\u{a0}kWh a\n", "10 kWh a", "10 kWh b", "10\u{a0}kWh b\n"),
    ("dots", "wait… now\n", "wait... now", "wait... then", "wait… then\n"),
    ("typography in CRLF", "“a”\r\nb\r\n", "\"a\"\nb", "\"a\"\nc", "“a”\r\nc\r\n"),
    (
        "typography and white space",
        "  It’s  \n  one\n",
        "It's\none",
        "It's\ntwo",
        "  It’s  \n  two\n",
    ),
    ("an exact one before a loose one", "“a”\n\"a\"\n", "\"a\"", "\"b\"", "“a”\n\"b\"\n"),
];

/// Name, file, old text, new text, part of the refusal.
const REFUSED: [(&str, &str, &str, &str, &str); 16] = [
    ("duplicate lines", "a\nb\na\n", "a", "x", "2 times in f, at lines 1, 3"),
    ("duplicate blocks", "{\n a\n}\n{\n a\n}\n", "{\n a\n}", "x", "2 times in f, at lines 1, 4"),
    ("duplicates that overlap", "}\n}\n}\n", "}\n}\n", "}\n", "2 times in f, at lines 1, 2"),
    ("duplicates of either line end", "a\nb\nx\na\r\nb\r\n", "a\nb\n", "x\n", "at lines 1, 4"),
    ("duplicates but for white space", "a  \nb\na \n", "a\n", "x\n", "at lines 1, 3"),
    ("duplicates but for indentation", "  a b\n   a b\n", "\ta\t b", "x", "not found"),
    ("duplicates of typography", "“a”\n‘b’\n„a“\n", "\"a\"", "x", "at lines 1, 3"),
    ("uneven indentation", "  a\n      b\n", "a\nb", "c", "not found"),
    ("uneven tabs", "\ta\n\t\tb\n", "    a\n      b", "c", "not found"),
    ("other words", "fn one() {}\n", "fn two() {}\n", "x", "not found"),
    ("another case", "Total\n", "total\n", "x\n", "not found"),
    ("nothing to look for", "a\n", "", "x", "write_file"),
    ("blank lines only", "a\n\t\nb\n", "\n \n", "x", "not found"),
    ("nothing to change", "a\n", "a", "a", "nothing to change"),
    ("nothing to change but line ends", "a\r\n", "a\r\n", "a\n", "nothing to change"),
    (
        "left-out code",
        "a\nb\nc\n",
        "a\nb",
        "x\n// ... rest of the code",
        "is a placeholder for code",
    ),
];

#[test]
fn the_corpus_is_edited_as_expected() {
    for (name, text, old, new, expected) in APPLIED {
        match applied(text, &[edit(old, new)]) {
            Ok(edited) => assert_eq!(edited.text, expected, "{name}: {}", edited.summary),
            Err(refusal) => panic!("{name}: {refusal}"),
        }
    }
    for (name, text, old, new, says) in REFUSED {
        let refusal = applied(text, &[edit(old, new)]).map(|edited| edited.text).unwrap_err();
        assert!(refusal.contains(says), "{name}: {refusal}");
    }
}

/// An edit never affects more than its passage: in a larger file everything else stays unchanged.
#[test]
fn nothing_around_an_edit_changes() {
    let (before, after) = ("\u{a0}“before” \t\r\n\n…\n", "\n \t “after”\r\n\u{feff}—\n");
    for (name, text, old, new, _) in APPLIED {
        if text.contains('\u{feff}') || !text.ends_with('\n') || new.ends_with("b\n") {
            continue;
        }
        let whole = format!("{before}{text}{after}");
        let edited = applied(&whole, &[edit(old, new)]);
        let Ok(edited) = edited else { continue };
        assert!(edited.text.starts_with(before), "{name}: {:?}", edited.text);
        assert!(edited.text.ends_with(after), "{name}: {:?}", edited.text);
    }
}

#[test]
fn the_summary_says_how_a_passage_was_matched() {
    let summary = |text, old, new| applied(text, &[edit(old, new)]).unwrap().summary;
    assert_eq!(summary("x\na\n", "a", "b"), "edited f at line 2");
    assert!(summary("a \nb\n", "a\nb\n", "a\nc\n").contains("white space differed"));
    assert!(summary("“a”\n", "\"a\"", "\"b\"").contains("quotes, dashes or blanks differed"));
}

#[test]
fn every_occurrence_is_replaced_only_on_request() {
    let all = Edit { replace_all: true, ..edit("a", "b") };
    let edited = applied("a a\na\n", &[all]).unwrap();
    assert_eq!(
        (edited.text.as_str(), edited.summary.as_str()),
        ("b b\nb\n", "edited f at lines 1, 1, 2")
    );
    let all = Edit { replace_all: true, ..edit("aa", "a") };
    assert_eq!(applied("aaa", &[all]).unwrap().text, "aa");
}

#[test]
fn several_edits_are_applied_in_order() {
    let edits = [edit("one", "1"), edit("two", "2\ntwo and a half"), edit("two and a half", "2.5")];
    let edited = applied("one\ntwo\n", &edits).unwrap();
    assert_eq!(edited.text, "1\n2\n2.5\n");
    assert_eq!(edited.summary, "edited f: 3 edits, at lines 1, 2, 3");
    let edits = [edit("one\n", "1\n"), edit("two\n", "2\n")];
    assert!(
        applied("one \ntwo\n", &edits).unwrap().summary.contains("edit 1: white space differed")
    );
}

#[test]
fn all_edits_are_applied_or_none_and_the_refusal_names_the_valid_ones() {
    let edits = [edit("one", "1"), edit("too", "2"), edit("three", "3"), edit("a", "b")];
    let refusal = applied("one\ntwo\nthree\na\na\n", &edits).unwrap_err();
    let expected = "nothing was written to f: 2 of 4 edits cannot be applied\n\
        edit 2: old_text was not found in f; nothing was changed; read the file again and copy the \
        passage from it\n\
        edit 4: old_text occurs 2 times in f, at lines 4, 5; give more of the lines around the one \
        you mean, or set replace_all\n\
        edits 1, 3 would apply\n\
        fix the failed edits and send all 4 again";
    assert_eq!(refusal, expected);
    assert!(applied("a\n", &[]).unwrap_err().contains("nothing to edit"));
    let there_and_back = [edit("a", "b"), edit("b", "a")];
    assert!(applied("a\n", &there_and_back).unwrap_err().contains("already has this content"));
}

#[test]
fn a_refusal_shows_the_nearest_lines_and_existing_new_text() {
    let text = "fn one() {}\n\nfn parse(input: &str) -> u32 {\n    7\n}\n";
    let edit = edit("fn parse(inputs: &str) -> u64 {\n", "fn one() {}\n");
    let message = applied(text, &[edit]).unwrap_err();
    assert!(message.contains("3 | fn parse(input: &str) -> u32 {"), "{message}");
    // Screens and logs show the first line alone.
    let first = message.lines().next().unwrap();
    assert!(
        first.ends_with("nothing was changed; new_text is already there, at line 1"),
        "{first}"
    );
}

#[test]
fn a_written_file_keeps_the_style_of_the_one_it_replaces() {
    assert_eq!(in_style_of("\u{feff}a\r\n", "x\ny\n"), "\u{feff}x\r\ny\r\n");
    assert_eq!(in_style_of("a\r\n", "x\ny"), "x\r\ny\r\n");
    assert_eq!(in_style_of("a\n", "x\r\n"), "x\n");
    assert_eq!(in_style_of("", "x\r\n"), "x\r\n");
    assert_eq!(in_style_of("a\n", ""), "");
}
