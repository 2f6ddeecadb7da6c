//! Completion for bash. Unlike the script of clap_complete, this one handles `--to=pl`, which bash
//! splits into three words, and lists values with their descriptions.

use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;

use clap_complete::CompletionCandidate;
use clap_complete::engine::complete;
use clap_complete::env::EnvCompleter;

use crate::ui::one_line;

/// Variables in which the script passes two values: the index of the word that is to be completed,
/// and bash's `COMP_TYPE`.
const PLACE: &str = "_COWORK_PLACE";
const TYPE: &str = "_COWORK_TYPE";

/// Columns if the width of the terminal is unknown.
const COLUMNS: usize = 80;

/// Completion for bash 3.2 and newer.
pub(crate) struct Bash;

/// `__cowork_offer PLACE WORD…` completes the word at index PLACE. To bash, a word begins after the
/// last `=` or `:`, so the script removes the text before it. If bash has no `compopt`, the script
/// adds the space after a single candidate. `__cowork_complete` joins words that bash split.
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
    # Ignore the text after the cursor.
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
        // If `COMP_TYPE` is `?`, `!` or `@`, bash lists the candidates and inserts only their
        // common prefix.
        let listed = matches!(said(TYPE).as_deref(), Some("63" | "33" | "64"));
        let columns = said("COLUMNS").and_then(|columns| columns.parse().ok()).unwrap_or(COLUMNS);
        for line in lines(&offered, listed && offered.len() > 1, columns) {
            writeln!(buf, "{line}")?;
        }
        Ok(())
    }
}

/// Returns one line for each value. If `listed`, the value is followed by its description,
/// shortened so that the line fits into `columns`.
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
    fn values_have_descriptions_if_they_are_listed() {
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
