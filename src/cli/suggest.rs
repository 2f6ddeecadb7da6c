//! Suggests a valid word for a wrong one on the command line.

use std::borrow::Cow;
use std::ffi::OsString;

use crate::error::Error;
use crate::nearest::nearest;
use crate::shell_quote::quoted;

/// Commands that remove something: none of them is suggested for another word.
const REMOVES: [&str; 2] = ["delete", "prune"];

/// Adds a hint to the error: the command line with the nearest candidate instead of the wrong word,
/// or `otherwise` if no candidate is near or the corrected line would remove something.
pub(crate) fn hinted<'a>(
    error: Error,
    wrong: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> Error {
    let line = nearest(wrong, candidates).map(|right| corrected(wrong, right));
    match line.filter(|line| !line.split(' ').any(|word| REMOVES.contains(&word))) {
        Some(line) => error.hint(format!("did you mean: {line}")),
        None => error.hint(otherwise),
    }
}

/// The command line of this process, with one word corrected.
pub(crate) fn corrected(wrong: &str, right: &str) -> String {
    corrected_in(std::env::args_os().skip(1), wrong, right)
}

fn corrected_in(args: impl Iterator<Item = OsString>, wrong: &str, right: &str) -> String {
    let mut line = "git cowork".to_owned();
    let mut is_done = false;
    for arg in args {
        let arg = arg.to_string_lossy();
        let right = (!is_done).then(|| replaced(&arg, wrong, right)).flatten();
        is_done |= right.is_some();
        line.push(' ');
        line.push_str(&quoted(&right.map_or(arg, Cow::Owned)));
    }
    line
}

/// Corrects `wrong`, `wrong=value`, `--option=wrong` and `wrong@stage`.
fn replaced(arg: &str, wrong: &str, right: &str) -> Option<String> {
    let rest =
        arg.strip_prefix(wrong).filter(|rest| rest.is_empty() || rest.starts_with(['=', '@']));
    let behind = || Some(format!("{}={right}", arg.strip_suffix(wrong)?.strip_suffix('=')?));
    rest.map(|rest| format!("{right}{rest}")).or_else(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_is_put_right_and_the_line_can_be_pasted() {
        let line = |args: &[&str], wrong, right| {
            corrected_in(args.iter().map(OsString::from), wrong, right)
        };
        assert_eq!(line(&["stauts", "todo"], "stauts", "status"), "git cowork status todo");
        assert_eq!(
            line(&["new", "it's new", "--stop-after=prdd"], "prdd", "prd"),
            r"git cowork new 'it'\''s new' '--stop-after=prd'"
        );
        assert_eq!(
            line(&["show", "--sesion=x"], "--sesion", "--session"),
            "git cowork show '--session=x'"
        );
        assert_eq!(line(&["restore", "a", "a"], "a", "b"), "git cowork restore b a");
    }
}
