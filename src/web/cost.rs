//! The section on cost: the usage of each stage, and the total that other commands show as well.

use serde_json::{Value, json};

use super::room::PageRoom;
use super::source::PageSource;
use crate::spent::{Spent, tokens};

/// Length of the longest bar, in units of the drawing.
const LENGTH: u64 = 100;

/// What the length of a bar shows: the heading of its column, and the amount.
type Measure = (&'static str, fn(&Spent) -> u64);

/// Money if it is known, else tokens, else time.
const MEASURES: [Measure; 3] = [
    ("By cost", |spent| spent.micros),
    ("By tokens", Spent::tokens),
    ("By time", |spent| spent.millis),
];

pub(super) fn read(source: &PageSource<'_>, _room: &mut PageRoom) -> anyhow::Result<Value> {
    let used = &source.status.used;
    let stages = used.stages.iter().map(|(stage, spent)| (stage.name(), *spent));
    let others =
        [("draft in progress", used.draft), ("work that no commit holds", used.elsewhere())];
    let rows: Vec<(&str, Spent)> = stages
        .chain(others)
        .filter(|(_, spent)| spent.requests > 0 || spent.tokens() > 0)
        .collect();
    if rows.is_empty() {
        return Ok(Value::Null);
    }
    let [money, tokens, time] = MEASURES;
    let is_available = |measure: &Measure| rows.iter().any(|(_, one)| measure.1(one) > 0);
    let (measure, amount) = [money, tokens].into_iter().find(is_available).unwrap_or(time);
    let most = rows.iter().map(|(_, spent)| amount(spent)).max().unwrap_or(0).max(1);
    let bar = |spent: &Spent| (amount(spent).saturating_mul(LENGTH) / most).max(1);
    let table: Vec<Value> =
        rows.iter().map(|(name, spent)| row(name, spent, Some(bar(spent)))).collect();
    Ok(json!({"measure": measure, "rows": table, "total": row("total", &used.total, None)}))
}

fn row(name: &str, spent: &Spent, bar: Option<u64>) -> Value {
    let none = || "–".to_owned();
    let share = spent.usage.cached.saturating_mul(100).checked_div(spent.usage.input);
    json!({
        "name": name,
        "bar": bar,
        "requests": spent.requests,
        "tokens": match spent.tokens() {
            0 => none(),
            all => tokens(all),
        },
        "cached": share.map_or_else(none, |share| format!("{share}%")),
        "time": time(spent.millis),
        "cost": spent.cost().unwrap_or_else(none),
    })
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
