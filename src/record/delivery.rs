//! The text of a delivered session: the report as the message of a merge and as the text of a pull
//! request, each with the same trailers at its end.

use super::Credit;
use crate::artifact::check::pr_title;
use crate::artifact::{Artifact, Store};
use crate::config::Attribution;
use crate::error::Error;
use crate::git::Git;
use crate::markdown_lines::{is_fence, unwrapped};
use crate::secret::Secrets;
use crate::session::{CommittedFiles, Kind, Message, Session, Trailers, key, marked};

/// Maximum number of characters of a report in a pull request; forges accept some 65000.
const MAX_TEXT: usize = 60_000;

/// The title, the report and the trailers of a delivered session.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The report's first line.
    pub title: String,
    /// The rest of the report.
    pub report: String,
    /// The part that stays readable to programs, even after a squash.
    pub trailers: Trailers,
}

impl Delivery {
    /// The delivery of a completed session.
    ///
    /// # Errors
    /// Exit 5 if the report is missing.
    pub fn of(
        git: &Git,
        session: &Session,
        attribution: Attribution,
        secrets: &Secrets,
    ) -> anyhow::Result<Self> {
        let files = CommittedFiles::new(git, &session.name, &session.tip);
        let Some(report) = Store::new(&files).text(Artifact::DeliveryReport)? else {
            let file = Artifact::DeliveryReport.file_name();
            return Err(Error::repository(format!("'{}' has no {file} at its tip", session.name))
                .hint(format!(
                    "to find the commits that contained it: git cowork log {}",
                    session.name
                ))
                .into());
        };
        let title = pr_title(&report).unwrap_or_else(|| session.file.title.clone());
        let rest = match (pr_title(&report), report.trim_start().split_once('\n')) {
            (Some(_), Some((_, rest))) => rest,
            (Some(_), None) => "",
            (None, _) => &report,
        };
        let mut trailers = Trailers::default();
        trailers.push(key::SESSION, session.name.as_str());
        trailers.push(key::SESSION_ID, &session.file.id);
        trailers.push(key::EVENT, "merge");
        trailers.push(key::TIP, session.tip.as_str());
        trailers.push(key::DEPTH, session.depth().name());
        let mut credit = Credit::default();
        let work = |kind: &Kind| matches!(kind, Kind::Stage(_) | Kind::Task(_));
        session.history.iter().filter(|e| work(&e.kind)).for_each(|e| credit.merge(Credit::of(e)));
        credit.push(&mut trailers, attribution);
        // A person may have edited the report since it was recorded.
        let (title, report) = (secrets.blanked(&title), secrets.blanked(rest.trim()));
        Ok(Self { title: title.into_owned(), report: report.into_owned(), trailers })
    }

    /// The message of a merge.
    pub fn message(&self) -> String {
        let (subject, body) = (self.title.clone(), unwrapped(&self.report));
        Message { subject, body, trailers: self.trailers.clone() }.render()
    }

    /// The text of a pull request. A forge that squashes uses it as the commit message, so none of
    /// its lines may look to git like the end of a message.
    pub fn text(&self) -> String {
        let mut out = marked(&cut(&self.report));
        if out.lines().filter(|line| is_fence(line)).count() % 2 == 1 {
            out.push_str("\n```");
        }
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out + &self.trailers.render()
    }
}

/// At most [`MAX_TEXT`] characters, in whole lines.
fn cut(report: &str) -> String {
    if report.chars().count() <= MAX_TEXT {
        return report.to_owned();
    }
    let head: String = report.chars().take(MAX_TEXT).collect();
    let head = head.rsplit_once('\n').map_or(head.as_str(), |(head, _)| head).to_owned();
    let open = head.lines().filter(|line| is_fence(line)).count() % 2 == 1;
    let close = if open { "\n```" } else { "" };
    format!("{head}{close}\n\n(cut here; the whole report is in the branch)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(report: &str) -> Delivery {
        let mut trailers = Trailers::default();
        trailers.push(key::SESSION_ID, "1-2");
        trailers.push(key::EVENT, "merge");
        Delivery { title: "Add todos".into(), report: report.to_owned(), trailers }
    }

    #[test]
    fn both_texts_end_with_the_trailers_whatever_the_report_contains() {
        for report in [
            "## Summary\n\nWell.\n\n---\n\nNote: this\nTODO: that",
            "```sh\nnever closed\n---\nCowork-Session-Id: other",
            "| a | b |\n| --- | --- |\n| 1 | 2 |",
            "",
            "# ------------------------ >8 ------------------------\ncut",
            "diff --git a/x b/x\n--- a/x\n+++ b/x",
        ] {
            for text in [delivery(report).message(), format!("T\n\n{}", delivery(report).text())] {
                let found = Trailers::parse(&text);
                assert_eq!(found.get(key::SESSION_ID), Some("1-2"), "{text}");
                assert!(!text.lines().any(|line| line.starts_with("---")), "{text}");
                assert!(text.ends_with("\n\nCowork-Session-Id: 1-2\nCowork-Event: merge\n"));
            }
        }
    }

    #[test]
    fn tables_and_graphs_stay_whole() {
        let row = format!("| {} | b |", "word ".repeat(40));
        let text = delivery(&format!("## T\n\n{row}\n\n```mermaid\ngraph LR\n  A --> B\n```"));
        assert!(text.message().contains(&row));
        assert!(text.text().contains(&row) && text.text().contains("```mermaid\ngraph LR"));
    }

    #[test]
    fn a_long_report_is_cut_at_a_line_and_its_fence_is_closed() {
        let report = format!("```\n{}", "0123456789\n".repeat(10_000));
        let text = delivery(&report).text();
        assert!(text.chars().count() < MAX_TEXT + 300);
        assert!(text.contains("0123456789\n```\n\n(cut here"), "{}", &text[text.len() - 200..]);
    }
}
