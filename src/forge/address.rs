//! Parses a remote's URL: the kind of forge, the repository, and the page that compares two of its
//! branches. The results never contain credentials.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

/// The most characters of the body of a pull request on GitHub; more than most people write.
pub const LONGEST_BODY: usize = 65_536;

/// Hosts whose names are no aliases.
const PUBLIC: [&str; 5] =
    ["github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "git.sr.ht"];

/// The software a host runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forge {
    /// github.com, or a GitHub Enterprise server.
    GitHub,
    /// gitlab.com, or a self-hosted server.
    GitLab,
    /// bitbucket.org
    Bitbucket,
    /// Codeberg and everything else that runs Gitea or Forgejo.
    Gitea,
    /// git.sr.ht
    Sourcehut,
    /// A host whose name does not show its kind.
    Unknown,
}

/// A repository on a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The software on the host.
    pub forge: Forge,
    /// The host, with the port of its web pages if the URL has one.
    pub host: String,
    /// `owner/name`, or `group/sub/name` with GitLab's groups.
    pub path: String,
    /// `https`, or `http` if the remote's URL has it.
    scheme: &'static str,
}

impl Address {
    /// Parses a remote's URL: `git@host:owner/name.git`, `ssh://…`, `https://…`. `None` for a local
    /// path, a bundle, or anything else without a host.
    fn parse(url: &str) -> Option<Self> {
        let url = url.trim();
        let (host, path, scheme) = match url.split_once("://") {
            Some((scheme, rest)) => {
                let (authority, path) = rest.split_once('/')?;
                let host = authority.rsplit('@').next().unwrap_or_default();
                match scheme {
                    "https" => (host, path, "https"),
                    "http" => (host, path, "http"),
                    // The port of ssh or git is not that of the web pages.
                    "ssh" | "git" | "git+ssh" | "ssh+git" => (without_port(host), path, "https"),
                    _ => return None,
                }
            }
            None => {
                // `host:path`, without a slash before the colon; `C:\…` is a path.
                let (authority, path) = url.split_once(':')?;
                if authority.contains(['/', '\\']) || authority.len() < 2 {
                    return None;
                }
                (authority.rsplit('@').next().unwrap_or_default(), path, "https")
            }
        };
        let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path).trim_matches('/');
        let host = public_host(&host.to_ascii_lowercase());
        let sound = |text: &str, more: &str| {
            let ok = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c) || more.contains(c);
            !text.is_empty() && text.chars().all(ok)
        };
        let parts = path.split('/').count();
        if !sound(&host, ":") || !sound(path, "/+%") || parts < 2 {
            return None;
        }
        Some(Self { forge: forge_of(&host), host, path: path.to_owned(), scheme })
    }

    /// Parses a remote's URL like [`Address::parse`]. A host that may be an alias in the user's ssh
    /// configuration (`git@work:owner/name`) is the one that ssh connects to.
    pub fn of_remote(url: &str) -> Option<Self> {
        let address = Self::parse(url)?;
        let over_ssh = match url.trim().split_once("://") {
            Some((scheme, _)) => scheme.contains("ssh"),
            None => true,
        };
        if !over_ssh || PUBLIC.contains(&&*address.host) {
            return Some(address);
        }
        let alias = match url.trim().split_once("://") {
            Some((_, rest)) => rest.split('/').next().unwrap_or_default(),
            None => url.trim().split(':').next().unwrap_or_default(),
        };
        let alias = without_port(alias.rsplit('@').next().unwrap_or_default());
        let host = ssh_host(alias).map(|host| public_host(&host.to_ascii_lowercase()));
        // A forge behind an address of its own is known by the name in the URL.
        Some(match host.filter(|host| forge_of(host) != Forge::Unknown) {
            Some(host) => Self { forge: forge_of(&host), host, ..address },
            None => address,
        })
    }

    /// The most characters that the body of a pull request may have.
    pub fn longest_body(&self) -> usize {
        let is_of = |host: &str| self.host == host || self.host.ends_with(&format!(".{host}"));
        match self.forge {
            Forge::GitLab => 1_048_576,
            Forge::Bitbucket => 32_768,
            // Azure DevOps.
            Forge::Unknown if is_of("dev.azure.com") || is_of("visualstudio.com") => 4_000,
            _ => LONGEST_BODY,
        }
    }

    /// The page for opening a pull request of `head` into `base` by hand. `head_owner` owns the
    /// fork that contains `head`; `None` if `head` is in this repository.
    pub fn compare(&self, base: &str, head: &str, head_owner: Option<&str>) -> Option<String> {
        let Self { scheme, host, path, .. } = self;
        let root = format!("{scheme}://{host}/{path}");
        let (base, head) = (encoded(base, "/"), encoded(head, "/"));
        let from = head_owner.map_or_else(|| head.clone(), |owner| format!("{owner}:{head}"));
        Some(match self.forge {
            Forge::GitHub => format!("{root}/compare/{base}...{from}?expand=1"),
            Forge::Gitea => format!("{root}/compare/{base}...{from}"),
            Forge::GitLab => format!(
                "{root}/-/merge_requests/new?merge_request%5Bsource_branch%5D={head}&merge_request%5Btarget_branch%5D={base}"
            ),
            Forge::Bitbucket => format!("{root}/pull-requests/new?source={head}&dest={base}"),
            // Sourcehut takes patches by mail; the log shows the commits to send.
            Forge::Sourcehut => format!("{root}/log/{head}"),
            Forge::Unknown => return None,
        })
    }

    /// The owner of the repository: the path without its last part.
    pub fn owner(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(owner, _)| owner)
    }
}

