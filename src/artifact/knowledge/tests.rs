//! Reading, changing, proposing and comparing facts.

use super::*;

fn learned(heading: &str, text: &str) -> Proposal {
    let fact = Fact { heading: heading.into(), text: text.into() };
    Proposal { kind: ProposalKind::Learned, fact }
}

fn outdated(heading: &str, text: &str) -> Proposal {
    Proposal { kind: ProposalKind::Outdated, ..learned(heading, text) }
}

#[test]
fn a_new_file_has_all_headings() {
    let file = KnowledgeFile::default().with(&[
        learned("Traps", "`x` eats y"),
        learned("Conventions", "one"),
        learned("Conventions", "two"),
    ]);
    let text = "# Project knowledge\n\n## Conventions\n\n- one\n- two\n\n## Commands\n\n## Decisions\n\n## Traps\n\n- `x` eats y\n";
    assert_eq!(file.text(), text);
    assert_eq!(file, KnowledgeFile::parse(text));
    assert_eq!(file.with(&[learned("Commands", "One.")]), file, "already known");
    let less = file.with(&[outdated("traps", "x eats y."), learned("Commands", "`make`")]);
    let text = "# Project knowledge\n\n## Conventions\n\n- one\n- two\n\n## Commands\n\n- `make`\n\n## Decisions\n\n## Traps\n";
    assert_eq!(less.text(), text);
}

#[test]
fn lines_that_a_person_wrote_keep_their_bytes() {
    let text = "Ours.\n\n### Traps\n* long\n  fact\n\ntext\n```\n- code\n```\n- last\n## Own\n";
    let file = KnowledgeFile::parse(text);
    let facts: Vec<String> = file.facts().map(ToString::to_string).collect();
    assert_eq!(facts, ["Traps: long fact", "Traps: last"]);
    assert_eq!(file.find("Traps: long fact"), file.facts().next());
    assert_eq!(file.find("last."), file.facts().nth(1));
    assert_eq!(file.find("Traps: other"), None);
    let more = file.with(&[outdated("Traps", "long fact"), learned("Own", "new")]);
    assert_eq!(
        more.text(),
        "Ours.\n\n### Traps\n\ntext\n```\n- code\n```\n- last\n## Own\n\n- new\n"
    );
    let prose = KnowledgeFile::parse("Ours.\n").with(&[learned("Traps", "new")]);
    assert!(prose.text().starts_with("Ours.\n\n## Conventions\n"), "{}", prose.text());
    assert!(prose.text().ends_with("## Traps\n\n- new\n"), "{}", prose.text());
}

#[test]
fn binary_and_large_files_are_refused() {
    assert_eq!(KnowledgeFile::read(b"a\0b"), Err("is not UTF-8 text"));
    assert_eq!(KnowledgeFile::read(b"\xff"), Err("is not UTF-8 text"));
    assert_eq!(KnowledgeFile::read(&vec![b'-'; KNOWLEDGE_MAX + 1]), Err("is larger than 64 KiB"));
}

#[test]
fn proposals_are_removed_from_output() {
    let words = "Title\n\n## Summary\n\nIt works.\n\nLearned: commands: `make check` runs all\n- **Outdated:** Own words: old\nLearned: Traps: `a: b`\u{202e} \x1b[31mred\nLearned: nothing special\n\n```\nLearned: Traps: code\n```\n";
    let (kept, found) = take_proposals(words);
    assert_eq!(
        kept,
        "Title\n\n## Summary\n\nIt works.\n\nLearned: nothing special\n\n```\nLearned: Traps: code\n```\n"
    );
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "learned Commands: `make check` runs all",
            "outdated Own words: old",
            "learned Traps: `a: b` red"
        ]
    );
    for value in found {
        assert_eq!(Proposal::parse(&value).unwrap().to_string(), value);
    }
    let line = "It is done. Learned: Traps: a b. Outdated: Commands: c";
    let (kept, found) = take_proposals(line);
    assert_eq!(kept, "It is done.");
    assert_eq!(found, [learned("Traps", "a b."), outdated("Commands", "c")]);
    let lines: Vec<String> = found.iter().map(Proposal::line).collect();
    assert_eq!(take_proposals(&lines.join("\n")), (String::new(), found));
}

#[test]
fn output_without_proposals_is_unchanged() {
    let long = format!("Learned: Traps: {}", "x".repeat(300));
    for words in ["", "I Learned: a lot\n", "Learned:\n", "Lessons Learned: Own: x", &long] {
        assert_eq!(take_proposals(words), (words.to_owned(), Vec::new()), "{words}");
    }
    assert_eq!(Proposal::parse("taken Traps: x"), None);
}

#[test]
fn facts_are_compared() {
    let text = "## Conventions\n- Tests use pytest\n- tests use `unittest`.\n- tests use pytest.\n- The CLI is small\n- the CLI is written for people who live in terminals\n- Names must end in `_t`\n- names must not end in _t\n- names must begin with x\n";
    let file = KnowledgeFile::parse(text);
    let facts: Vec<&Fact> = file.facts().collect();
    let twice: Vec<&str> = duplicates(&facts).iter().map(|fact| fact.text.as_str()).collect();
    assert_eq!(twice, ["tests use pytest."]);
    let pairs = contradictions(&facts);
    let pairs: Vec<_> = pairs.iter().map(|(a, b)| (a.text.as_str(), b.text.as_str())).collect();
    assert_eq!(
        pairs,
        [
            ("Tests use pytest", "tests use `unittest`."),
            ("tests use `unittest`.", "tests use pytest."),
            ("Names must end in `_t`", "names must not end in _t"),
        ]
    );
}
