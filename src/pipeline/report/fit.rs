//! Fits a report to its maximum length. What the change is about stays whole and may pass the limit;
//! left out are, in this order: unchanged records, files, proofs of criteria that are met, and then
//! the longest of the other lists and of the actor's text. Each says which command shows the rest.

use crate::markdown_lines::is_fence;
use crate::pipeline::report::markdown::wrapped;

/// Lines of the report on a change of [`SMALL`] lines.
const ROOM: usize = 45;
/// Lines of a small change.
const SMALL: u64 = 100;
/// Lines added to the report each time the change doubles.
const GAIN: usize = 4;
/// Maximum lines of a report with proofs, and of one that has nothing of the change itself.
const MOST: usize = 80;
/// Minimum lines for all that is not about the change itself.
const REST: usize = 35;
/// Minimum items of a list, and minimum lines of the actor's own text.
const LEAST_ITEMS: usize = 2;
const LEAST_OWN: usize = 20;

/// Maximum lines of the report on a change with this many lines.
pub(crate) fn room(changed: u64) -> usize {
    let mut room = ROOM;
    let mut limit = SMALL;
    while limit < changed && room < MOST {
        limit = limit.saturating_mul(2);
        room += GAIN;
    }
    room.min(MOST)
}

/// What an item is about, in the order in which items are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// A record that is as it was.
    Unchanged,
    Files,
    Other,
    /// The change itself: never left out.
    Change,
}

/// A section that git-cowork writes.
#[derive(Debug, Default)]
pub(crate) struct Section {
    heading: &'static str,
    /// The text above the list, which is never shortened.
    lead: Vec<String>,
    items: Vec<Item>,
    /// The number of omitted items, and the command that shows all of them.
    left_out: usize,
    all: String,
    /// The lines that replace unchanged records and proofs.
    without_unchanged: String,
    without_proofs: String,
}

#[derive(Debug)]
struct Item {
    lines: Vec<String>,
    about: About,
    /// The item without its proof, if that may be left out.
    unproven: Option<Vec<String>>,
    /// Nested below another item, and dropped before it.
    deep: bool,
}

impl Item {
    fn new(text: &str, about: About) -> Self {
        Self { lines: wrapped(text), about, unproven: None, deep: text.starts_with(' ') }
    }
}

impl Section {
    /// A section with only this text.
    pub(crate) fn new(heading: &'static str, lead: &str) -> Self {
        Self { heading, lead: wrapped(lead.trim_end()), ..Self::default() }
    }

    /// Sets the text above the list, if there is a list.
    pub(crate) fn lead(mut self, text: Option<&str>) -> Self {
        self.lead = text.filter(|_| !self.items.is_empty()).map(wrapped).unwrap_or_default();
        self
    }

    /// Adds a list, and the command that shows all of it.
    pub(crate) fn list(self, items: &[String], all: &str) -> Self {
        self.with(items, About::Other, all)
    }

    /// Adds a list of files, and the command that shows all of them.
    pub(crate) fn files(self, items: &[String], all: &str) -> Self {
        self.with(items, About::Files, all)
    }

    fn with(mut self, items: &[String], about: About, all: &str) -> Self {
        self.items.extend(items.iter().map(|text| Item::new(text, about)));
        all.clone_into(&mut self.all);
        self
    }

    /// Adds an item about the change itself.
    pub(crate) fn push(&mut self, text: &str) {
        self.items.push(Item::new(text, About::Change));
    }

    /// Adds an item about the change itself whose proof may be left out.
    pub(crate) fn push_proven(&mut self, text: &str, unproven: Option<&String>) {
        self.push(text);
        if let Some(item) = self.items.last_mut() {
            item.unproven = unproven.map(|text| wrapped(text));
        }
    }

    /// Adds an item about a record that is as it was.
    pub(crate) fn push_unchanged(&mut self, text: &str) {
        self.items.push(Item::new(text, About::Unchanged));
    }

    /// Sets the lines that replace unchanged records and proofs.
    pub(crate) fn instead_of(mut self, unchanged: String, proofs: String) -> Self {
        (self.without_unchanged, self.without_proofs) = (unchanged, proofs);
        self
    }

    /// Sets the number of items that the caller has already left out of the list.
    pub(crate) const fn without(mut self, items: usize) -> Self {
        self.left_out = items;
        self
    }

    const fn is_empty(&self) -> bool {
        self.lead.is_empty() && self.items.is_empty()
    }

