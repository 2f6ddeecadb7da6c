//! Bash's side of completion. The library's own script leaves `--to=pl` in three words and lists
//! values without what they mean.

use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;

use clap_complete::CompletionCandidate;
use clap_complete::engine::complete;
use clap_complete::env::EnvCompleter;

use crate::ui::one_line;

/// Variables in which the script says where the cursor is and why bash asks.
const PLACE: &str = "_COWORK_PLACE";
const TYPE: &str = "_COWORK_TYPE";

/// Columns of a terminal that does not say how wide it is.
const COLUMNS: usize = 80;

/// Bash, from 3.2 on.
pub(crate) struct Bash;

/// `__cowork_offer PLACE WORD…` answers for the word at that place. Bash takes a word to begin
/// behind the last `=` or `:`, and wants no more than what follows. A version without `compopt` gets
/// the space behind a single answer from us. `__cowork_complete` puts together what bash split there.
const SCRIPT: &str = r#"
__cowork_offer() {
    local place=$1 breaks= before= one
    shift
    local -a given=("$@")
    local typed=${given[place]-}
    [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='
    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'
    [[ -n $breaks ]] && before=${typed%"${typed##*[$breaks]}"}
    COMPREPLY=()
    while IFS= read -r one; do
        [[ -n $one ]] && COMPREPLY+=("${one#"$before"}")
    done <<<"$(_COWORK_PLACE=$place _COWORK_TYPE=$COMP_TYPE COLUMNS=$COLUMNS VAR=bash BIN -- "$@" 2>/dev/null)"
    [[ ${#COMPREPLY[@]} == 1 ]] || return 0
    if [[ ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace 2>/dev/null
    else
        compopt +o nospace 2>/dev/null || COMPREPLY[0]+=' '
    fi
    return 0
}
__cowork_complete() {
    local -a parts=()
    local i last=-1 place=0 line=${COMP_LINE:0:COMP_POINT}
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        if ((i > 1)) && [[ ${COMP_WORDS[i]} == [=:]* || ${COMP_WORDS[i-1]} == *[=:] ]]; then
            parts[last]+=${COMP_WORDS[i]}
        else
            parts[++last]=${COMP_WORDS[i]}
        fi
        ((i == COMP_CWORD)) && place=$last
    done
    # What stands behind the cursor is not typed yet.
    while [[ -n ${parts[place]} && $line != *"${parts[place]}" ]]; do
        parts[place]=${parts[place]%?}
    done
    __cowork_offer "$place" "${parts[@]}"
}
complete -o nospace -o bashdefault -o default -F __cowork_complete BIN
"#;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        var: &str,
        _name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> Result<(), Error> {
        let script = SCRIPT.replace("VAR=", &format!("{var}="));
        let script = script.replace("BIN --", &format!("{completer} --"));
        buf.write_all(script.replace("BIN\n", &format!("{bin}\n")).as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> Result<(), Error> {
        let said = |name: &str| std::env::var(name).ok();
        let place = said(PLACE).and_then(|place| place.parse().ok()).unwrap_or_default();
        let offered = complete(command, args, place, current_dir)?;
        // `?`, `!` and `@`: bash lists what there is, and puts into the line only what all begin with.
        let listed = matches!(said(TYPE).as_deref(), Some("63" | "33" | "64"));
        let columns = said("COLUMNS").and_then(|columns| columns.parse().ok()).unwrap_or(COLUMNS);
        for line in lines(&offered, listed && offered.len() > 1, columns) {
            writeln!(buf, "{line}")?;
        }
        Ok(())
    }
}

/// A line for each value, with what it means where they are listed in so many columns.
fn lines(offered: &[CompletionCandidate], listed: bool, columns: usize) -> Vec<String> {
    let value = |one: &CompletionCandidate| one.get_value().to_string_lossy().into_owned();
    let width = offered.iter().map(|one| value(one).chars().count()).max().unwrap_or_default();
    // Two spaces, two parentheses, and one column that bash leaves free.
    let room = columns.saturating_sub(width + 5);
    let line = |one: &CompletionCandidate| match one.get_help().filter(|_| listed && room > 0) {
        Some(help) => format!("{:width$}  ({})", value(one), one_line(&help.to_string(), room)),
        None => value(one),
    };
    offered.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_values_mean_is_told_where_they_are_listed() {
        let offered = [
            CompletionCandidate::new("prd").help(Some("prd.md".into())),
            CompletionCandidate::new("design").help(Some("a very long description".into())),
            CompletionCandidate::new("x"),
        ];
        assert_eq!(lines(&offered, false, 80), ["prd", "design", "x"]);
        let told = lines(&offered, true, 24);
        assert_eq!(told[0], "prd     (prd.md)");
        assert!(told[1].starts_with("design  (a very") && told[1].chars().count() < 24, "{told:?}");
        assert_eq!(told[2], "x");
        assert_eq!(lines(&offered, true, 8), ["prd", "design", "x"]);
    }
}
