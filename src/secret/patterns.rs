//! Patterns of well-known keys as documented by their issuers: prefix, alphabet, length.
//!
//! Examples are not reported: those that contain a word such as `EXAMPLE` (`AKIAIOSFODNN7EXAMPLE`),
//! and those with too few distinct characters for a key (`ghp_xxxxxxxx…`). Do not add a pattern
//! that matches ordinary text.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexSet};

/// Upper limit of a key's length in bytes.
pub(super) const LONGEST: usize = 16 * 1024;

/// Upper limit of nearly all keys' length in bytes.
pub(super) const USUAL: usize = 256;

/// Kind with its article, and the pattern; the group `key` is the random part.
const PATTERNS: [(&str, &str); 46] = [
    (
        "a private key",
        r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?s:.{0,200}?)(?P<key>[A-Za-z0-9+/]{40})(?:[A-Za-z0-9+/=]|\\?[nr\s])*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    ("an AWS access key id", r"\b(?:AKIA|ASIA)(?P<key>[A-Z0-9]{16})\b"),
    ("a GitHub token", r"\b(?:gh[pousr]_|github_pat_)(?P<key>[A-Za-z0-9_]{36,})\b"),
    ("a GitLab token", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-(?P<key>[A-Za-z0-9_-]{20,})"),
    ("a Slack token", r"\bxox[abeoprs]-(?P<key>[0-9]{6,}-[A-Za-z0-9-]{10,})"),
    (
        "a Slack webhook",
        r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/(?P<key>[A-Za-z0-9]{20,})",
    ),
    ("a Google API key", r"\bAIza(?P<key>[A-Za-z0-9_-]{35})"),
    ("an Anthropic key", r"\bsk-ant-(?P<key>[A-Za-z0-9_-]{32,})"),
    (
        "an OpenAI key",
        r"\bsk-(?:(?:proj|svcacct|admin|or-v1)-(?P<key>[A-Za-z0-9_-]{32,})|(?P<old>[A-Za-z0-9]{32,})\b)",
    ),
    ("a Stripe key", r"\b[sr]k_live_(?P<key>[A-Za-z0-9]{16,})\b"),
    ("an npm token", r"\bnpm_(?P<key>[A-Za-z0-9]{36})\b"),
    ("a PyPI token", r"\bpypi-AgE(?P<key>[A-Za-z0-9_-]{50,})"),
    ("a Hugging Face token", r"\bhf_(?P<key>[A-Za-z0-9]{34,})\b"),
    ("a Google OAuth secret", r"\bGOCSPX-(?P<key>[A-Za-z0-9_-]{28})"),
    ("a Google access token", r"\bya29\.(?P<key>[A-Za-z0-9_-]{30,})"),
    ("an Azure storage key", r"\bAccountKey=(?P<key>[A-Za-z0-9+/]{86}==)"),
    ("an xAI key", r"\bxai-(?P<key>[A-Za-z0-9]{60,})\b"),
    ("a Groq key", r"\bgsk_(?P<key>[A-Za-z0-9]{40,})\b"),
    ("a Perplexity key", r"\bpplx-(?P<key>[A-Za-z0-9]{40,})\b"),
    ("a Replicate token", r"\br8_(?P<key>[A-Za-z0-9]{37})\b"),
    ("a Docker token", r"\bdckr_(?:pat|oat)_(?P<key>[A-Za-z0-9_-]{27,})"),
    ("a DigitalOcean token", r"\bdo[opr]_v1_(?P<key>[a-f0-9]{64})\b"),
    ("a Shopify token", r"\bshp(?:at|ca|pa|ss)_(?P<key>[A-Fa-f0-9]{32})\b"),
    ("a Square token", r"\bsq0(?:atp|csp)-(?P<key>[A-Za-z0-9_-]{22,})"),
    ("a Linear key", r"\blin_api_(?P<key>[A-Za-z0-9]{40})\b"),
    ("a Databricks token", r"\bdapi(?P<key>[a-f0-9]{32})\b"),
    ("an Atlassian token", r"\bATATT3(?P<key>[A-Za-z0-9_=-]{150,})"),
    ("a Vault token", r"\bhv[sbr]\.(?P<key>[A-Za-z0-9_-]{24,})"),
    ("a Terraform token", r"\b[A-Za-z0-9]{14}\.atlasv1\.(?P<key>[A-Za-z0-9_=-]{60,})"),
    ("a PlanetScale token", r"\bpscale_(?:tkn|pw|oauth)_(?P<key>[A-Za-z0-9_=.-]{32,})"),
    ("a Grafana token", r"\bgl(?:sa|c)_(?P<key>[A-Za-z0-9+/]{32,})"),
    ("a New Relic key", r"\bNRAK-(?P<key>[A-Z0-9]{27})\b"),
    ("a Sentry token", r"\bsntry[su]_(?P<key>[A-Za-z0-9+/=_]{40,})"),
    ("a Postman key", r"\bPMAK-(?P<key>[a-f0-9]{24}-[a-f0-9]{34})\b"),
    ("a Pulumi token", r"\bpul-(?P<key>[a-f0-9]{40})\b"),
    ("a RubyGems key", r"\brubygems_(?P<key>[a-f0-9]{48})\b"),
    ("a Figma token", r"\bfig[dou]_?[dr]?_(?P<key>[A-Za-z0-9_-]{40,})"),
    ("a Notion token", r"\bntn_(?P<key>[A-Za-z0-9]{40,})\b"),
    ("an age key", r"\bAGE-SECRET-KEY-1(?P<key>[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58})\b"),
    ("a Supabase token", r"\bsb(?:p|_secret)_(?P<key>[A-Za-z0-9_-]{31,})"),
    ("a Netlify token", r"\bnfp_(?P<key>[A-Za-z0-9]{36,})\b"),
    ("a Doppler token", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?P<key>[A-Za-z0-9._-]{40,})"),
    ("a Telegram bot token", r"\b[0-9]{8,10}:AA(?P<key>[A-Za-z0-9_-]{33})\b"),
    (
        "a Discord webhook",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/(?P<key>[A-Za-z0-9_-]{60,})",
    ),
    ("a Fly.io token", r"\b(?:FlyV1 )?fm[12][ar]?_(?P<key>[A-Za-z0-9+/=_-]{100,})"),
    ("a SendGrid key", r"\bSG\.(?P<key>[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})"),
];

/// Words that do not occur in a random key.
const SAYS_SO: [&str; 5] = ["example", "placeholder", "xxxx", "redacted", "changeme"];

/// Minimum number of distinct characters in a random key.
const VARIETY: usize = 8;

/// A match that looks like a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) range: Range<usize>,
    pub(super) kind: &'static str,
}

