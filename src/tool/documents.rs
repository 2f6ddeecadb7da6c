//! Tools that save and load the Markdown documents, and load the feedback history.

use serde_json::{Value, json};

use super::plain::{Nothing, Plain, arguments};
use super::{Answer, Context, Effect, Tool};
use crate::artifact::sections::{self, Document, Extent, Writer};
use crate::artifact::{Artifact, IdKind, Ledger, Saved, check};
use crate::stages;
use crate::workspace::{Edit, apply_edits};

/// Maximum bytes of a document.
const MAX_DOCUMENT: usize = 256 * 1024;

arguments! {
    Content {
        /// Markdown
        content: String,
    }

    /// Arguments of the tools that save a document with records.
    RecordsContent {
        /// Markdown
        content: String,
        /// what it lacks is deleted
        whole: Option<bool>,
        deleted: Option<Vec<String>>,
    }
}

macro_rules! save {
    ($save:ident, $name:literal, $about:literal, $what:expr) => {
        &Plain {
            name: $name,
            description: $about,
            effect: Effect::WritesDocument,
            run: |context, args| $save(context, &args, $what),
        }
    };
}

macro_rules! load {
    ($name:literal, $about:literal, $artifact:ident) => {
        &Plain {
            name: $name,
            description: $about,
            effect: Effect::ReadsArtifacts,
            run: |context, _: Nothing| load(context, Artifact::$artifact),
        }
    };
}

/// The tools of this file.
pub(super) static TOOLS: [&dyn Tool; 11] = [
    save!(save, "save_idea", "Save idea.md.", Artifact::Idea),
    save!(save_records, "save_prd_doc", "Save prd.md or parts of it.", Document::Prd),
    save!(save_records, "save_design_doc", "Save design.md or parts of it.", Document::Design),
    save!(save_records, "save_plan_doc", "Save plan.md or parts of it.", Document::Plan),
    save!(save, "save_check_report", "Save check_report.md.", Artifact::CheckReport),
    save!(save, "save_delivery_report", "Save delivery_report.md.", Artifact::DeliveryReport),
    load!("load_idea", "Read idea.md.", Idea),
    load!("load_prd_doc", "Read prd.md.", Prd),
    load!("load_design_doc", "Read design.md.", Design),
    load!("load_plan_doc", "Read plan.md.", Plan),
    load!("load_feedback_history", "Read all feedback so far.", Feedback),
];

fn save(context: &mut Context<'_>, args: &Content, artifact: Artifact) -> anyhow::Result<Answer> {
    let text = clean(&args.content)?;
    if artifact == Artifact::DeliveryReport {
        anyhow::ensure!(
            check::pr_title(&text).is_some(),
            "the first line must say what is delivered{}, because it becomes the pull request's \
             title (at most {} characters)",
            check::own_example(&context.store),
            check::LONGEST_TITLE
        );
    }
    let name = artifact.file_name();
    if !context.store.save_text(artifact, &text)? {
        return Ok(Answer::ok(format!("{name} has this content already; nothing changed.")));
    }
    Ok(Answer::ok(format!("Saved {name}, {} lines.", text.lines().count())))
}

/// The document at a path given to the file tools, with the tool that saves it.
pub(super) fn of_path(path: &str) -> Option<(Artifact, &'static str)> {
    let mut parts = path.trim_start_matches("./").split('/');
    let folder = [parts.next()?, parts.next()?, parts.next()?];
    let (file, rest) = (parts.next()?, parts.next());
    if folder[..2] != [".cowork", "sessions"] || rest.is_some() {
        return None;
    }
    let artifact = Artifact::named(file)?;
    let drafted = [Artifact::Idea, Artifact::Prd, Artifact::Design, Artifact::Plan];
    drafted.contains(&artifact).then(|| (artifact, artifact.save_tool()))
}

/// Replaces passages in a document of the current stage, and updates its records.
pub(super) fn edit(
    context: &mut Context<'_>,
    path: &str,
    (artifact, tool): (Artifact, &str),
    edits: &[Edit],
) -> anyhow::Result<Answer> {
    let stage = context.stage;
    anyhow::ensure!(
        stages::offers(stage, tool),
        "{} cannot be changed in {stage}; if it must change, go back with goto_stage or \
         request_replanning",
        artifact.file_name()
    );
    // Fails for a document of another session.
    context.workspace.read(path, None, None)?;
    let text = context.store.text(artifact)?.unwrap_or_default();
    let edited = clean_whole(&apply_edits(path, &text, edits)?.text)?;
    match Document::of_artifact(artifact) {
        Some(document) => save_document(context, document, &edited, Extent::WholeDeleting(&[])),
        None => save(context, &Content { content: edited }, artifact),
    }
}

