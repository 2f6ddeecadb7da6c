//! Output of formatters: prettier 3 and mdformat, with defaults and with wrapped lines.

use super::*;

const WRITTEN: &str = include_str!("formatted/written.md");

#[test]
fn formatters_change_no_record() {
    let expected = read_all(WRITTEN).records();
    assert_eq!(expected.iter().count(), 5);
    for formatted in [
        include_str!("formatted/prettier.md"),
        include_str!("formatted/prettier_wrapped.md"),
        include_str!("formatted/mdformat.md"),
        include_str!("formatted/mdformat_wrapped.md"),
    ] {
        assert_ne!(formatted, WRITTEN);
        let reading = read_all(formatted);
        assert_eq!(reading.refusals, []);
        for (record, expected) in reading.records().iter().zip(expected.iter()) {
            assert_eq!(record, expected);
        }
        assert_eq!(reading.sections.len(), 5);
    }
}

#[test]
fn formatters_leave_the_canonical_form_alone() {
    // With their defaults, both formatters leave these bytes unchanged.
    for text in [EXAMPLE, include_str!("prd.md"), include_str!("design.md")] {
        let reading = read_all(text);
        for section in &reading.sections {
            let source = text[section.range.clone()].split("\n## ").next().unwrap_or_default();
            let rendered = render(&section.record, LEVEL);
            assert_eq!(source.trim_end().replace("```rust", "```"), rendered.trim_end());
        }
    }
}

/// The documents of three sessions (demo, German, Chinese): `demo.prd.md`, and, if a
/// formatter changed it, its output, such as `demo.prd.mdformat.md`.
#[test]
fn formatters_change_no_record_of_whole_sessions() {
    let folder =
        concat!(env!("CARGO_MANIFEST_DIR"), "/src/artifact/sections/tests/formatted/sessions");
    let text = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let parts: Vec<&str> = name.split('.').collect();
        let [session, document, formatter, "md"] = parts[..] else { continue };
        let written = text(&format!("{session}.{document}.md"));
        let (before, after) = (read_all(&written), read_all(&text(&name)));
        assert_eq!((&before.refusals, &after.refusals), (&vec![], &vec![]), "{name}");
        assert!(before.sections.len() > 1, "{name}");
        let records = |reading: &Reading| -> Vec<Record> {
            reading.sections.iter().map(|section| section.record.written()).collect()
        };
        assert_eq!(records(&before), records(&after), "{name} by {formatter}");
        compared += 1;
    }
    assert_eq!(compared, 18);
}
