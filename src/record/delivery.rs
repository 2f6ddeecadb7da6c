//! The text of a delivered session: the report as the message of a merge and as the text of a pull
//! request, each with the same trailers at its end.

use anyhow::Result;

use super::Credit;
use crate::artifact::check::pr_title;
use crate::artifact::{Artifact, Store};
use crate::config::Project;
use crate::error::Error;
use crate::git::Git;
use crate::markdown_lines::{is_fence, unwrapped};
use crate::secret::Secrets;
use crate::session::{CommittedFiles, Kind, Message, Session, Trailers, key, marked};

/// Maximum number of characters of a merge message.
const MAX_MESSAGE: usize = 60_000;

/// The title, the report and the trailers of a delivered session.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The report's first line.
    pub title: String,
    /// The subject of a merge.
    pub subject: String,
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
    pub fn of_session(
        git: &Git,
        session: &Session,
        project: &Project,
        secrets: &Secrets,
    ) -> Result<Self> {
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
        session
            .history
            .iter()
            .filter(|e| work(&e.kind))
            .for_each(|e| credit.merge(Credit::in_entry(e)));
        credit.push(&mut trailers, project.attribution);
        // A person may have edited the report since it was recorded.
        let (title, report) = (secrets.blanked(&title), secrets.blanked(rest.trim()));
        let subject = project.subject_of_merge(&title);
        Ok(Self { title: title.into_owned(), subject, report: report.into_owned(), trailers })
    }

    /// The message of a merge.
    pub fn message(&self) -> String {
        let body = unwrapped(&self.cut(&self.report, MAX_MESSAGE));
        Message { subject: self.subject.clone(), body, trailers: self.trailers.clone() }.render()
    }

    /// The text of a pull request, in at most `most` characters. A forge that squashes uses it as
    /// the commit message, so none of its lines may look to git like the end of a message.
    pub fn text(&self, most: usize) -> String {
        let trailers = self.trailers.render();
        let room = most.saturating_sub(trailers.chars().count() + "\n\n".len());
        match self.cut(&marked(&self.report), room) {
            report if report.is_empty() => trailers,
            report => format!("{report}\n\n{trailers}"),
        }
    }

    /// At most this many characters of the report, in whole lines, and the command that shows all
    /// of it; an open code block is closed.
    fn cut(&self, report: &str, most: usize) -> String {
        let is_open = |text: &str| text.lines().filter(|line| is_fence(line)).count() % 2 == 1;
        let close =
            |text: &str| if is_open(text) { format!("{text}\n```") } else { text.to_owned() };
        let whole = close(report);
        if whole.chars().count() <= most {
            return whole;
        }
        let session = self.trailers.get(key::SESSION).unwrap_or_default();
        let rest = format!("\n\n(cut here; the whole report: `git cowork show {session} report`)");
        let room = most.saturating_sub(rest.chars().count() + "\n```".len());
        let head: String = report.chars().take(room).collect();
        close(head.rsplit_once('\n').map_or("", |(head, _)| head.trim_end())) + &rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(report: &str) -> Delivery {
        let mut trailers = Trailers::default();
        trailers.push(key::SESSION, "todo");
        trailers.push(key::SESSION_ID, "1-2");
        trailers.push(key::EVENT, "merge");
        let title = "Add todos".to_owned();
        Delivery { subject: title.clone(), title, report: report.to_owned(), trailers }
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
            for text in
                [delivery(report).message(), format!("T\n\n{}", delivery(report).text(9_000))]
            {
                let found = Trailers::parse(&text);
                assert_eq!(found.get(key::SESSION_ID), Some("1-2"), "{text}");
                assert!(!text.lines().any(|line| line.starts_with("---")), "{text}");
                assert!(text.ends_with(
                    "\n\nCowork-Session: todo\nCowork-Session-Id: 1-2\nCowork-Event: merge\n"
                ));
            }
        }
    }

    #[test]
    fn tables_and_graphs_stay_whole() {
        let row = format!("| {} | b |", "word ".repeat(40));
        let text = delivery(&format!("## T\n\n{row}\n\n```mermaid\ngraph LR\n  A --> B\n```"));
        assert!(text.message().contains(&row));
        let body = text.text(9_000);
        assert!(body.contains(&row) && body.contains("```mermaid\ngraph LR"));
    }

    #[test]
    fn a_long_report_is_cut_at_a_line_and_its_fence_is_closed() {
        let report = format!("```\n{}", "----\u{e9}6789\n".repeat(10_000));
        for most in [300, 4_000, 65_536] {
            let text = delivery(&report).text(most);
            let length = text.chars().count();
            assert!(length <= most && length + 20 > most, "{length}");
            let rest = "6789\n```\n\n(cut here; the whole report: `git cowork show todo report`)\n\nCowork-";
            assert!(text.contains(rest), "{}", &text[text.len() - 200..]);
        }
        assert!(delivery(&report).message().contains("`git cowork show todo report`)\n\nCowork-"));
    }
}
