//! Detects that a registry requires a login: the fetch step has no credentials, so the user must
//! run the command with theirs.

use std::sync::LazyLock;

use regex::Regex;

/// Messages of package managers, and of git and curl used by them, about missing access.
static REFUSED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const FORM: &str = r"(?ix)
        # npm, pnpm: `npm error code E401`, `npm ERR! 403 403 Forbidden - GET …`, ERR_PNPM_FETCH_401
        \bE40[13]\b | \bENEEDAUTH\b | FETCH_40[13]\b
        # cargo: `failed to get successful HTTP response from `…` (…), got 401`
        | \bgot\ 40[13]\b | no\ token\ found | cargo\ login | credential-provider
        # uv, yarn, go, poetry, pip: `(401 Unauthorized)`, `403 Forbidden`, `HTTP error 403 while getting`
        | \b401\ (?:Client\ Error|Unauthorized|Error\b) | \b403\ (?:Client\ Error|Forbidden)
        | HTTP\ (?:status\ |error:?\ )(?:code\ )?40[13]\b | status\ code:?\ 40[13]\b
        # pip asks: `User for example.org:`
        | ^User\ for\ \S+:
        # git
        | could\ not\ read\ (?:Username|Password) | Permission\ denied\ \(publickey
        | Authentication\ failed";
    Regex::new(FORM).ok()
});

/// Returns the first line with such a message.
pub(super) fn login_wanted(output: &str) -> Option<&str> {
    let form = REFUSED.as_ref()?;
    output.lines().map(str::trim).find(|line| form.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_missing_access_are_recognized() {
        for line in [
            "npm error code E401",
            "npm ERR! code E403",
            "npm ERR! 403 403 Forbidden - GET https://registry.example/neo4j-driver",
            " ERR_PNPM_FETCH_401  GET https://registry.example/x: Unauthorized - 401",
            "error An unexpected error occurred: \"https://r.example/x.tgz: Request failed \\\"401 Unauthorized\\\"\".",
            "  failed to get successful HTTP response from `https://r.example/config.json` (127.0.0.1), got 401",
            "error: no token found for `private`, please run `cargo login --registry private`",
            "  Caused by: HTTP status client error (401 Unauthorized) for url (https://r.example/x/)",
            "go: example.org/x@v1.0.0: reading https://proxy.example/x.mod: 403 Forbidden",
            "ERROR: HTTP error 403 while getting https://r.example/x.whl",
            "WARNING: 401 Error, Credentials not correct for https://r.example/simple/x/",
            "User for r.example:8080: ERROR: Exception:",
            "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
        ] {
            assert_eq!(login_wanted(&format!("one\n{line}\n")), Some(line.trim()), "{line}");
        }
        for line in [
            "npm error code E404",
            "npm error 404 Not Found - GET https://registry.example/x-401",
            "error: failed to download `serde v1.0.403`",
            "added 401 packages in 3s",
            "error: no matching package named `x` found",
        ] {
            assert_eq!(login_wanted(line), None, "{line}");
        }
    }
}
