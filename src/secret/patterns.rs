//! Patterns of well-known keys as documented by their issuers: prefix, alphabet, length.
//!
//! Examples are not reported: those that contain a word such as `EXAMPLE` (`AKIAIOSFODNN7EXAMPLE`),
//! and those with too few distinct characters for a key (`ghp_xxxxxxxx…`). Do not add a pattern
//! that matches ordinary text.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;

/// Upper limit of a key's length in bytes.
pub(super) const LONGEST: usize = 16 * 1024;

/// A length in bytes that nearly no key exceeds.
pub(super) const USUAL: usize = 256;

/// A kind of key.
struct KeyPattern {
    /// Its name, with an article.
    kind: &'static str,
    /// Every match contains one of these, so the expression is compiled only for texts that do.
    contains: &'static [&'static str],
    /// The group `key` is the random part.
    regex: &'static str,
}

const fn pattern(
    kind: &'static str,
    contains: &'static [&'static str],
    regex: &'static str,
) -> KeyPattern {
    KeyPattern { kind, contains, regex }
}

const PATTERNS: [KeyPattern; 52] = [
    pattern(
        "a private key",
        &["-----BEGIN "],
        r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?s:.{0,200}?)(?P<key>[A-Za-z0-9+/]{40})(?:[A-Za-z0-9+/=]|\\?[nr\s])*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    pattern("an AWS access key id", &["AKIA", "ASIA"], r"\b(?:AKIA|ASIA)(?P<key>[A-Z0-9]{16})\b"),
    pattern(
        "a GitHub token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"\b(?:gh[pousr]_|github_pat_)(?P<key>[A-Za-z0-9_]{36,})\b",
    ),
    pattern(
        "a GitLab token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-"],
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-(?P<key>[A-Za-z0-9_-]{20,})",
    ),
    pattern("a Slack token", &["xox"], r"\bxox[abeoprs]-(?P<key>[0-9]{6,}-[A-Za-z0-9-]{10,})"),
    pattern(
        "a Slack webhook",
        &["hooks.slack.com/services/"],
        r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/(?P<key>[A-Za-z0-9]{20,})",
    ),
    pattern("a Google API key", &["AIza"], r"\bAIza(?P<key>[A-Za-z0-9_-]{35})"),
    pattern("an Anthropic key", &["sk-ant-"], r"\bsk-ant-(?P<key>[A-Za-z0-9_-]{32,})"),
    pattern(
        "an OpenAI key",
        &["sk-"],
        r"\bsk-(?:(?:proj|svcacct|admin|or-v1)-(?P<key>[A-Za-z0-9_-]{32,})|(?P<old>[A-Za-z0-9]{32,})\b)",
    ),
    pattern("a Stripe key", &["k_live_"], r"\b[sr]k_live_(?P<key>[A-Za-z0-9]{16,})\b"),
    pattern("an npm token", &["npm_"], r"\bnpm_(?P<key>[A-Za-z0-9]{36})\b"),
    pattern("a PyPI token", &["pypi-AgE"], r"\bpypi-AgE(?P<key>[A-Za-z0-9_-]{50,})"),
    pattern("a Hugging Face token", &["hf_"], r"\bhf_(?P<key>[A-Za-z0-9]{34,})\b"),
    pattern("a Google OAuth secret", &["GOCSPX-"], r"\bGOCSPX-(?P<key>[A-Za-z0-9_-]{28})"),
    pattern("a Google access token", &["ya29."], r"\bya29\.(?P<key>[A-Za-z0-9_-]{30,})"),
    pattern("an Azure storage key", &["AccountKey="], r"\bAccountKey=(?P<key>[A-Za-z0-9+/]{86}==)"),
    pattern("an xAI key", &["xai-"], r"\bxai-(?P<key>[A-Za-z0-9]{60,})\b"),
    pattern("a Groq key", &["gsk_"], r"\bgsk_(?P<key>[A-Za-z0-9]{40,})\b"),
    pattern("a Perplexity key", &["pplx-"], r"\bpplx-(?P<key>[A-Za-z0-9]{40,})\b"),
    pattern("a Replicate token", &["r8_"], r"\br8_(?P<key>[A-Za-z0-9]{37})\b"),
    pattern(
        "a Docker token",
        &["dckr_pat_", "dckr_oat_"],
        r"\bdckr_(?:pat|oat)_(?P<key>[A-Za-z0-9_-]{27,})",
    ),
    pattern("a DigitalOcean token", &["_v1_"], r"\bdo[opr]_v1_(?P<key>[a-f0-9]{64})\b"),
    pattern(
        "a Shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"\bshp(?:at|ca|pa|ss)_(?P<key>[A-Fa-f0-9]{32})\b",
    ),
    pattern(
        "a Square token",
        &["sq0atp-", "sq0csp-"],
        r"\bsq0(?:atp|csp)-(?P<key>[A-Za-z0-9_-]{22,})",
    ),
    pattern("a Linear key", &["lin_api_"], r"\blin_api_(?P<key>[A-Za-z0-9]{40})\b"),
    pattern("a Databricks token", &["dapi"], r"\bdapi(?P<key>[a-f0-9]{32})\b"),
    pattern("an Atlassian token", &["ATATT3"], r"\bATATT3(?P<key>[A-Za-z0-9_=-]{150,})"),
    pattern("a Vault token", &["hvs.", "hvb.", "hvr."], r"\bhv[sbr]\.(?P<key>[A-Za-z0-9_-]{24,})"),
    pattern(
        "a Terraform token",
        &[".atlasv1."],
        r"\b[A-Za-z0-9]{14}\.atlasv1\.(?P<key>[A-Za-z0-9_=-]{60,})",
    ),
    pattern(
        "a PlanetScale token",
        &["pscale_"],
        r"\bpscale_(?:tkn|pw|oauth)_(?P<key>[A-Za-z0-9_=.-]{32,})",
    ),
    pattern("a Grafana token", &["glsa_", "glc_"], r"\bgl(?:sa|c)_(?P<key>[A-Za-z0-9+/]{32,})"),
    pattern("a New Relic key", &["NRAK-"], r"\bNRAK-(?P<key>[A-Z0-9]{27})\b"),
    pattern(
        "a Sentry token",
        &["sntrys_", "sntryu_"],
        r"\bsntry[su]_(?P<key>[A-Za-z0-9+/=_]{40,})",
    ),
    pattern("a Postman key", &["PMAK-"], r"\bPMAK-(?P<key>[a-f0-9]{24}-[a-f0-9]{34})\b"),
    pattern("a Pulumi token", &["pul-"], r"\bpul-(?P<key>[a-f0-9]{40})\b"),
    pattern("a RubyGems key", &["rubygems_"], r"\brubygems_(?P<key>[a-f0-9]{48})\b"),
    pattern(
        "a Figma token",
        &["figd", "figo", "figu"],
        r"\bfig[dou]_?[dr]?_(?P<key>[A-Za-z0-9_-]{40,})",
    ),
    pattern("a Notion token", &["ntn_"], r"\bntn_(?P<key>[A-Za-z0-9]{40,})\b"),
    pattern(
        "an age key",
        &["AGE-SECRET-KEY-1"],
        r"\bAGE-SECRET-KEY-1(?P<key>[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58})\b",
    ),
    pattern(
        "a Supabase token",
        &["sbp_", "sb_secret_"],
        r"\bsb(?:p|_secret)_(?P<key>[A-Za-z0-9_-]{31,})",
    ),
    pattern("a Netlify token", &["nfp_"], r"\bnfp_(?P<key>[A-Za-z0-9]{36,})\b"),
    pattern(
        "a Doppler token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?P<key>[A-Za-z0-9._-]{40,})",
    ),
    pattern("a Telegram bot token", &[":AA"], r"\b[0-9]{8,10}:AA(?P<key>[A-Za-z0-9_-]{33})\b"),
    pattern(
        "a Discord webhook",
        &["com/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/(?P<key>[A-Za-z0-9_-]{60,})",
    ),
    pattern(
        "a Fly.io token",
        &["fm1", "fm2"],
        r"\b(?:FlyV1 )?fm[12][ar]?_(?P<key>[A-Za-z0-9+/=_-]{100,})",
    ),
    pattern(
        "a JSON web token",
        &["eyJ"],
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.(?P<key>[A-Za-z0-9_-]{20,})",
    ),
    // With the host in the key, because an example often has only an example's host. A password for
    // this machine (`localhost`, `db`) is no secret.
    pattern(
        "a password in a URL",
        &["://"],
        r"\b(?:postgres|postgresql|mysql|mariadb|mongodb|mongodb\+srv|rediss?|amqps?|mssql|sqlserver)://[A-Za-z0-9_.%+-]{0,64}:(?P<key>[!-9;-?A-~]{8,128}@(?:[A-Za-z0-9_-]{1,63}\.){1,8}[A-Za-z]{2,24})\b",
    ),
    // At other servers a password is more often an example's: two digits.
    pattern(
        "a password in a URL",
        &["://"],
        r"\b(?:https?|ftps?)://[A-Za-z0-9_.%+-]{0,64}:(?P<key>(?:[!-.;-?A-~]{0,64}[0-9]){2,}[!-.0-9;-?A-~]{0,128}@(?:[A-Za-z0-9_-]{1,63}\.){1,8}[A-Za-z]{2,24})\b",
    ),
    // Two digits: names of variables and the like have fewer.
    pattern(
        "a login in a header",
        &["uthorization", "UTHORIZATION"],
        r#"(?:[Aa]uthorization|AUTHORIZATION)["']?[ \t]{0,8}[:=][ \t]{0,8}["']?(?:[Bb]earer|BEARER|[Bb]asic|BASIC|[Tt]oken)[ \t]{1,8}(?P<key>(?:[A-Za-z._~+/=-]{0,64}[0-9]){2,}[A-Za-z0-9._~+/=-]{12,})"#,
    ),
    pattern(
        "a login for a server",
        &["machine "],
        r"\bmachine (?P<key>[!-~]{4,128}\s{1,8}login\s{1,8}[!-~]{1,64}\s{1,8}password\s{1,8}[!-~]{8,128})",
    ),
    pattern(
        "an AWS secret key",
        &["ecret_access_key", "ecretAccessKey", "ECRET_ACCESS_KEY", "ecret_key", "ECRET_KEY"],
        r#"(?:[Ss]ecretAccessKey|secret_access_key|SECRET_ACCESS_KEY|aws_secret_key|AWS_SECRET_KEY)["']?[ \t]{0,8}[:=][ \t]{0,8}["']?(?P<key>[A-Za-z0-9/+]{40})\b"#,
    ),
    pattern("a SendGrid key", &["SG."], r"\bSG\.(?P<key>[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})"),
];