    fn lines(&self) -> Vec<String> {
        let mut out = vec![String::new(), self.heading.to_owned(), String::new()];
        out.extend(self.lead.iter().cloned());
        if !self.lead.is_empty() && !self.items.is_empty() {
            out.push(String::new());
        }
        out.extend(self.items.iter().flat_map(|item| item.lines.iter().cloned()));
        if self.left_out > 0 {
            out.push(format!("- … and {} more: {}", self.left_out, self.all));
        }
        out
    }

    /// The number of its lines about the change itself.
    fn own_lines(&self) -> usize {
        let changes = self.items.iter().filter(|item| item.about == About::Change);
        match changes.map(|item| item.lines.len()).sum::<usize>() {
            0 => 0,
            items => items + self.lead.len() + 4,
        }
    }

    fn count(&self, about: About) -> usize {
        self.items.iter().filter(|item| item.about == about).count()
    }

    fn drop_unchanged(&mut self) {
        if self.count(About::Unchanged) > 0 {
            self.items.retain(|item| item.about != About::Unchanged);
            self.push(&self.without_unchanged.clone());
        }
    }

    /// Drops the proofs if that makes the section shorter.
    fn drop_proofs(&mut self) {
        let gain = |item: &Item| {
            item.unproven.as_ref().map_or(0, |lines| item.lines.len().saturating_sub(lines.len()))
        };
        if self.items.iter().map(gain).sum::<usize>() < 2 {
            return;
        }
        for item in &mut self.items {
            item.lines = item.unproven.take().unwrap_or_else(|| std::mem::take(&mut item.lines));
        }
        self.push(&self.without_proofs.clone());
    }

    /// Drops the last item of this kind, nested ones first.
    fn give_up(&mut self, about: About) {
        let last = |deep: bool| {
            self.items.iter().rposition(|item| item.about == about && (item.deep || !deep))
        };
        if let Some(at) = last(true).or_else(|| last(false)) {
            self.items.remove(at);
            self.left_out += 1;
        }
    }
}

/// The actor's text.
struct Own {
    lines: Vec<String>,
    left_out: usize,
}

impl Own {
    fn lines(&self) -> Vec<String> {
        let mut out = self.lines.clone();
        // An unclosed code block would include the following sections.
        if out.iter().filter(|line| is_fence(line)).count() % 2 == 1 {
            out.push("```".to_owned());
        }
        if self.left_out > 0 {
            let words = "see the transcript that `git cowork log -v` names";
            out.extend([String::new(), format!("… and {} more lines: {words}", self.left_out)]);
        }
        out
    }

    fn give_up(&mut self) {
        self.lines.pop();
        self.left_out += 1;
        let opens = |lines: &[String]| lines.iter().filter(|line| is_fence(line)).count() % 2 == 1;
        while self.lines.last().is_some_and(|line| {
            line.is_empty() || line.starts_with('#') || is_fence(line) && opens(&self.lines)
        }) {
            self.lines.pop();
        }
    }
}

/// The section with the longest list of this kind that can be shortened.
fn longest(sections: &mut [Section], about: About) -> Option<&mut Section> {
    let lists = sections.iter_mut().filter(|section| section.count(about) > LEAST_ITEMS);
    lists.max_by_key(|section| section.lines().len())
}

