//! The origin of lines as text for people: one answer in full, or one line for each of many.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::paint::Paint;
use crate::artifact::record_diff::count;
use crate::origin::{ApprovalDetails, LineOrigin, RecordTitle, SessionDetails};
use crate::ui::one_line;

/// Width of the label column of an answer.
pub(crate) const LABEL: usize = 13;
/// Maximum number of source lines that are shown before an answer.
const SHOWN: usize = 5;
/// Maximum length of a source line, and of a reason.
const TEXT: usize = 100;
/// Maximum length of a line in a summary.
const ROW: usize = 160;

/// The full answer for some lines.
pub(crate) fn explained(answer: &LineOrigin, paint: &Paint) -> String {
    let mut out = format!("{}\n", paint.green(&place(answer)));
    for (number, text) in (answer.lines[0]..).zip(&answer.text).take(SHOWN) {
        let _ = writeln!(out, "{number:>6}  {}", one_line(text, TEXT));
    }
    let more = answer.text.len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(out, "        … and {}", count(more, "more line"));
    }
    let mut rows = Rows { out, paint };
    commit(answer, &mut rows);
    match &answer.details {
        Some(told) => session(answer, told, &mut rows),
        None => rows.add("Origin", &outside(answer)),
    }
    rows.out
}

fn place(answer: &LineOrigin) -> String {
    let [first, last] = answer.lines;
    match first == last {
        true => format!("{}:{first}", answer.file),
        false => format!("{}:{first},{last}", answer.file),
    }
}

/// Lines of text, each with a label.
struct Rows<'a> {
    out: String,
    paint: &'a Paint,
}

impl Rows<'_> {
    fn add(&mut self, what: &str, text: &str) {
        let _ = writeln!(self.out, "{what:<12} {}", one_line(text, usize::MAX));
    }

    fn add_each(&mut self, what: &str, texts: impl IntoIterator<Item = String>) {
        for (at, text) in texts.into_iter().enumerate() {
            self.add(if at == 0 { what } else { "" }, &text);
        }
    }
}

fn commit(answer: &LineOrigin, rows: &mut Rows<'_>) {
    let Some(commit) = &answer.commit else { return };
    let id = rows.paint.yellow(short(&commit.commit));
    let _ = writeln!(rows.out, "Commit       {id} {}", one_line(&commit.subject, usize::MAX));
    let moved = match commit.path == answer.file {
        true => String::new(),
        false => format!(" · at {}:{} in that commit", commit.path, commit.line),
    };
    let day = commit.at.get(..10).unwrap_or_default();
    rows.add("", &format!("{} · {day}{moved}", person(&commit.author)));
    if let Some(squash) = &answer.squash {
        rows.add("Squash", &format!("{} brought this commit's lines here", short(squash)));
    }
}

fn session(answer: &LineOrigin, told: &SessionDetails, rows: &mut Rows<'_>) {
    if let Some(note) = note(answer, told) {
        rows.add("Origin", &note);
    }
    let by_plan = match answer.known_by {
        "plan" => {
            " · from the plan and the delivery report: no other task of this commit names the file"
        }
        _ => "",
    };
    rows.add_each("Task", told.task.iter().map(|task| named(task) + by_plan));
    rows.add_each("Candidates", told.candidates.iter().map(named));
    rows.add_each("Component", told.component.iter().map(named));
    rows.add_each("Feature", told.features.iter().map(named));
    for requirement in &told.requirements {
        rows.add("Requirement", &format!("{} {}", requirement.id, requirement.title));
        for criterion in &requirement.criteria {
            let test = criterion.test.as_ref().map(|test| {
                let became = criterion.became.as_deref().unwrap_or("no recorded result");
                format!(" · {test}: {became}")
            });
            rows.add("", &format!("- {}{}", criterion.text, test.unwrap_or_default()));
        }
    }
    rows.add_each("Done when", told.change_criteria.iter().map(|text| format!("- {text}")));
    rows.add("Session", &format!("{}: {}", told.session, told.title));
    if told.idea.trim() != told.title.trim() {
        rows.add("Idea", &one_line(&told.idea, 2 * TEXT));
    }
    match told.passed.is_empty() {
        true => rows.add("Passed", "this history contains no approval"),
        false => {
            let (held, not): (Vec<&ApprovalDetails>, _) =
                told.passed.iter().partition(|one| one.missing.is_none());
            let held: Vec<String> = held.into_iter().map(passed).collect();
            let held = Some(held.join(" · ")).filter(|held| !held.is_empty());
            rows.add_each("Passed", held.into_iter().chain(not.into_iter().map(passed)));
        }
    }
    let rejected = told.rejected.iter().map(|one| {
        let by = if one.by == "human" { "a person" } else { one.by };
        let reason = one_line(&one.reason, TEXT);
        format!("{} draft {} by {by}: {reason}", one.stage, one.iteration)
    });
    let more = (told.rejected_more > 0)
        .then(|| format!("and {} more: git cowork log {}", told.rejected_more, told.session));
    rows.add_each("Rejected", rejected.chain(more));
    if let Some(checks) = told.checks.as_ref().filter(|checks| *checks != "none") {
        let tree = told.evidence.first().and_then(|run| run.rsplit_once(", tree "));
        let tree = tree.map(|(_, tree)| format!(" · tree {tree}")).unwrap_or_default();
        rows.add("Checked", &format!("{}{tree}", rows.paint.checks(checks)));
    }
    let task = told.task.as_ref().map(|task| format!(" {}", task.id)).unwrap_or_default();
    rows.add("More", &format!("git cowork trace {}{task}", told.session));
}

