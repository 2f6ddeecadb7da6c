//! CI runners: whether one started this program, and what it takes for orders in the lines of a
//! log.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Variables that runners set besides `CI`, or without it: Azure Pipelines (`TF_BUILD`), TeamCity
/// and Jenkins do not set `CI`.
const VARIABLES: [&str; 7] = [
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "BUILDKITE",
    "TF_BUILD",
    "TEAMCITY_VERSION",
    "JENKINS_NODE_COOKIE",
    "CODEBUILD_BUILD_ID",
];

/// What runners obey anywhere in a line: GitHub's older commands, Azure's, TeamCity's.
const ORDERS: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// What GitHub's runner obeys at the beginning of a line
/// (<https://docs.github.com/actions/reference/workflow-commands-for-github-actions>).
const ORDER_OF_LINE: &str = "::";

/// The variable that says that a runner started the program; `None` if it is on a person's machine.
/// `CI=false` and `CI=0` say so whatever else is set.
pub(crate) fn variable(env: &BTreeMap<String, String>) -> Option<&'static str> {
    let value = |name| env.get(name).map(String::as_str).filter(|value| !value.is_empty());
    match value("CI") {
        Some("false" | "0") => None,
        Some(_) => Some("CI"),
        None => VARIABLES.into_iter().find(|name| value(name).is_some()),
    }
}

/// Lines that no runner obeys: a space is put into an order.
pub(crate) fn without_orders(text: &str) -> Cow<'_, str> {
    if !text.contains(ORDER_OF_LINE) && !ORDERS.iter().any(|order| text.contains(order)) {
        return Cow::Borrowed(text);
    }
    let mut lines = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let begin = line.len() - line.trim_start().len();
        let (indent, rest) = line.split_at(begin);
        lines.push_str(indent);
        lines.push_str(&match rest.strip_prefix(ORDER_OF_LINE) {
            Some(rest) => format!(": :{rest}"),
            None => rest.to_owned(),
        });
    }
    let spaced = |text: String, order: &&str| text.replace(*order, &order.replacen("##", "# #", 1));
    Cow::Owned(ORDERS.iter().fold(lines, spaced))
}

/// JSON that no runner obeys, with the same meaning: two number signs only stand in strings.
pub(crate) fn json_without_orders(json: &str) -> Cow<'_, str> {
    Cow::Owned(json.replace("##", "#\\u0023"))
}

/// True if standard output is redirected to a file: a runner obeys only lines of its log.
pub(crate) fn prints_to_file() -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        let stdout = io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
        stdout.and_then(|stdout| stdout.metadata()).is_ok_and(|meta| meta.is_file())
    }
    #[cfg(not(unix))]
    {
        false
    }
}

/// Writes whole lines, changed by a function such as [`without_orders`]: an order may come in
/// pieces.
pub(crate) struct Harmless<W: Write> {
    to: W,
    change: fn(&str) -> Cow<'_, str>,
    line: Vec<u8>,
}

impl<W: Write> Harmless<W> {
    pub(crate) fn new(to: W, change: fn(&str) -> Cow<'_, str>) -> Self {
        Self { to, change, line: Vec::new() }
    }

    fn put(&mut self, end: usize) -> io::Result<()> {
        let lines: Vec<u8> = self.line.drain(..end).collect();
        let lines = String::from_utf8_lossy(&lines);
        self.to.write_all((self.change)(&lines).as_bytes())?;
        self.to.flush()
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if let Some(last) = memchr::memrchr(b'\n', &self.line) {
            self.put(last + 1)?;
        }
        Ok(bytes.len())
    }

    /// A line that has not ended waits for its end.
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W: Write> Drop for Harmless<W> {
    fn drop(&mut self) {
        // Nobody is left who could be told of an error.
        let _ = self.put(self.line.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_is_known_by_its_variables() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            variable(&pairs.collect())
        };
        for value in ["true", "1", "yes", "True"] {
            assert_eq!(of(&[("CI", value)]), Some("CI"));
        }
        for value in ["false", "0", ""] {
            assert_eq!(of(&[("CI", value)]), None);
        }
        assert_eq!(of(&[("TF_BUILD", "True")]), Some("TF_BUILD"));
        assert_eq!(of(&[("CI", "false"), ("GITHUB_ACTIONS", "true")]), None);
        assert_eq!(of(&[("CI", ""), ("GITHUB_ACTIONS", "true")]), Some("GITHUB_ACTIONS"));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn no_order_stays_in_a_line_however_it_is_written() {
        let text = "a::b\n::add-mask::x\n  ::set-output name=a::b\n##[error]x ##vso[task.x]y\n\
                    ##teamcity[x]\n::end";
        let harmless = "a::b\n: :add-mask::x\n  : :set-output name=a::b\n# #[error]x # #vso[task.x]y\n\
                        # #teamcity[x]\n: :end";
        assert_eq!(without_orders(text), harmless);
        let json = serde_json::to_string(text).unwrap();
        assert!(!json_without_orders(&json).contains("##"));
        assert_eq!(serde_json::from_str::<String>(&json_without_orders(&json)).unwrap(), text);
        for size in 1..text.len() {
            let mut written = Vec::new();
            let mut writer = Harmless::new(&mut written, without_orders);
            for piece in text.as_bytes().chunks(size) {
                writer.write_all(piece).unwrap();
                writer.flush().unwrap();
            }
            drop(writer);
            assert_eq!(String::from_utf8(written).unwrap(), harmless);
        }
    }
}
