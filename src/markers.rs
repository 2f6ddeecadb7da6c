//! Verdicts in prose: a critic's `<review>…</review>`, a challenger's `APPROVED`. They are read from
//! text, and left out where the verdict is shown separately.
//!
//! A verdict is alone on its line. "To earn `<review>PASS</review>` this draft must first …" and
//! "this cannot be APPROVED" are refusals.

use std::ops::Range;

const OPEN: &str = "<review>";
const CLOSE: &str = "</review>";

/// Maximum bytes of a line's end that is held back while it streams, because it may be a verdict.
const MOST: usize = 80;

/// Characters that make a line a quotation, code, a question, crossed out or a box to tick.
const QUOTES: [char; 18] =
    ['`', '"', '\'', '“', '”', '„', '«', '»', '‘', '’', '「', '」', '?', '<', '>', '？', '~', ']'];

/// Words that make a label a condition or a negation: `If fixed: APPROVED`.
const CONDITIONS: [&str; 13] = [
    "not", "no", "never", "cannot", "if", "once", "when", "until", "unless", "without", "before",
    "after", "for",
];

/// A verdict on a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// Approved as it is.
    Pass,
    /// Another draft is needed.
    NeedsRevision,
    /// Not to be delivered at all.
    Rejected,
}

/// How a role writes its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VerdictForm {
    /// `<review>PASS</review>`, of a critic or self-reviewer.
    Review,
    /// `APPROVED`, of a challenger.
    Word,
}

/// Returns the verdict of a critic or self-reviewer; `None` if the text has none, or two that differ.
pub fn review_verdict(text: &str) -> Option<Marker> {
    verdict(text, VerdictForm::Review)
}

/// Returns the verdict of a challenger; `None` if the text has none, or two that differ.
pub fn challenge_verdict(text: &str) -> Option<Marker> {
    verdict(text, VerdictForm::Word)
}

fn verdict(text: &str, form: VerdictForm) -> Option<Marker> {
    let mut prose = Prose::default();
    let mut verdicts = text
        .lines()
        .filter(|line| prose.has(line))
        .filter_map(|line| verdict_of_line(line, form).map(|(_, marker)| marker));
    let first = verdicts.next()?;
    verdicts.all(|other| other == first).then_some(first)
}

/// Returns a challenger's text without the lines of its verdict, if it gave one.
pub fn without_challenge_verdict(text: &str) -> String {
    if challenge_verdict(text).is_none() {
        return text.trim().to_owned();
    }
    let mut prose = Prose::default();
    let is_verdict =
        |line: &&str| prose.has(line) && verdict_of_line(line, VerdictForm::Word).is_some();
    let (_, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(is_verdict);
    rest.join("\n").trim().to_owned()
}

/// Returns a whole text without `<review>` verdicts.
pub fn without_markers(text: &str) -> String {
    let mut markers = MarkerFilter::default();
    let mut out = markers.push(text);
    out.push_str(&markers.end());
    out
}

/// Returns a line's verdict and its place, if the line holds nothing else but emphasis, punctuation
/// and one label with a colon: `**Verdict:** APPROVED.`
fn verdict_of_line(line: &str, form: VerdictForm) -> Option<(Range<usize>, Marker)> {
    let (place, marker) = match form {
        VerdictForm::Review => {
            let start = line.find(OPEN)?;
            let inside = start + OPEN.len();
            let end = inside + line[inside..].find(CLOSE)?;
            (start..end + CLOSE.len(), review_word(line[inside..end].trim())?)
        }
        VerdictForm::Word => {
            let end = line.rfind(is_of_word)? + 1;
            let start = line[..end]
                .rfind(|c| !is_of_word(c))
                .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
            (start..end, challenge_word(&line[start..end])?)
        }
    };
    let (before, after) = (&line[..place.start], &line[place.end..]);
    let is_plain = |text: &str| !text.contains(QUOTES);
    let alone = is_plain(before) && is_plain(after) && !after.contains(char::is_alphanumeric);
    (alone && is_label(before)).then_some((place, marker))
}

/// True for at most two words with a colon behind them; a negation or a condition is no label.
fn is_label(before: &str) -> bool {
    let words: Vec<&str> =
        before.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let Some(last) = words.last() else { return true };
    let behind = before.rfind(last).map_or("", |at| &before[at + last.len()..]);
    let depends = |word: &&str| CONDITIONS.iter().any(|one| word.eq_ignore_ascii_case(one));
    words.len() <= 2 && behind.contains([':', '：']) && !words.iter().any(depends)
}

/// A character of a challenger's word: all its letters are ASCII.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn review_word(word: &str) -> Option<Marker> {
    match word.to_ascii_uppercase().as_str() {
        "PASS" | "PASSED" => Some(Marker::Pass),
        "NEEDS_REVISION" | "NEEDS REVISION" => Some(Marker::NeedsRevision),
        _ => None,
    }
}

