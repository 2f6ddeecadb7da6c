//! Screens as text files, with which tests compare the current screen. Values that differ from run
//! to run are replaced by constants.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use vt100::{Cell, Color};

/// The rows of a screen up to the last one that is not empty.
pub fn plain(screen: &vt100::Screen) -> String {
    let rows = rows(screen, |text, _| text.to_owned());
    steady(&rows)
}

/// The rows with `⟨green⟩` where another style begins and `⟨⟩` where a style ends.
pub fn styled(screen: &vt100::Screen) -> String {
    let mut open = String::new();
    let rows = rows(screen, |text, cell| {
        let style = cell.map(style).unwrap_or_default();
        let blank = text == " " && !style.contains("ground") && !style.contains("reverse");
        // A style is visible only on characters that are not blank.
        if style == open || blank {
            return text.to_owned();
        }
        open = style;
        format!("⟨{open}⟩{text}")
    });
    // A style ends before the blanks that follow it.
    let ends = Regex::new(r"( +)⟨⟩").unwrap();
    steady(&ends.replace_all(&rows, "⟨⟩$1"))
}

fn rows(screen: &vt100::Screen, mut shown: impl FnMut(&str, Option<&Cell>) -> String) -> String {
    let (height, width) = screen.size();
    let mut out = String::new();
    for row in 0..height.get() {
        let mut line = String::new();
        for column in 0..width.get() {
            let cell = screen.cell(row, column);
            if cell.is_some_and(Cell::is_wide_continuation) {
                continue;
            }
            let text = cell.map_or("", Cell::contents);
            line += &shown(if text.is_empty() { " " } else { text }, cell);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    format!("{}\n", out.trim_end_matches(['\n', ' ']))
}

fn style(cell: &Cell) -> String {
    let mut words = Vec::new();
    for (is_on, word) in [
        (cell.bold(), "bold"),
        (cell.dim(), "dim"),
        (cell.italic(), "italic"),
        (cell.underline(), "underline"),
        (cell.inverse(), "reverse"),
    ] {
        words.extend(is_on.then(|| word.to_owned()));
    }
    words.extend(color(cell.fgcolor()));
    words.extend(color(cell.bgcolor()).map(|name| format!("ground {name}")));
    words.join(" ")
}

fn color(color: Color) -> Option<String> {
    const NAMES: [&str; 8] =
        ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
    match color {
        Color::Default => None,
        Color::Idx(n) => {
            Some(NAMES.get(usize::from(n)).map_or_else(|| n.to_string(), |name| (*name).to_owned()))
        }
        Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
    }
}

/// Replaces all commits, days, times, durations and frames of the spinner by one of each. Text
/// after a longer duration stays in its column.
pub fn steady(text: &str) -> String {
    let replaced = [
        (r"\b[0-9a-f]{7}\b", "1234567"),
        (r"\b[0-9a-f]{12}\b", "123456789abc"),
        (r"\b\d{4}-\d\d-\d\d\b", "2031-01-02"),
        (r"\b\d\d:\d\d\b", "03:04"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:80"),
        ("[⠋⠙⠸⠴⠦⠧⠇⠏]", "⠋"),
        (r"\b(?:\d+ min )?\d+ s\b", "1 s"),
    ];
    let replaced = replaced.map(|(form, by)| (Regex::new(form).unwrap(), by));
    let line = |line: &str| {
        let mut line = line.to_owned();
        for (form, by) in &replaced {
            let before = line.chars().count();
            line = form.replace_all(&line, *by).into_owned();
            let (less, more) =
                (before.saturating_sub(line.chars().count()), line.chars().count() > before);
            if less > 0 || more {
                line = same_width(&line, before);
            }
        }
        line
    };
    text.lines().map(|one| line(one) + "\n").collect()
}

/// Makes the widest gap of a line wider or narrower, until the line is as wide as before. A line
/// without a gap is not changed.
fn same_width(line: &str, wanted: usize) -> String {
    let gaps = Regex::new(" {2,}|─{2,}|━{2,}").unwrap();
    // The first one indents.
    let gap = gaps.find_iter(line).filter(|gap| gap.start() > 0);
    let Some(gap) = gap.max_by_key(|gap| gap.as_str().chars().count()) else {
        return line.to_owned();
    };
    let sign = gap.as_str().chars().next().unwrap();
    let now = line.chars().count();
    let length = (gap.as_str().chars().count() + wanted).saturating_sub(now).max(2);
    let filled = String::from(sign).repeat(length);
    format!("{}{filled}{}", &line[..gap.start()], &line[gap.end()..])
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/screens").join(format!("{name}.txt"))
}

/// Compares a screen with the file of this name; with `COWORK_UPDATE_SCREENS` set, writes the file
/// instead. Returns the differences.
pub fn compare(name: &str, shown: &str) -> Option<String> {
    let path = file(name);
    if std::env::var_os("COWORK_UPDATE_SCREENS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, shown).unwrap();
        return None;
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let again =
        "make it again and look at it: COWORK_UPDATE_SCREENS=1 cargo test --test it screens::";
    (kept != shown).then(|| format!("{name}\nkept:\n{kept}\nshown:\n{shown}\n{again}\n"))
}