/// Words that do not occur in a random key.
const SAYS_SO: [&str; 15] = [
    "example",
    "placeholder",
    "xxxx",
    "redacted",
    "changeme",
    "password@",
    "your_",
    "your-",
    "${",
    // In place of a password in a netrc file.
    "password password",
    "password $",
    "password <",
    // Hosts of one machine, or of one cluster.
    "docker.internal",
    ".local",
    // The signature of the token that jwt.io shows.
    "sflkxwrjsmekkf2qt4fwpmejf36pok6yjv_adqssw5c",
];

/// Minimum number of distinct characters in a random key.
const VARIETY: usize = 8;

/// A match that looks like a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeyMatch {
    pub(super) range: Range<usize>,
    pub(super) kind: &'static str,
}

/// Finds the texts of [`Pattern::contains`]. The list has the index of each text's pattern.
static CONTAINED: LazyLock<Option<(AhoCorasick, Vec<usize>)>> = LazyLock::new(|| {
    let texts = PATTERNS.iter().enumerate();
    let texts = texts.flat_map(|(index, p)| p.contains.iter().map(move |text| (*text, index)));
    let (texts, which): (Vec<_>, Vec<_>) = texts.unzip();
    Some((AhoCorasick::new(texts).ok()?, which))
});

/// The patterns that may match, in their order.
fn candidates(bytes: &[u8]) -> BTreeSet<usize> {
    let Some((finder, indices)) = CONTAINED.as_ref() else { return (0..PATTERNS.len()).collect() };
    finder.find_overlapping_iter(bytes).map(|hit| indices[hit.pattern().as_usize()]).collect()
}

