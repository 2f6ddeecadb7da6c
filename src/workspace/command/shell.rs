//! Splits a shell script into simple commands, precisely enough to check what it runs.
//!
//! Not a shell: expansions are kept as written, and quoted text is one word. Unlike a substring
//! search, it does not mistake a word in a string or here-document for a command.

/// The simple commands of a script, including those in subshells and substitutions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// The words of each command, without quotes and redirections.
    pub commands: Vec<Vec<String>>,
    /// Indices of the commands that read from a pipe.
    pub fed: Vec<usize>,
    /// True if a command runs in the background (`&`).
    pub background: bool,
}

/// Splits `text`. Never fails: for an invalid script, returns the commands that were recognized.
pub(crate) fn split(text: &str) -> Script {
    let mut splitter = Splitter { chars: text.chars().collect(), ..Splitter::default() };
    splitter.run();
    splitter.script
}

/// Maximum depth of nested subshells that are parsed.
const DEPTH_MAX: usize = 16;

#[derive(Default)]
struct Splitter {
    chars: Vec<char>,
    at: usize,
    word: Option<String>,
    words: Vec<String>,
    /// The command reads from a pipe.
    fed: bool,
    /// The next word is the target of a redirection.
    target: bool,
    /// Delimiters of here-documents that begin on the next line; true = leading tabs are stripped.
    documents: Vec<(String, bool)>,
    depth: usize,
    script: Script,
}

