//! Fits a report to its maximum length: shortens the longest list first.

use super::lines::wrapped;
use crate::markdown_lines::is_fence;

/// Lines of the report on a change of [`SMALL`] lines.
const ROOM: usize = 45;
/// Lines of a small change.
const SMALL: u64 = 100;
/// Lines added to the report each time the change doubles.
const GAIN: usize = 4;
/// Maximum lines of any report.
const MOST: usize = 80;
/// Minimum items of a list, and minimum lines of the actor's own text.
const LEAST_ITEMS: usize = 2;
const LEAST_OWN: usize = 12;

/// Maximum lines of the report on a change with this many lines.
pub(crate) fn room(changed: u64) -> usize {
    let mut room = ROOM;
    let mut of = SMALL;
    while of < changed && room < MOST {
        of = of.saturating_mul(2);
        room += GAIN;
    }
    room.min(MOST)
}

/// A section that git-cowork writes.
#[derive(Debug, Default)]
pub(crate) struct Section {
    heading: &'static str,
    /// The text above the list, which is never shortened.
    lead: Vec<String>,
    items: Vec<Item>,
    /// The number of omitted items.
    left_out: usize,
    /// The command that shows all items.
    all: String,
}

#[derive(Debug)]
struct Item {
    lines: Vec<String>,
    /// Nested below another item, and dropped before it.
    deep: bool,
}

impl Section {
    /// A section with only this text.
    pub(crate) fn new(heading: &'static str, lead: &str) -> Self {
        Self { heading, lead: wrapped(lead.trim_end()), ..Self::default() }
    }

    /// Adds a list, and the command that shows all of it.
    pub(crate) fn list(mut self, items: &[String], all: &str) -> Self {
        let item = |text: &String| Item { lines: wrapped(text), deep: text.starts_with(' ') };
        self.items = items.iter().map(item).collect();
        all.clone_into(&mut self.all);
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

    /// Drops the last item, nested ones first.
    fn give_up(&mut self) {
        let Some(last) = self.items.len().checked_sub(1) else { return };
        let deep = self.items.iter().rposition(|item| item.deep);
        self.items.remove(deep.unwrap_or(last));
        self.left_out += 1;
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
        while self.lines.last().is_some_and(|line| line.is_empty() || line.starts_with('#')) {
            self.lines.pop();
        }
    }
}

/// The actor's text followed by git-cowork's sections, in at most `room` lines.
pub(crate) fn fitted(own: &str, mut sections: Vec<Section>, room: usize) -> String {
    let mut own = Own { lines: wrapped(own.trim_end()), left_out: 0 };
    sections.retain(|section| !section.is_empty());
    loop {
        let wide = own.lines().len();
        let sum = sections.iter().map(|section| section.lines().len()).sum::<usize>();
        if wide + sum <= room {
            break;
        }
        let lists = sections.iter_mut().filter(|section| section.items.len() > LEAST_ITEMS);
        let longest = lists.max_by_key(|section| section.lines().len());
        let may = own.lines.len() > LEAST_OWN;
        // The actor's description of the change may use twice as many lines as a list.
        match longest.filter(|list| !may || list.lines().len() * 2 >= wide) {
            Some(list) => list.give_up(),
            None if may => own.give_up(),
            None => break,
        }
    }
    let lines = own.lines().into_iter().chain(sections.iter().flat_map(Section::lines));
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
    fn an_actor_who_says_too_much_is_cut_and_its_code_is_closed() {
        let own = format!("T\n\n## Summary\n\nWell.\n\n```\n{}```\n", "code\n".repeat(90));
        let text = fitted(&own, vec![Section::new("## Checks", "passed")], 45);
        assert!(text.lines().count() <= 45, "{text}");
        assert!(text.contains("code\n```\n\n… and "), "{text}");
        assert!(text.ends_with("\n\n## Checks\n\npassed\n"), "{text}");
    }
}