fn challenge_word(word: &str) -> Option<Marker> {
    match word.trim_matches('_') {
        "APPROVED" => Some(Marker::Pass),
        "NEEDS_REVISION" => Some(Marker::NeedsRevision),
        "REJECTED" => Some(Marker::Rejected),
        _ => None,
    }
}

/// Tells prose from code blocks and quotations, line by line.
#[derive(Clone, Debug, Default)]
struct Prose {
    /// The character and length of the fence of an open code block.
    fence: Option<(char, usize)>,
}

impl Prose {
    /// True if the next line is prose.
    fn has(&mut self, line: &str) -> bool {
        let bare = line.trim();
        let mark = bare.chars().next().filter(|c| ['`', '~'].contains(c));
        let length = bare.chars().take_while(|c| Some(*c) == mark).count();
        let rest = bare.get(length..).unwrap_or_default();
        match (self.fence, mark) {
            (Some((open, least)), Some(mark)) => {
                if mark == open && length >= least && rest.is_empty() {
                    self.fence = None;
                }
                false
            }
            (Some(_), None) => false,
            (None, Some(mark)) if length >= 3 && !rest.contains('`') => {
                self.fence = Some((mark, length));
                false
            }
            (None, _) => {
                !bare.starts_with('>') && !line.starts_with("    ") && !line.starts_with('\t')
            }
        }
    }
}

/// Filter for text that arrives in pieces. From a verdict on, the text is held back until its end:
/// a second verdict that differs makes them none, and then both are part of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct MarkerFilter {
    prose: Prose,
    /// The line that has begun.
    line: String,
    /// The number of its bytes that were returned.
    emitted_len: usize,
    verdict: VerdictSoFar,
}

/// The verdicts in the text so far.
#[derive(Clone, Debug, Default)]
enum VerdictSoFar {
    #[default]
    None,
    /// One, or several that agree; the text from it on, with them and without them.
    One { marker: Marker, with: String, without: String },
    /// Two that differ.
    Two,
}