impl Splitter {
    fn run(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escaped(),
                '\'' => {
                    let text = self.until('\'');
                    self.word().push_str(&text);
                }
                '"' => self.double_quoted(),
                '$' if self.peek() == Some('(') => self.substitution(),
                '`' => {
                    let inner = self.until('`');
                    self.nested(&inner);
                    self.word().push_str("$()");
                }
                '#' if self.word.is_none() => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end_command();
                    self.skip_documents();
                }
                ';' | '(' | ')' => self.end_command(),
                '|' => {
                    let or = self.take('|');
                    self.take('&');
                    self.end_command();
                    self.fed = !or;
                }
                '&' => self.ampersand(),
                '<' | '>' => self.redirection(c),
                _ => self.word().push(c),
            }
        }
        self.end_command();
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += 1;
        c
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let there = self.peek() == Some(c);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take()
            && !std::mem::take(&mut self.target)
        {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.target = false;
        if !self.words.is_empty() {
            if std::mem::take(&mut self.fed) {
                self.script.fed.push(self.script.commands.len());
            }
            self.script.commands.push(std::mem::take(&mut self.words));
        }
    }

    fn escaped(&mut self) {
        match self.next() {
            Some('\n') | None => {}
            Some(c) => self.word().push(c),
        }
    }

    fn until(&mut self, end: char) -> String {
        let mut text = String::new();
        while let Some(c) = self.next().filter(|c| *c != end) {
            text.push(c);
        }
        text
    }

    fn double_quoted(&mut self) {
        self.word();
        while let Some(c) = self.next().filter(|c| *c != '"') {
            match c {
                '\\' => self.escaped(),
                '$' if self.peek() == Some('(') => self.substitution(),
                '`' => {
                    let inner = self.until('`');
                    self.nested(&inner);
                }
                _ => self.word().push(c),
            }
        }
    }

    /// Parses `$(…)` or `$((…))`, starting at its parenthesis.
    fn substitution(&mut self) {
        let inner = self.parenthesised();
        // Arithmetic runs no command.
        if !inner.starts_with('(') {
            self.nested(&inner);
        }
        self.word().push_str("$()");
    }

    /// Returns the text between the parenthesis at the current position and its closing one.
    fn parenthesised(&mut self) -> String {
        let mut inner = String::new();
        let mut open = 0_usize;
        let mut quote = None;
        while let Some(c) = self.next() {
            match (c, quote) {
                ('\'' | '"', None) => quote = Some(c),
                (_, Some(q)) if c == q => quote = None,
                ('(', None) => open += 1,
                (')', None) => open -= 1,
                _ => {}
            }
            if open == 0 {
                break;
            }
            inner.push(c);
        }
        inner.chars().skip(1).collect()
    }

    fn nested(&mut self, text: &str) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        let mut inner =
            Self { chars: text.chars().collect(), depth: self.depth + 1, ..Self::default() };
        inner.run();
        let before = self.script.commands.len();
        self.script.fed.extend(inner.script.fed.iter().map(|at| before + at));
        self.script.commands.extend(inner.script.commands);
        self.script.background |= inner.script.background;
    }

    fn ampersand(&mut self) {
        if self.take('&') {
            self.end_command();
        } else if self.peek() == Some('>') {
            self.at += 1;
            self.redirection('>');
        } else {
            self.end_command();
            self.script.background = true;
        }
    }

    /// Parses a redirection after `<` or `>`, up to its target, which is not a word of the command.
    fn redirection(&mut self, first: char) {
        // The `2` of `2>file` is a file descriptor.
        if self.word.as_ref().is_some_and(|w| w.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        if self.peek() == Some('(') {
            let inner = self.parenthesised();
            self.nested(&inner);
            return;
        }
        if first == '<' && self.take('<') {
            if self.take('<') {
                self.target = true;
            } else {
                self.document();
            }
            return;
        }
        while self.peek().is_some_and(|c| matches!(c, '>' | '<' | '|' | '&')) {
            self.at += 1;
        }
        self.target = true;
    }

    /// Parses a here-document's delimiter, after `<<`.
    fn document(&mut self) {
        let tabs = self.take('-');
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        let mut delimiter = String::new();
        while let Some(c) = self.peek().filter(|c| !c.is_whitespace() && !";&|<>()".contains(*c)) {
            self.at += 1;
            if !matches!(c, '\'' | '"' | '\\') {
                delimiter.push(c);
            }
        }
        self.documents.push((delimiter, tabs));
    }

    fn skip_documents(&mut self) {
        for (delimiter, tabs) in std::mem::take(&mut self.documents) {
            while self.peek().is_some() {
                let line = self.until('\n');
                let line = if tabs { line.trim_start_matches('\t') } else { line.as_str() };
                if line == delimiter {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<String> {
        split(text).commands.iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn operators_separate_commands_and_quotes_join_words() {
        assert_eq!(
            commands("a 'b;c' && d \"e & f\" | g\\ h; (i) || j # k & l\nm"),
            ["a b;c", "d e & f", "g h", "i", "j", "m"]
        );
        assert_eq!(split("a 'x y'").commands, [["a", "x y"]]);
    }

    #[test]
    fn pipes_are_distinguished_from_or() {
        assert_eq!(split("a | b |& c || d $(e | f); g |\n h").fed, [1, 2, 4, 7]);
        assert_eq!(commands("a | b $(c)"), ["a", "c", "b $()"]);
        assert_eq!(split("a | b $(c)").fed, [2]);
    }

    #[test]
    fn only_a_lone_ampersand_is_background() {
        for text in ["a && b", "a 2>&1", "a &> f", "a >&2", "echo 'a & b'", "a <&3 | b", "a |& b"] {
            assert!(!split(text).background, "{text}");
        }
        for text in ["a &", "a & b", "(a &)", "echo $(a &)", "echo \"`a & b`\"", "a 2>&1 & wait"] {
            assert!(split(text).background, "{text}");
        }
    }

    #[test]
    fn substitutions_are_commands_and_redirections_are_not_words() {
        assert_eq!(commands("echo \"$(git tag x)\" >out 2>>err <in"), ["git tag x", "echo $()"]);
        assert_eq!(commands("a <(b c) 2>&1 d"), ["b c", "a d"]);
        assert_eq!(commands("echo $((1 & 2)) $(echo \")\")"), ["echo )", "echo $() $()"]);
    }

    #[test]
    fn here_documents_are_data() {
        let text = "cat <<'EOF' > f && ls\ngit commit & \nEOF\ncat <<-E\n\tx &\n\tE\npwd";
        let script = split(text);
        assert!(!script.background);
        assert_eq!(commands(text), ["cat", "ls", "cat", "pwd"]);
    }

    #[test]
    fn invalid_scripts_are_parsed_without_a_panic() {
        for text in ["'", "\"$(", "$(((", "a <<", "`", "\\", ">", "<(", ")", "$())", "&"] {
            split(text);
        }
        split(&"$(".repeat(10_000));
    }
}