/// Saves a document that contains records, or some sections of it.
fn save_records(
    context: &mut Context<'_>,
    args: &RecordsContent,
    document: Document,
) -> anyhow::Result<Answer> {
    let text = clean(&args.content)?;
    let extent = match (args.whole, &args.deleted) {
        (Some(true), Some(deleted)) => Extent::WholeDeleting(deleted),
        (Some(true), None) => Extent::Whole,
        _ => Extent::Parts,
    };
    save_document(context, document, &text, extent)
}

/// Saves what was sent of a document. Until the answer ends, no call gets the numbers in it, even if
/// it is refused.
fn save_document(
    context: &mut Context<'_>,
    document: Document,
    text: &str,
    extent: Extent<'_>,
) -> anyhow::Result<Answer> {
    let (ledger, records) = (context.ledger, context.ledger.records()?);
    let history = context.numbers.note(|ids| {
        ids.see(&records, ledger.history);
        let history = ids.after(ledger.history, Writer::Model);
        ids.send(sections::written(text, &IdKind::ALL));
        history
    })?;
    let saved = Ledger { history: &history, ..ledger }.save(document, text, extent)?;
    let records = ledger.records()?;
    context.numbers.note(|ids| ids.see(&records, ledger.history))?;
    tell_saved(context, document, saved)
}

/// The call that saves a document which somebody without tools wrote. It is whole; `words` name the
/// records that it deletes, in lines like `DELETED: REQ-007`.
pub fn saving_call(tool: &str, text: &str, words: &str) -> Value {
    let keeps_records = ["save_prd_doc", "save_design_doc", "save_plan_doc"].contains(&tool);
    let deleted: Vec<&str> = words
        .lines()
        .filter_map(|line| line.trim_start_matches(['*', '`', '-', ' ']).strip_prefix("DELETED:"))
        .flat_map(|ids| ids.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.'))
        .filter(|id| IdKind::of_id(id).is_some())
        .collect();
    match keeps_records {
        true => json!({"content": text, "whole": true, "deleted": deleted}),
        false => json!({"content": text}),
    }
}

fn tell_saved(context: &Context<'_>, document: Document, saved: Saved) -> anyhow::Result<Answer> {
    let name = document.artifact().file_name();
    if !saved.changed {
        return Ok(Answer::ok(format!("{name} has this content already; nothing changed.")));
    }
    let held = context.ledger.held(document)?;
    let held: Vec<String> = held.iter().map(|(kind, number)| kind.count(*number)).collect();
    let mut told = format!("Saved {name}: {}.", held.join(", "));
    if !saved.numbered.is_empty() {
        told += &format!(" New: {}.", saved.numbered.join(", "));
    }
    if !saved.deleted.is_empty() {
        told += &format!(" Deleted: {}.", saved.deleted.join(", "));
    }
    if !saved.unsent.is_empty() {
        told += &format!(
            " Kept, although you did not send it: {}. A record is deleted with its delete_ tool, \
             other text with edit_file, and both, but for completed tasks, if you send the \
             document with \"whole\": true.",
            saved.unsent.join(", ")
        );
    }
    for note in saved.notes {
        told += &format!("\n{note}");
    }
    Ok(Answer::ok(told))
}

fn load(context: &mut Context<'_>, artifact: Artifact) -> anyhow::Result<Answer> {
    let text = context.store.text(artifact)?.unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(Answer::ok(format!("There is no {} yet.", artifact.file_name())));
    }
    Ok(Answer::ok(text))
}

/// Converts a document to its stored form: without a code fence around it, and with `\n` line ends.
///
/// # Errors
///
/// It is empty, too long, or has control characters, which must not be in a document.
fn clean(content: &str) -> anyhow::Result<String> {
    let text = content.replace("\r\n", "\n").replace('\r', "\n");
    let text = unfence(text.trim_start_matches(['\n', '\u{feff}']).trim_end()).trim_end();
    clean_whole(&format!("{text}\n"))
}

/// The stored form of a complete document.
fn clean_whole(text: &str) -> anyhow::Result<String> {
    let text = text.trim_end();
    anyhow::ensure!(!text.trim().is_empty(), "content is empty");
    anyhow::ensure!(
        text.len() <= MAX_DOCUMENT,
        "content has {} bytes; at most {MAX_DOCUMENT} are allowed",
        text.len()
    );
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if let Some((line, _)) = text.lines().enumerate().find(|(_, line)| line.contains(control)) {
        anyhow::bail!("line {} contains a control character; write plain text", line + 1);
    }
    Ok(format!("{text}\n"))
}

