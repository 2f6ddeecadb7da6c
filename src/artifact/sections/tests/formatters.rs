//! What formatters make of a document: prettier 3 and mdformat, as they are and wrapping lines.

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
    // Both wrote these bytes again, with their defaults.
    for text in [EXAMPLE, include_str!("prd.md"), include_str!("design.md")] {
        let reading = read_all(text);
        for section in &reading.sections {
            let source = text[section.range.clone()].split("\n## ").next().unwrap_or_default();
            let rendered = render(&section.record, LEVEL);
            assert_eq!(source.trim_end().replace("```rust", "```"), rendered.trim_end());
        }
    }
}