impl MarkerFilter {
    /// Returns the next piece without verdicts; what may be one, or comes after one, is held back.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for part in piece.split_inclusive('\n') {
            self.line.push_str(part);
            if part.ends_with('\n') {
                out += &self.end_line();
            } else if !matches!(self.verdict, VerdictSoFar::One { .. }) {
                out += &self.beginning();
            }
        }
        out
    }

    /// Returns the text still held back, at the end of the stream.
    pub(crate) fn end(&mut self) -> String {
        let mut out = self.end_line();
        if let VerdictSoFar::One { without, .. } = std::mem::take(self).verdict {
            out += &without;
        }
        out
    }

    /// The part of the line that has begun that cannot be a verdict.
    fn beginning(&mut self) -> String {
        let rest = &self.line[self.emitted_len..];
        let begins = |at: &usize| {
            let text = &rest[*at..];
            OPEN.starts_with(text) || text.starts_with(OPEN)
        };
        let hold_at = rest.match_indices('<').map(|(at, _)| at).find(begins);
        let hold_at = hold_at.filter(|at| rest.len() - at <= MOST).unwrap_or(rest.len());
        let out = rest[..hold_at].to_owned();
        self.emitted_len += hold_at;
        out
    }

    /// The rest of a line, unless it is held back.
    fn end_line(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        let emitted_len = std::mem::take(&mut self.emitted_len);
        let is_prose = self.prose.has(line.trim_end_matches('\n'));
        let verdict = verdict_of_line(&line, VerdictForm::Review).filter(|_| is_prose);
        let verdict = verdict.filter(|(place, _)| place.start >= emitted_len);
        let rest = &line[emitted_len..];
        let without_marker = |place: &Range<usize>| {
            format!("{}{}", &line[emitted_len..place.start], &line[place.end..])
        };
        match (std::mem::take(&mut self.verdict), verdict) {
            (VerdictSoFar::None, None) => rest.to_owned(),
            (VerdictSoFar::None, Some((place, marker))) => {
                let (with, without) = (rest.to_owned(), without_marker(&place));
                self.verdict = VerdictSoFar::One { marker, with, without };
                String::new()
            }
            (VerdictSoFar::One { marker, with, .. }, Some((_, other))) if other != marker => {
                self.verdict = VerdictSoFar::Two;
                with + rest
            }
            (VerdictSoFar::One { marker, with, without }, verdict) => {
                let without =
                    without + &verdict.map_or(rest.to_owned(), |(place, _)| without_marker(&place));
                self.verdict = VerdictSoFar::One { marker, with: with + rest, without };
                String::new()
            }
            (VerdictSoFar::Two, _) => {
                self.verdict = VerdictSoFar::Two;
                rest.to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_random::cases;

    #[test]
    fn a_verdict_is_alone_on_its_line() {
        for (text, marker) in [
            ("<review>PASS</review>", Some(Marker::Pass)),
            (
                "Fine.\n\n**Verdict:** <review> needs_revision </review>.\n",
                Some(Marker::NeedsRevision),
            ),
            ("- Final verdict: <review>PASS</review> ✅", Some(Marker::Pass)),
            ("ok <review>PASS</review>", None),
            ("To earn `<review>PASS</review>` this draft must first name a user.", None),
            ("> <review>PASS</review>", None),
            ("`<review>PASS</review>`", None),
            ("```\n<review>PASS</review>\n```", None),
            ("```\ncode\n```\n<review>PASS</review>", Some(Marker::Pass)),
            ("    <review>PASS</review>", None),
            ("<review>PASS</review>\nor\n<review>NEEDS_REVISION</review>", None),
            ("<review>PASS</review>\n\n<review>PASS</review>", Some(Marker::Pass)),
            ("<review>maybe</review>", None),
            ("Not: <review>PASS</review>", None),
            ("<review>PASS</review>?", None),
            ("- [ ] <review>PASS</review>", None),
            ("~~<review>PASS</review>~~", None),
            ("If fixed: <review>PASS</review>", None),
        ] {
            assert_eq!(review_verdict(text), marker, "{text}");
        }
        for (text, marker) in [
            ("Verdict: **APPROVED**", Some(Marker::Pass)),
            ("Urteil：REJECTED", Some(Marker::Rejected)),
            ("__NEEDS_REVISION__", Some(Marker::NeedsRevision)),
            ("REJECTED input is shown again.\n\n**APPROVED**\n\nI read all.", Some(Marker::Pass)),
            ("This cannot be APPROVED as it stands", None),
            ("This is APPROVED", None),
            ("Could this be: APPROVED", None),
            ("REJECTED: no tests", None),
            ("not APPROVED", None),
            ("Not: APPROVED", None),
            ("\"APPROVED\"", None),
            ("APPROVED?", None),
            ("approved", None),
            ("APPROVED\n\nOn second thought:\n\nREJECTED", None),
        ] {
            assert_eq!(challenge_verdict(text), marker, "{text}");
        }
        assert_eq!(without_challenge_verdict("Whole.\n\nAPPROVED\n"), "Whole.");
        assert_eq!(without_challenge_verdict("It is not APPROVED."), "It is not APPROVED.");
    }

    #[test]
    fn only_verdicts_are_left_out_however_they_arrive() {
        for (given, wanted) in [
            ("good\n<review>PASS</review>.", "good\n."),
            ("good <review>PASS</review>.", "good <review>PASS</review>."),
            ("a < b, <b>x</b> <rev", "a < b, <b>x</b> <rev"),
            ("<review>PASS</review>\n<review>PASS</review>\nc", "\n\nc"),
            ("a\n<review>PASS</review>\nb", "a\n\nb"),
            (
                "<review>PASS</review>\nb\n<review>NEEDS_REVISION</review>\n<review>PASS</review>",
                "<review>PASS</review>\nb\n<review>NEEDS_REVISION</review>\n<review>PASS</review>",
            ),
            ("```\n<review>PASS</review>\n```\n", "```\n<review>PASS</review>\n```\n"),
            ("<review>never closed", "<review>never closed"),
        ] {
            assert_eq!(without_markers(given), wanted);
            for (at, _) in given.char_indices() {
                let mut markers = MarkerFilter::default();
                let first = markers.push(&given[..at]);
                let pieces = first + &markers.push(&given[at..]) + &markers.end();
                assert_eq!(pieces, wanted, "cut at {at}");
            }
        }
        let long = format!("<review>{}</review>", "long ".repeat(20));
        assert_eq!(without_markers(&long), long);
    }

    /// Around a verdict on a line of its own any prose may be; a verdict inside prose is none.
    #[test]
    fn prose_around_a_verdict_neither_makes_nor_hides_one() {
        const LINES: [&str; 12] = [
            "This cannot be APPROVED as it stands.",
            "To earn `<review>PASS</review>` this draft must first name a user.",
            "> APPROVED",
            "> <review>PASS</review>",
            "The challenger said \"REJECTED\".",
            "It would be wrong to write <review>PASS</review> here.",
            "APPROVED? No.",
            "- NEEDS_REVISION, I would say",
            "",
            "Ünïcode — «APPROVED» は「APPROVED」",
            "Wer: was, wann: APPROVED, wo",
            "a\u{301}<review>",
        ];
        const VERDICTS: [(&str, &str, Marker); 3] = [
            ("**Verdict:** APPROVED", "<review>PASS</review>", Marker::Pass),
            ("NEEDS_REVISION.", "Result: <review>NEEDS_REVISION</review>", Marker::NeedsRevision),
            ("## APPROVED", "*<review>PASSED</review>*", Marker::Pass),
        ];
        cases(|random| {
            let mut lines: Vec<&str> =
                (0..random.usize(..6)).map(|_| LINES[random.usize(..LINES.len())]).collect();
            let text = lines.join("\n");
            assert_eq!((review_verdict(&text), challenge_verdict(&text)), (None, None), "{text}");
            assert_eq!(without_markers(&text), text);
            let (word, tag, marker) = VERDICTS[random.usize(..VERDICTS.len())];
            let at = random.usize(..=lines.len());
            lines.insert(at, word);
            lines.insert(at, tag);
            let text = lines.join("\n");
            assert_eq!(challenge_verdict(&text), Some(marker), "{text}");
            assert_eq!(review_verdict(&text), Some(marker), "{text}");
            let shown = without_markers(&text);
            assert_eq!(review_verdict(&shown), None, "{text}");
            assert!(lines.iter().all(|line| *line == tag || shown.contains(line)), "{text}");
            // A second one that differs: none, and all of it is shown.
            let other = VERDICTS.iter().find(|(_, _, other)| *other != marker);
            let (word, tag, _) = other.unwrap();
            lines.push(word);
            lines.push(tag);
            let text = lines.join("\n");
            assert_eq!((review_verdict(&text), challenge_verdict(&text)), (None, None), "{text}");
            let cut = (0..=random.usize(..=text.len())).rfind(|at| text.is_char_boundary(*at));
            let (before, after) = text.split_at(cut.unwrap_or_default());
            let mut markers = MarkerFilter::default();
            assert_eq!(markers.push(before) + &markers.push(after) + &markers.end(), text);
        });
    }
}