/// The individual patterns, each compiled when first needed.
static REGEXES: [OnceLock<Option<Regex>>; PATTERNS.len()] =
    [const { OnceLock::new() }; PATTERNS.len()];

fn regex(index: usize) -> Option<&'static Regex> {
    REGEXES.get(index)?.get_or_init(|| Regex::new(&ascii(PATTERNS[index].regex)).ok()).as_ref()
}

fn ascii(pattern: &str) -> String {
    format!("(?-u){pattern}")
}

/// Returns all matches that look like a key, in order, without overlaps.
pub(super) fn find(bytes: &[u8]) -> Vec<KeyMatch> {
    let mut hits: Vec<KeyMatch> = Vec::new();
    for index in candidates(bytes) {
        let Some(regex) = regex(index) else { continue };
        for captures in regex.captures_iter(bytes) {
            let key = captures.name("key").or_else(|| captures.name("old"));
            let (Some(whole), Some(key)) = (captures.get(0), key) else { continue };
            if !is_example(key.as_bytes()) {
                hits.push(KeyMatch { range: whole.range(), kind: PATTERNS[index].kind });
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
    // The name of a variable, or a word between brackets.
    let is_name = key.first().is_some_and(|first| b"$<{%".contains(first));
    is_name || different.len() < VARIETY || SAYS_SO.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use regex_syntax::hir::{Class, Hir, HirKind};

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
        assert!(CONTAINED.is_some());
        assert!((0..PATTERNS.len()).all(|which| regex(which).is_some()));
    }

    /// A random text that the expression matches.
    fn matching(hir: &Hir, random: &mut fastrand::Rng) -> Vec<u8> {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Vec::new(),
            HirKind::Literal(literal) => literal.0.to_vec(),
            HirKind::Class(Class::Bytes(class)) => {
                let range = random.choice(class.ranges()).unwrap();
                vec![random.u8(range.start()..=range.end())]
            }
            HirKind::Class(Class::Unicode(_)) => panic!("the patterns match bytes"),
            HirKind::Repetition(repeated) => {
                let most = repeated.max.unwrap_or(repeated.min + 3);
                let count = random.u32(repeated.min..=most);
                (0..count).flat_map(|_| matching(&repeated.sub, random)).collect()
            }
            HirKind::Capture(capture) => matching(&capture.sub, random),
            HirKind::Concat(parts) => parts.iter().flat_map(|p| matching(p, random)).collect(),
            HirKind::Alternation(all) => matching(random.choice(all).unwrap(), random),
        }
    }

    #[test]
    fn every_match_contains_a_text_of_its_pattern() {
        let mut random = fastrand::Rng::with_seed(7);
        for (which, pattern) in PATTERNS.iter().enumerate() {
            let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
            let hir = parser.parse(&ascii(pattern.regex)).unwrap();
            let texts = (0..300).map(|_| matching(&hir, &mut random));
            // `matching` ignores word boundaries, so some of its texts do not match.
            let texts: Vec<_> = texts.filter(|text| regex(which).unwrap().is_match(text)).collect();
            assert!(texts.len() > 100, "{}", pattern.kind);
            for text in texts {
                assert!(candidates(&text).contains(&which), "{}: {text:?}", pattern.kind);
            }
        }
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
            (
                "eyJhbGciOiJIUzI1NiJ9.",
                "eyJzdWIiOiIxMjM0NTY3ODkwIn0.aB3dE5fG7hJ9kL1mN3pQ5rS7tU9v",
                "a JSON web token",
            ),
            ("postgres://ana:", "s3cr3t-pq9X@db.shop.net/orders", "a password in a URL"),
            ("mongodb+srv://ana:", "s3cr3tpq9X@c0.abc1.mongodb.net", "a password in a URL"),
            ("redis://:", "s3cr3t-pq9X@cache.prod.internal", "a password in a URL"),
            ("https://bot:", "s3cr3t-pq9X@git.shop.net/a.git", "a password in a URL"),
            ("Authorization: Bearer ", &A[..30], "a login in a header"),
            ("authorization': 'Basic ", "YW5hOmh1bnRlcjJodW50ZXIyMTE=", "a login in a header"),
            ("machine git.shop.net login ana password ", "s3cr3tpq9X", "a login for a server"),
            ("secret_access_key = ", &A[..40], "an AWS secret key"),
            ("secretAccessKey: '", &A[..40], "an AWS secret key"),
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
            "postgres://postgres:postgres@localhost:5432/test",
            "postgres://app:a-long-pass1word@db:5432/test",
            "postgres://user:password@db.shop.net/orders",
            "postgres://postgres:postgres@host.docker.internal:5432/app",
            "postgres://app:a-long-pass1word@postgres.default.svc.cluster.local",
            "mongodb+srv://ana:<password>@cluster0.abcde.mongodb.net",
            "postgresql://user:{db_passwd}@db.shop.net",
            "machine github.com login git password $GITHUB_TOKEN",
            "machine HOST login USER password PASSWORD",
            "mysql://ana:s3cr3tpq9X@db.example.com/orders",
            "redis://${USER}:${PASSWORD_OF_REDIS}@cache.shop.net",
            "https://docs.shop.net:8080/a/10/b@2.0.net",
            "https://ana:password@git.shop.net/a.git",
            "Authorization: Bearer ${TOKEN}",
            "Authorization: Bearer <your-token>",
            "Authorization: Basic realm",
            "'Authorization': 'Bearer ' + token1234567890123456",
            "machine example.org login ana password s3cr3tpq9X",
            "the machine is in a state in which you login with a password of your own",
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "AWS_SECRET_ACCESS_KEY=${{ secrets.AWS_SECRET_ACCESS_KEY }}",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
        ] {
            assert_eq!(find(text.as_bytes()), [], "{text}");
        }
    }
}