/// Returns a URL without user name and password, for display. `git@`, the name of a service,
/// remains.
pub fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    match authority.rsplit_once('@') {
        Some(("git", _)) | None => url.to_owned(),
        Some((_, host)) => format!("{scheme}://{host}{path}"),
    }
}

fn without_port(host: &str) -> &str {
    host.split_once(':').map_or(host, |(host, _)| host)
}

/// The host of the web pages: forges accept ssh on other host names if port 22 is blocked, and
/// users have aliases for hosts in their ssh configuration.
fn public_host(host: &str) -> String {
    match host {
        "ssh.github.com" => "github.com",
        "altssh.gitlab.com" => "gitlab.com",
        "altssh.bitbucket.org" => "bitbucket.org",
        _ if host.contains('.') || host.contains(':') => host,
        _ if host.starts_with("github") => "github.com",
        _ if host.starts_with("gitlab") => "gitlab.com",
        _ => host,
    }
    .to_owned()
}

fn forge_of(host: &str) -> Forge {
    let has = |name: &str| without_port(host).split('.').any(|label| label == name);
    match host {
        _ if has("github") => Forge::GitHub,
        _ if has("gitlab") => Forge::GitLab,
        "bitbucket.org" => Forge::Bitbucket,
        _ if has("codeberg") || has("gitea") || has("forgejo") => Forge::Gitea,
        "git.sr.ht" => Forge::Sourcehut,
        _ => Forge::Unknown,
    }
}

/// The host that ssh connects to for this name (ssh(1), `-G`); `None` if it does not say.
fn ssh_host(name: &str) -> Option<String> {
    let ask = Command::new("ssh").args(["-G", "--", name]).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&ask.stdout);
    let mut hosts = text.lines().filter_map(|line| line.strip_prefix("hostname "));
    hosts.next().map(str::to_owned)
}

/// Percent-encodes text for a URL, except the characters in `also`.
pub(super) fn encoded(text: &str, also: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric()
            || "-._~".contains(byte as char)
            || also.contains(byte as char)
        {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_their_pages() {
        let head = "cowork/todo";
        for (url, page) in [
            (
                "git@github.com:ana/todo.git",
                "https://github.com/ana/todo/compare/main...cowork/todo?expand=1",
            ),
            (
                "https://github.com/ana/todo",
                "https://github.com/ana/todo/compare/main...cowork/todo?expand=1",
            ),
            (
                "https://ana:s3cret@github.com/ana/todo.git/",
                "https://github.com/ana/todo/compare/main...cowork/todo?expand=1",
            ),
            (
                "ssh://git@ssh.github.com:443/ana/todo.git",
                "https://github.com/ana/todo/compare/main...cowork/todo?expand=1",
            ),
            (
                "github-work:ana/todo.git",
                "https://github.com/ana/todo/compare/main...cowork/todo?expand=1",
            ),
            (
                "git@GitHub.example.org:ana/todo",
                "https://github.example.org/ana/todo/compare/main...cowork/todo?expand=1",
            ),
            (
                "git@gitlab.com:group/sub/todo.git",
                "https://gitlab.com/group/sub/todo/-/merge_requests/new?merge_request%5Bsource_branch%5D=cowork/todo&merge_request%5Btarget_branch%5D=main",
            ),
            (
                "http://gitlab.example.org:8080/g/todo.git",
                "http://gitlab.example.org:8080/g/todo/-/merge_requests/new?merge_request%5Bsource_branch%5D=cowork/todo&merge_request%5Btarget_branch%5D=main",
            ),
            (
                "git@bitbucket.org:team/todo.git",
                "https://bitbucket.org/team/todo/pull-requests/new?source=cowork/todo&dest=main",
            ),
            (
                "ssh://git@codeberg.org/ana/todo.git",
                "https://codeberg.org/ana/todo/compare/main...cowork/todo",
            ),
            (
                "https://gitea.example.org/ana/todo.git",
                "https://gitea.example.org/ana/todo/compare/main...cowork/todo",
            ),
            ("git@git.sr.ht:~ana/todo", "https://git.sr.ht/~ana/todo/log/cowork/todo"),
        ] {
            let address = Address::parse(url).unwrap_or_else(|| panic!("{url}"));
            assert_eq!(address.compare("main", head, None).as_deref(), Some(page), "{url}");
        }
        for url in [
            "/srv/git/todo.git",
            "../far.git",
            "file:///srv/todo.git",
            "C:\\repos\\todo",
            "",
            "https://github.com/",
            "git@github.com:todo",
            "ext::sh -c x",
            "git@evil\n.com:a/b",
        ] {
            assert_eq!(Address::parse(url), None, "{url}");
        }
        let unknown = Address::parse("git@git.example.org:ana/todo.git").unwrap();
        assert_eq!((unknown.forge, unknown.compare("main", head, None)), (Forge::Unknown, None));
    }

    #[test]
    fn forks_and_odd_branch_names() {
        let address = Address::parse("git@github.com:org/todo.git").unwrap();
        assert_eq!(
            address.compare("release/1#2", "x y&z", Some("ana")).as_deref(),
            Some("https://github.com/org/todo/compare/release/1%232...ana:x%20y%26z?expand=1")
        );
        assert_eq!(address.owner(), "org");
        let nested = Address::parse("git@gitlab.com:group/sub/todo.git").unwrap();
        assert_eq!(nested.owner(), "group/sub");
    }

    #[test]
    fn no_password_is_shown() {
        for (url, shown) in [
            ("https://ana:s3c@ret@host/x", "https://host/x"),
            ("https://ghp_token@github.com/a/b", "https://github.com/a/b"),
            ("ssh://git@host:22/x", "ssh://git@host:22/x"),
            ("git@host:a/b", "git@host:a/b"),
            ("https://host", "https://host"),
        ] {
            assert_eq!(without_credentials(url), shown);
        }
    }
}
