//! The section on cost: the usage of each stage, and the total that other commands show as well.

use super::html::Html;
use super::room::Room;
use super::source::Source;
use crate::spent::{Spent, tokens};

/// Length of the longest bar, in units of the drawing.
const LENGTH: u64 = 100;

pub(super) fn write(
    source: &Source<'_>,
    _room: &mut Room,
    html: &mut Html<'_>,
) -> anyhow::Result<()> {
    let used = &source.status.used;
    let stages = used.stages.iter().map(|(stage, spent)| (stage.name(), *spent));
    let others =
        [("draft in progress", used.draft), ("work that no commit holds", used.elsewhere())];
    let rows: Vec<(&str, Spent)> = stages
        .chain(others)
        .filter(|(_, spent)| spent.requests > 0 || spent.tokens() > 0)
        .collect();
    if rows.is_empty() {
        html.raw("<p>No model was asked.</p>\n");
        return Ok(());
    }
    let measure = Measure::of(&rows);
    html.raw("<table class=\"cost\">\n<thead><tr><th scope=\"col\">Stage</th>");
    html.raw("<th scope=\"col\">").text(measure.name()).raw("</th>");
    html.raw(
        "<th scope=\"col\" class=\"n few\">Requests</th><th scope=\"col\" class=\"n\">Tokens</th>",
    );
    html.raw(
        "<th scope=\"col\" class=\"n few\">Cached</th><th scope=\"col\" class=\"n few\">Time</th>",
    );
    html.raw("<th scope=\"col\" class=\"n\">Cost</th></tr></thead>\n<tbody>\n");
    let most = rows.iter().map(|(_, spent)| measure.amount(spent)).max().unwrap_or(0).max(1);
    for (name, spent) in &rows {
        let bar = measure.amount(spent).saturating_mul(LENGTH) / most;
        row(html, name, spent, Some(bar));
    }
    html.raw("</tbody>\n<tfoot>\n");
    row(html, "total", &used.total, None);
    html.raw("</tfoot>\n</table>\n");
    Ok(())
}

/// What the length of a bar shows: money if it is known, else tokens, else time.
enum Measure {
    Money,
    Tokens,
    Time,
}

impl Measure {
    fn of(rows: &[(&str, Spent)]) -> Self {
        if rows.iter().any(|(_, spent)| spent.micros > 0) {
            Self::Money
        } else if rows.iter().any(|(_, spent)| spent.tokens() > 0) {
            Self::Tokens
        } else {
            Self::Time
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Money => "By cost",
            Self::Tokens => "By tokens",
            Self::Time => "By time",
        }
    }

    fn amount(&self, spent: &Spent) -> u64 {
        match self {
            Self::Money => spent.micros,
            Self::Tokens => spent.tokens(),
            Self::Time => spent.millis,
        }
    }
}

fn row(html: &mut Html<'_>, name: &str, spent: &Spent, bar: Option<u64>) {
    html.raw("<tr><th scope=\"row\">").text(name).raw("</th><td class=\"bar\">");
    if let Some(bar) = bar {
        html.raw("<svg viewBox=\"0 0 100 12\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
        let width = bar.max(1).to_string();
        html.open("rect", &[("width", &width), ("height", "12"), ("rx", "2")]);
        html.raw("</rect></svg>");
    }
    html.raw("</td>");
    let all = match spent.tokens() {
        0 => "–".to_owned(),
        all => tokens(all),
    };
    let share = spent.usage.cached.saturating_mul(100).checked_div(spent.usage.input);
    cell(html, "n few", &spent.requests.to_string());
    cell(html, "n", &all);
    cell(html, "n few", &share.map_or("–".to_owned(), |share| format!("{share}%")));
    cell(html, "n few", &time(spent.millis));
    cell(html, "n", &spent.cost().unwrap_or_else(|| "–".to_owned()));
    html.close("tr");
}

fn cell(html: &mut Html<'_>, class: &str, text: &str) {
    html.open("td", &[("class", class)]).text(text).raw("</td>");
}

/// `4 s`, `3 min`, `2 h 5 min`
fn time(millis: u64) -> String {
    let seconds = millis.div_ceil(1000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