static QUICK: LazyLock<Option<RegexSet>> =
    LazyLock::new(|| RegexSet::new(PATTERNS.map(|(_, pattern)| ascii(pattern))).ok());

/// The individual patterns, each compiled when first needed.
static REGEXES: [OnceLock<Option<Regex>>; PATTERNS.len()] =
    [const { OnceLock::new() }; PATTERNS.len()];

fn regex(which: usize) -> Option<&'static Regex> {
    REGEXES.get(which)?.get_or_init(|| Regex::new(&ascii(PATTERNS[which].1)).ok()).as_ref()
}

fn ascii(pattern: &str) -> String {
    format!("(?-u){pattern}")
}

/// Returns all matches that look like a key, in order, without overlaps.
pub(super) fn find(bytes: &[u8]) -> Vec<Hit> {
    let Some(quick) = QUICK.as_ref() else { return Vec::new() };
    let mut hits: Vec<Hit> = Vec::new();
    for which in quick.matches(bytes) {
        let Some(regex) = regex(which) else { continue };
        for captures in regex.captures_iter(bytes) {
            let key = captures.name("key").or_else(|| captures.name("old"));
            let (Some(whole), Some(key)) = (captures.get(0), key) else { continue };
            if !is_example(key.as_bytes()) {
                hits.push(Hit { range: whole.range(), kind: PATTERNS[which].0 });
            }
        }
    }
    hits.sort_by_key(|hit| (hit.range.start, std::cmp::Reverse(hit.range.end)));
    let mut end = 0;
    hits.retain(|hit| {
        let apart = hit.range.start >= end;
        end = end.max(hit.range.end);
        apart
    });
    hits
}