/// Removes a code fence if it encloses the whole text and its language is Markdown, plain text or
/// not given.
fn unfence(text: &str) -> &str {
    let inner = || {
        let (first, rest) = text.split_once('\n')?;
        let word = first.strip_prefix("```")?.trim();
        let body = rest.strip_suffix("```")?;
        // An odd number of inner fences means that the outer fences do not belong together.
        let inside = body.lines().filter(|line| line.starts_with("```")).count();
        let whole = body.ends_with('\n') && inside % 2 == 0;
        (whole && matches!(word, "" | "markdown" | "md" | "text")).then_some(body)
    };
    inner().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Priority;
    use crate::stage::Stage;
    use crate::tool::testing::Bench;

    fn content(text: &str) -> String {
        json!({"content": text}).to_string()
    }

    #[test]
    fn a_document_is_saved_once() {
        let bench = Bench::empty(Stage::Idea);
        let mut context = bench.context();
        assert_eq!(context.call("load_idea", "").text, "There is no idea.md yet.");
        let text = content("```markdown\n# A\r\nb\n```");
        assert_eq!(context.call("save_idea", &text).text, "Saved idea.md, 2 lines.");
        assert_eq!(context.call("load_idea", "").text, "# A\nb\n");
        let answer = context.call("save_idea", &content("# A\nb"));
        assert!(answer.ok && answer.text.contains("nothing changed"));
        let answer = context.call("save_prd_doc", &content("x"));
        assert!(!answer.ok && answer.text.contains("belongs to prd, a later stage"));
    }

    #[test]
    fn a_passage_of_a_document_is_edited_and_its_records_follow() {
        let bench = Bench::empty(Stage::Prd);
        let path = ".cowork/sessions/todo/prd.md";
        let mut context = bench.context();
        let section = |id: &str, title: &str| {
            format!("### {id} {title}\n\n`high` `functional`\n\nIt does.\n\n- it works\n")
        };
        // The text starts with a record: this is the whole document, not one of its sections.
        let text = format!("{}\n{}", section("REQ-001", "Add"), section("REQ-002", "List"));
        assert!(context.call("save_prd_doc", &content(&text)).ok);
        bench.put(path, &text);
        let edit = |old: &str, new: &str| {
            json!({"path": path, "old_text": old, "new_text": new}).to_string()
        };
        let answer =
            context.call("edit_file", &edit("REQ-001 Add\n\n`high`", "REQ-001 Put\n\n`low`"));
        assert!(answer.ok, "{}", answer.text);
        let all = bench.store().requirements().unwrap().requirements;
        assert_eq!((&*all[0].title, all[0].priority), ("Put", Priority::Low));
        assert_eq!(
            bench.store().text(Artifact::Prd).unwrap().unwrap(),
            text.replace("1 Add\n\n`high`", "1 Put\n\n`low`")
        );
        // A document that cannot be parsed is not saved.
        for (old, new, said) in [
            ("`low`", "`urgent`", "prd.md:3: 'urgent' is not a priority"),
            ("nowhere", "x", "old_text"),
            (&section("REQ-002", "List"), "", "to delete it call delete_requirement"),
        ] {
            let answer = context.call("edit_file", &edit(old, new));
            assert!(!answer.ok && answer.text.contains(said), "{}", answer.text);
        }
        assert_eq!(bench.store().requirements().unwrap().requirements, all);
        // A document of another stage, or of another session, is not changed.
        let other =
            json!({"path": ".cowork/sessions/other/prd.md", "old_text": "a", "new_text": "b"});
        let answer = context.call("edit_file", &other.to_string());
        assert!(!answer.ok && answer.text.contains(".cowork is not allowed"), "{}", answer.text);
        let coding = Bench::new(Stage::Coding);
        let answer = coding.context().call("edit_file", &edit("a", "b"));
        assert!(
            !answer.ok && answer.text.contains("cannot be changed in coding"),
            "{}",
            answer.text
        );
    }

    #[test]
    fn only_a_fence_around_the_whole_text_is_removed() {
        assert_eq!(unfence("```\na\n```\nb\n```\nc\n```\n```"), "```\na\n```\nb\n```\nc\n```\n```");
        assert_eq!(unfence("```md\n# A\n```sh\nls\n```\nend\n```"), "# A\n```sh\nls\n```\nend\n");
        assert_eq!(unfence("```rust\nfn a() {}\n```"), "```rust\nfn a() {}\n```");
    }

    #[test]
    fn invalid_documents_are_refused() {
        assert!(clean(" \n").is_err());
        assert!(clean(&"a".repeat(MAX_DOCUMENT + 1)).is_err());
        assert!(clean("a\nb\u{1b}[31m").unwrap_err().to_string().starts_with("line 2"));
        assert_eq!(clean("\n  a\tb\r\n\r\n").unwrap(), "  a\tb\n");
    }

    #[test]
    fn a_report_needs_a_title() {
        let bench = Bench::new(Stage::Delivery);
        let mut context = bench.context();
        let answer = context.call("save_delivery_report", &content("# Delivery Report\n\nx"));
        assert!(!answer.ok && answer.text.contains("title"));
        assert!(context.call("save_delivery_report", &content("# Add todos\n\nx")).ok);
    }
}
