//! The way of a confined program to the servers it may reach: a proxy in this process, and a descriptor
//! that the first process of a run inherits.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::pin::Pin;
use std::rc::Rc;

use super::settings::CommandSettings;
use crate::host::Host;
#[cfg(target_os = "linux")]
use crate::shell_quote;
#[cfg(target_os = "linux")]
use crate::workspace::proxy::{Proxy, Refused};
#[cfg(target_os = "linux")]
use crate::workspace::sandbox::{door_pair, door_word};

/// Where the proxy is found inside: above the ports that the kernel gives out by itself.
pub(crate) const PROXY_PORT: u16 = 61_080;
/// Variables that name proxies to programs.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
/// What a program would take for another one.
const OTHERS: [&str; 2] = ["all_proxy", "ALL_PROXY"];
const WITHOUT: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// Its own loopback is reached as it is.
const LOOPBACK: &str = "localhost,127.0.0.1,::1";
/// Lets Node.js look at the variables.
const NODE: &str = "NODE_USE_ENV_PROXY";

/// The way of a confined program to the servers it may reach.
#[derive(Debug)]
pub struct WayOut {
    /// What people call the program.
    #[cfg(target_os = "linux")]
    title: String,
    /// What the user lists, as it is written.
    #[cfg(target_os = "linux")]
    listed: Vec<String>,
    #[cfg(target_os = "linux")]
    proxy: Rc<Proxy>,
}

/// One run's way.
pub struct OpenWay {
    /// What stands before the program, with the descriptor named.
    pub before: Vec<OsString>,
    /// What the first process inherits, by its number. It is open as long as this lives.
    pub descriptor: i32,
    /// Lets the program through; to be polled while it runs.
    pub serving: Pin<Box<dyn Future<Output = ()>>>,
}

impl std::fmt::Debug for OpenWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenWay").field("descriptor", &self.descriptor).finish_non_exhaustive()
    }
}

/// Whom a program is told to ask.
pub(super) fn set_variables(env: &mut Vec<(OsString, OsString)>, port: u16) {
    let all = [&PROXIES[..], &OTHERS, &WITHOUT, &[NODE]].concat();
    env.retain(|(name, _)| !all.iter().any(|one| name == one));
    let proxy = format!("http://127.0.0.1:{port}");
    let set = PROXIES.map(|name| (name.into(), proxy.clone().into()));
    let without = WITHOUT.map(|name| (name.into(), LOOPBACK.into()));
    env.extend(set.into_iter().chain(without).chain([(NODE.into(), "1".into())]));
}

#[cfg(target_os = "linux")]
impl WayOut {
    pub(super) fn new(title: &str, hosts: &Reachable, settings: &CommandSettings) -> Self {
        let env = settings.env_of_user().iter().cloned().collect();
        let proxy = Rc::new(Proxy::new(hosts.hosts.clone(), PROXY_PORT, &env));
        Self { title: title.to_owned(), listed: hosts.listed.clone(), proxy }
    }

    /// Opens it for one run, before which stands `before`. `told` hears what was refused, as sentences.
    ///
    /// # Errors
    /// There is no descriptor left.
    pub fn open(&self, before: &[OsString], told: Rc<dyn Fn(&str)>) -> std::io::Result<OpenWay> {
        use std::os::fd::AsRawFd as _;
        let (outer, inner) = door_pair()?;
        let descriptor = inner.as_raw_fd();
        // The helper and its word come first.
        let mut words = before.to_vec();
        words.insert(2.min(words.len()), door_word(descriptor));
        let (proxy, title, listed) =
            (Rc::clone(&self.proxy), self.title.clone(), self.listed.clone());
        let serving = async move {
            let _inner = inner;
            let told = |refused: &Refused| told(&sentence(&title, &listed, refused));
            proxy.serve(outer, &told).await;
        };
        Ok(OpenWay { before: words, descriptor, serving: Box::pin(serving) })
    }
}

#[cfg(not(target_os = "linux"))]
impl WayOut {
    pub(super) fn new(_title: &str, _hosts: &Reachable, _settings: &CommandSettings) -> Self {
        Self {}
    }

    /// There is none here.
    ///
    /// # Errors
    /// Always.
    pub fn open(&self, _before: &[OsString], _told: Rc<dyn Fn(&str)>) -> std::io::Result<OpenWay> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

/// Which servers a program may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    /// All of them.
    pub hosts: Vec<Host>,
    /// Those that the user lists, as they are written.
    pub listed: Vec<String>,
}

impl Reachable {
    /// Where its connections are taken up: at the proxy's port, and at those of this machine's servers
    /// that are among them.
    pub(super) fn doors(&self) -> Vec<u16> {
        let here = self.hosts.iter().filter(|host| host.is_loopback());
        let here: BTreeSet<u16> = here.map(Host::port).filter(|port| *port != PROXY_PORT).collect();
        std::iter::once(PROXY_PORT).chain(here).collect()
    }
}

/// What a person is told of a server that was refused.
#[cfg(target_os = "linux")]
fn sentence(title: &str, listed: &[String], refused: &Refused) -> String {
    let (why, wanted) = match refused {
        Refused::NotListed(host) => {
            (format!("asked for {host}, which it may not reach"), host.to_string())
        }
        Refused::Inside(host, address) => {
            let named = Host::new(&address.to_string(), host.port());
            let why = format!(
                "asked for {host}, which leads to {address}: this machine and the link it is on are \
                 reached only by their address"
            );
            (why, named.map(|named| named.to_string()).unwrap_or_default())
        }
    };
    let all: Vec<&str> = listed.iter().map(String::as_str).chain([wanted.as_str()]).collect();
    let all = shell_quote::quoted(&all.join(", "));
    format!("{title} {why}. To let it: git config cowork.sandbox.hosts {all}")
}
