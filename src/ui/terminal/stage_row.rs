//! The stages of a session on one line: `✓ idea  ✓ prd  ▶ design  · plan  · coding`.

use console::measure_text_width;

use super::Terminal;
use crate::palette::Slot;
use crate::stage::Stage;

impl Terminal {
    /// Formats the row of stages in at most `width` columns. On narrow screens, first the completed
    /// and then the later stages become marks without names. Empty if the order is not known.
    pub(super) fn stage_row(&self, order: &[Stage], present: Stage, width: usize) -> String {
        let Some(at) = order.iter().position(|stage| *stage == present) else {
            return String::new();
        };
        let (done, later) = (&order[..at], &order[at + 1..]);
        let forms = [(true, true), (false, true), (false, false)];
        let rows = forms.map(|(done_named, later_named)| {
            let done = part(done, "✓", done_named);
            let later = part(later, "·", later_named);
            (done, later)
        });
        let here = format!("▶ {present}");
        let columns = |(done, later): &&(Vec<String>, Vec<String>)| {
            let all = done.iter().chain([&here]).chain(later);
            all.map(|one| measure_text_width(one) + 2).sum::<usize>() - 1
        };
        let fits = rows.iter().find(|row| columns(row) <= width);
        let Some((done, later)) = fits.or(rows.last()) else { return String::new() };
        let done = done.iter().map(|one| match one.split_once(' ') {
            Some((sign, name)) => format!("{} {name}", self.paint(Slot::Success, sign)),
            None => self.paint(Slot::Success, one),
        });
        let here = self.paint(Slot::Header, &here);
        let later = later.iter().map(|one| self.paint(Slot::Dim, one));
        format!(" {}", done.chain([here]).chain(later).collect::<Vec<_>>().join("  "))
    }
}

/// Returns each stage as a mark with a name or, without names, all marks as one part.
fn part(stages: &[Stage], sign: &str, is_named: bool) -> Vec<String> {
    match is_named {
        true => stages.iter().map(|stage| format!("{sign} {stage}")).collect(),
        false if stages.is_empty() => Vec::new(),
        false => vec![sign.repeat(stages.len())],
    }
}