fn is_example(key: &[u8]) -> bool {
    let text = String::from_utf8_lossy(key).to_lowercase();
    let mut different: Vec<u8> = key.to_vec();
    different.sort_unstable();
    different.dedup();
    different.len() < VARIETY || SAYS_SO.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key is split in two, so that secret scanners do not report this file.
    fn kinds(prefix: &str, rest: &str) -> Vec<&'static str> {
        let text = format!("let a = \"{prefix}{rest}\";\n");
        let hits = find(text.as_bytes());
        assert!(hits.iter().all(|hit| text[hit.range.clone()].starts_with(prefix)), "{hits:?}");
        hits.into_iter().map(|hit| hit.kind).collect()
    }

    #[test]
    fn every_pattern_is_valid() {
        assert!(QUICK.is_some());
        assert!((0..PATTERNS.len()).all(|which| regex(which).is_some()));
    }

    #[test]
    fn well_known_keys_are_found() {
        const A: &str = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ9rS1tU3v";
        for (prefix, rest, kind) in [
            ("AKIA", "2E0A8F3B5C7D9Q1Z", "an AWS access key id"),
            ("ASIA", "QWERTY2345UIOPAS", "an AWS access key id"),
            ("ghp_", &A[..36], "a GitHub token"),
            ("ghs_", &A[..36], "a GitHub token"),
            ("github_pat_", A, "a GitHub token"),
            ("glpat-", &A[..20], "a GitLab token"),
            ("xoxb-", "123456789012-abcDEF123456", "a Slack token"),
            ("AIza", &A[..35], "a Google API key"),
            ("sk-ant-", "api03-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY", "an Anthropic key"),
            ("sk-proj-", &A[..48], "an OpenAI key"),
            ("sk-", &A[..48], "an OpenAI key"),
            ("sk_live_", &A[..24], "a Stripe key"),
            ("npm_", &A[..36], "an npm token"),
            ("pypi-AgE", A, "a PyPI token"),
            ("hf_", &A[..34], "a Hugging Face token"),
            ("GOCSPX-", &A[..28], "a Google OAuth secret"),
            ("gsk_", &A[..52], "a Groq key"),
            ("dckr_pat_", &A[..27], "a Docker token"),
            (
                "dop_v1_",
                "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                "a DigitalOcean token",
            ),
            ("hvs.", &A[..30], "a Vault token"),
            ("figd_", &A[..43], "a Figma token"),
            ("123456789:AA", &A[..33], "a Telegram bot token"),
        ] {
            assert_eq!(kinds(prefix, rest), [kind], "{prefix}");
        }
    }

    #[test]
    fn private_keys_are_found_but_not_mentions_of_them() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        for between in ["\n", "\\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n"] {
            for name in ["", "RSA ", "OPENSSH ", "EC "] {
                let head = format!("-----BEGIN {name}PRIVATE KEY-----");
                assert_eq!(kinds(&head, &format!("{between}{body}")), ["a private key"], "{name}");
            }
        }
        assert!(
            kinds("-----BEGIN PRIVATE KEY-----", "\n...\n-----END PRIVATE KEY-----").is_empty()
        );
        assert!(kinds("-----BEGIN PUBLIC KEY-----", &format!("\n{body}")).is_empty());
    }

    #[test]
    fn examples_and_ordinary_text_pass() {
        for text in [
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "sk-...",
            "sk-proj-your-key-goes-here",
            "sk-0000000000000000000000000000000000000000",
            "glpat-XXXXXXXXXXXXXXXXXXXX",
            "task-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7",
            "sk-fading-circle sk-cube-grid-loading-animation",
            "xoxb-your-token",
            "sha512-9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ9rS1tU3v==",
            "npm_config_registry=https://registry.npmjs.org/",
            "hf_hub_download(repo_id, filename)",
            "the AKIA prefix, and AIza",
        ] {
            assert_eq!(find(text.as_bytes()), [], "{text}");
        }
    }
}