/// The actor's text followed by git-cowork's sections, in at most `room` lines, or in some
/// [`REST`] more than those about the change itself.
pub(crate) fn fitted(own: &str, mut sections: Vec<Section>, room: usize) -> String {
    let mut text = Own { lines: wrapped(own.trim_end()), left_out: 0 };
    sections.retain(|section| !section.is_empty());
    let sum = |sections: &[Section]| sections.iter().map(|one| one.lines().len()).sum::<usize>();
    let room_of = |sections: &[Section]| match sections.iter().map(Section::own_lines).sum() {
        0 => room,
        text => room.max(REST + text),
    };
    if text.lines().len() + sum(&sections) > room_of(&sections) {
        sections.iter_mut().for_each(Section::drop_unchanged);
    }
    while text.lines().len() + sum(&sections) > room_of(&sections)
        && let Some(list) = longest(&mut sections, About::Files)
    {
        list.give_up(About::Files);
    }
    if room_of(&sections) > MOST {
        sections.iter_mut().for_each(Section::drop_proofs);
    }
    loop {
        let wide = text.lines().len();
        if wide + sum(&sections) <= room_of(&sections) {
            break;
        }
        let may = text.lines.len() > LEAST_OWN;
        let other = longest(&mut sections, About::Other);
        // The actor's description of the change may use twice as many lines as a list.
        match other.filter(|list| !may || list.lines().len() * 2 >= wide) {
            Some(list) => list.give_up(About::Other),
            None if may => text.give_up(),
            None => break,
        }
    }
    let lines = text.lines().into_iter().chain(sections.iter().flat_map(Section::lines));
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(count: usize, text: &str) -> Vec<String> {
        (0..count).map(|n| format!("- {text} {n}")).collect()
    }

    #[test]
    fn a_report_grows_slowly_with_its_change() {
        let rooms = [0, 100, 101, 200, 1_000, 10_000, u64::MAX].map(room);
        assert_eq!(rooms, [45, 45, 49, 49, 61, 73, 80]);
    }

    #[test]
    fn the_longest_list_is_shortened_first() {
        let sections = || {
            vec![
                Section::new("## A", "").list(&items(30, "a"), "`show a`"),
                Section::new("## B", "Lead.").list(&items(3, "b"), "`show b`"),
                Section::new("## C", "").list(&[], ""),
            ]
        };
        let whole = fitted("T\n\nWords.", sections(), 100);
        assert!(whole.starts_with("T\n\nWords.\n\n## A\n\n- a 0\n"), "{whole}");
        assert!(whole.ends_with("- a 29\n\n## B\n\nLead.\n\n- b 0\n- b 1\n- b 2\n"), "{whole}");
        let cut = fitted("T\n\nWords.", sections(), 25);
        assert!(cut.lines().count() <= 25, "{cut}");
        assert!(cut.contains("\n- a 9\n- … and 20 more: `show a`\n\n## B\n"), "{cut}");
        assert!(cut.ends_with("- b 2\n"), "{cut}");
    }

    #[test]
    fn nested_items_are_dropped_before_their_parents() {
        let list = ["- r1", "  - c1", "  - c2", "- r2", "  - c3"].map(str::to_owned);
        let text = fitted("T", vec![Section::new("## A", "").list(&list, "`x`")], 8);
        assert_eq!(text, "T\n\n## A\n\n- r1\n  - c1\n- r2\n- … and 2 more: `x`\n");
    }

    #[test]
    fn unchanged_records_go_first_then_files_and_the_change_stays_whole() {
        let sections = |own: usize, files: usize| {
            let mut first = Section::new("## C", "Judged.");
            for at in 0..own {
                let text = format!("- new {at}");
                first.push_proven(&format!("{text} ({})", "proof ".repeat(20)), Some(&text));
            }
            (0..9).for_each(|at| first.push_unchanged(&format!("- old {at}")));
            let first = first.instead_of("- Unchanged: `a`".into(), "- Proofs: `b`".into());
            let files = Section::new("## F", "").files(&items(files, "file"), "`c`");
            vec![first, files, Section::new("## O", "").list(&items(5, "other"), "`d`")]
        };
        let has = |text: &str, parts: [bool; 4]| {
            let found = ["- old 8", "proof", "- other 4"].map(|one| text.contains(one));
            let [unchanged, proofs, others] = found;
            assert_eq!([unchanged, !text.contains("more: `c`"), proofs, others], parts, "{text}");
            assert_eq!(text.contains("- Unchanged: `a`"), !unchanged, "{text}");
            assert_eq!(text.contains("- Proofs: `b`"), !proofs, "{text}");
        };
        has(&fitted("T", sections(2, 20), 60), [true; 4]);
        has(&fitted("T", sections(2, 20), 45), [false, true, true, true]);
        let text = fitted("T", sections(10, 30), 45);
        has(&text, [false, false, true, true]);
        assert!(text.lines().count() > 45 && text.contains("- new 9 (proof"), "{text}");
        let text = fitted("T", sections(60, 30), 45);
        has(&text, [false, false, false, true]);
        assert!(text.contains("\n- new 59\n"), "{text}");
    }

    #[test]
    fn an_actor_who_says_too_much_is_cut_and_its_code_is_closed() {
        let own = format!("T\n\n## Summary\n\nWell.\n\n```\n{}```\n", "code\n".repeat(90));
        let text = fitted(&own, vec![Section::new("## Checks", "passed")], 45);
        assert!(text.lines().count() <= 45, "{text}");
        assert!(text.contains("code\n```\n\n… and "), "{text}");
        assert!(text.ends_with("\n\n## Checks\n\npassed\n"), "{text}");
        // A block that would be empty goes, with its heading.
        let own = format!("T\n\n{}\n## Try\n\n```\n{}```", "word\n".repeat(18), "code\n".repeat(9));
        let text = fitted(&own, vec![Section::new("## Checks", "passed")], 28);
        assert!(!text.contains("```") && !text.contains("## Try"), "{text}");
    }
}
