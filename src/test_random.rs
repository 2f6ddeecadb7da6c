//! For tests: random test cases, and randomly changed texts of a corpus, as in fuzzing.
//!
//! `COWORK_RANDOM_CASES` and `COWORK_RANDOM_SEED` set the number of cases and the first seed. For
//! example: `COWORK_RANDOM_CASES=1000000 cargo test --locked --release --lib random`

use std::io::Write as _;
use std::path::Path;

use fastrand::Rng;

/// Calls a test for the configured number of cases, each with a random generator of its own. A
/// failure prints the seed of its case.
pub(crate) fn cases(test: impl FnMut(&mut Rng)) {
    few_cases(10_000, test);
}

/// Like [`cases`], for a test whose cases take long: `count` is the number if none is configured.
pub(crate) fn few_cases(count: u64, mut test: impl FnMut(&mut Rng)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let count: u64 = number("COWORK_RANDOM_CASES").unwrap_or(count);
    let first: u64 = number("COWORK_RANDOM_SEED").unwrap_or(1);
    for seed in first..first + count {
        let mut random = Rng::with_seed(seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&mut random)));
        if let Err(panic) = outcome {
            let again = format!("COWORK_RANDOM_SEED={seed} COWORK_RANDOM_CASES=1 reproduces it");
            writeln!(std::io::stderr(), "{again}").ok();
            std::panic::resume_unwind(panic);
        }
    }
}

/// Returns the texts of a folder of `tests/corpus`, sorted by file name.
pub(crate) fn corpus(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let files = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// Returns one of the texts with some pieces deleted, duplicated, moved, cut off, swapped for
/// pieces of other texts, or replaced by special characters.
pub(crate) fn changed(random: &mut Rng, corpus: &[String]) -> String {
    const ODD: [&str; 30] = [
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\t",
        " ",
        "",
        "\u{feff}",
        "\0",
        "\u{1b}[31m",
        "\u{202e}",
        "é",
        "｜",
        "读",
        "👍",
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "</",
        ":",
        "#",
        "```",
        "null",
        "-1",
        "1e999",
    ];
    let mut text = random.choice(corpus).cloned().unwrap_or_default();
    for _ in 0..random.usize(0..6) {
        let (from, to) = piece(random, &text);
        let taken = text[from..to].to_owned();
        match random.u8(0..7) {
            0 => text.replace_range(from..to, ""),
            1 => text.insert_str(to, &taken),
            2 => text.truncate(from),
            3 => text.replace_range(from..to, random.choice(ODD).unwrap_or_default()),
            4 => text.insert_str(from, random.choice(ODD).unwrap_or_default()),
            5 => {
                let (at, _) = piece(random, &text);
                text.insert_str(at, &taken);
            }
            _ => {
                let other = random.choice(corpus).cloned().unwrap_or_default();
                let (first, last) = piece(random, &other);
                text.replace_range(from..to, &other[first..last]);
            }
        }
    }
    text
}

/// Returns the start and end of a random piece of the text: often a whole line.
pub(crate) fn piece(random: &mut Rng, text: &str) -> (usize, usize) {
    let near = |at: usize| (at..=text.len()).find(|at| text.is_char_boundary(*at));
    let at = near(random.usize(0..=text.len())).unwrap_or(text.len());
    if random.bool() {
        let from = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let to = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        return (from, to);
    }
    let to = near((at + random.usize(0..40)).min(text.len())).unwrap_or(text.len());
    (at, to)
}