/// A note for a line that a session wrote but that belongs to none of its tasks.
fn note(answer: &LineOrigin, told: &SessionDetails) -> Option<String> {
    let only = "only the session is known";
    Some(match answer.origin {
        "task" => return None,
        "adopted" => {
            let who = answer.commit.as_ref().map_or("", |commit| person(&commit.author));
            format!("{who} wrote it by hand, before session {} adopted the commit", told.session)
        }
        "hook" => {
            let hook = answer.hook.as_deref().unwrap_or("a");
            format!("the {hook} hook wrote it into this commit").replace("the a hook", "a hook")
        }
        "merge" => "written while merging: neither side has it".to_owned(),
        "squash" if answer.known_by == "session" => {
            format!(
                "one commit contains the whole session, and its original commits are gone: {only}"
            )
        }
        "squash" => {
            "one commit contains the whole session; its original commits are gone".to_owned()
        }
        _ => {
            let stage = told.stage.map(|stage| format!(" of stage {stage}")).unwrap_or_default();
            format!("a commit{stage} that belongs to no single task")
        }
    })
}

/// The origin of a line that no session wrote.
fn outside(answer: &LineOrigin) -> String {
    let who = answer.commit.as_ref().map_or("", |commit| person(&commit.author));
    if let Some(unknown) = &answer.unknown {
        let task = unknown.task_id.as_ref().map(|task| format!("{task} of ")).unwrap_or_default();
        return format!(
            "{task}session {}, whose records are not in this repository",
            unknown.session
        );
    }
    match (answer.origin, &answer.during, &answer.first_session) {
        ("uncommitted", ..) => format!("not committed yet: git diff HEAD -- {}", answer.file),
        ("shallow", ..) => {
            "not known: this shallow clone's history ends at this commit; fetch the \
                            rest: git fetch --unshallow"
                .to_owned()
        }
        ("merge", ..) => format!("{who} wrote it while merging: neither side has it"),
        (_, Some(during), _) => {
            format!("{who} wrote it by hand in session {}, after {}", during.session, during.after)
        }
        ("before", _, Some(first)) => format!("{who} wrote it before the first session, {first}"),
        ("before", ..) => format!("{who} wrote it; there is no session in this history"),
        _ => format!("{who} wrote it outside of any session"),
    }
}

fn passed(one: &ApprovalDetails) -> String {
    let missing = one.missing.as_ref().map(|why| format!(" · but {why}")).unwrap_or_default();
    format!("{} {}{missing}", one.stage, one.how)
}

fn named(one: &RecordTitle) -> String {
    format!("{} {}", one.id, one.title)
}

fn short(id: &str) -> &str {
    id.get(..7).unwrap_or(id)
}

/// A name without its address.
fn person(author: &str) -> &str {
    author.split(" <").next().unwrap_or(author)
}

/// Summarizes a file: its ranges of lines, then the number of lines for each requirement.
pub(crate) fn summary(file: &str, answers: &[LineOrigin], paint: &Paint) -> String {
    let all: usize = answers.iter().map(|one| one.text.len()).sum();
    let mut out = format!("{}\n", paint.green(&format!("{file} · {}", count(all, "line"))));
    let mut rows: Vec<([usize; 2], String, &str)> = Vec::new();
    for answer in answers {
        let what = row(answer);
        let commit = answer.commit.as_ref().map_or("", |commit| short(&commit.commit));
        match rows.last_mut().filter(|(_, last, of)| (last, *of) == (&what, commit)) {
            Some((lines, ..)) => lines[1] = answer.lines[1],
            None => rows.push((answer.lines, what, commit)),
        }
    }
    let range = |[first, last]: [usize; 2]| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let width = rows.iter().map(|(lines, ..)| range(*lines).len()).max().unwrap_or(0);
    for (lines, what, commit) in &rows {
        let (lines, commit) = (range(*lines), paint.yellow(&format!("{commit:<7}")));
        let _ = writeln!(out, "  {lines:<width$}  {commit}  {}", one_line(what, ROW));
    }
    let by = by_requirement(answers);
    if !by.is_empty() {
        out.push('\n');
    }
    for ((id, title), lines) in by {
        let _ = writeln!(out, "  {id} {} · {}", one_line(&title, TEXT), count(lines, "line"));
    }
    out
}

/// The text of a row in the summary.
fn row(answer: &LineOrigin) -> String {
    let Some(told) = &answer.details else { return outside(answer) };
    let mut parts: Vec<String> = Vec::new();
    match (&told.task, &told.stage) {
        (Some(task), _) => parts.push(named(task)),
        (None, Some(stage)) => parts.push(format!("{stage} of {}", told.session)),
        (None, None) => parts.push(format!("session {}", told.session)),
    }
    if answer.known_by == "plan" {
        parts.push("according to the plan".to_owned());
    }
    if ["hook", "adopted"].contains(&answer.origin) {
        parts.push(note(answer, told).unwrap_or_default());
    }
    let requirements: Vec<&str> = told.requirements.iter().map(|one| one.id.as_str()).collect();
    if !requirements.is_empty() {
        parts.push(requirements.join(", "));
    }
    parts.extend(told.passed.first().map(passed));
    parts.join(" · ")
}

/// The number of lines for each requirement; a line may serve several.
fn by_requirement(answers: &[LineOrigin]) -> BTreeMap<(String, String), usize> {
    let mut lines = BTreeMap::new();
    for answer in answers {
        for one in answer.details.iter().flat_map(|told| &told.requirements) {
            *lines.entry((one.id.clone(), one.title.clone())).or_default() += answer.text.len();
        }
    }
    lines
}
