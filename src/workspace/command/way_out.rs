//! Access of a confined program to its permitted servers: a proxy in this process, and a socket
//! that the program's first process inherits.

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

/// Port of the proxy inside the sandbox: above the kernel's range of ephemeral ports.
pub(crate) const PROXY_PORT: u16 = 61_080;
/// Variables that configure a proxy for programs.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
/// Proxy variables that programs might use instead of these; they are removed.
const OTHERS: [&str; 2] = ["all_proxy", "ALL_PROXY"];
const WITHOUT: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// The program's own loopback is reached without the proxy.
const LOOPBACK: &str = "localhost,127.0.0.1,::1";
/// Makes Node.js use the variables.
const NODE: &str = "NODE_USE_ENV_PROXY";

/// Access of a confined program to its permitted servers.
#[derive(Debug)]
pub struct WayOut {
    /// The program's name, as shown to the user.
    #[cfg(target_os = "linux")]
    title: String,
    /// The servers the user permitted, as configured.
    #[cfg(target_os = "linux")]
    listed: Vec<String>,
    #[cfg(target_os = "linux")]
    proxy: Rc<Proxy>,
}

/// The access for one run.
pub struct OpenWay {
    /// Words of the command line that precede the program, including the descriptor's number.
    pub before: Vec<OsString>,
    /// Descriptor number for the first process to inherit. It is open while this value lives.
    pub descriptor: i32,
    /// Serves the connections; poll while the program runs.
    pub serving: Pin<Box<dyn Future<Output = ()>>>,
}

impl std::fmt::Debug for OpenWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenWay").field("descriptor", &self.descriptor).finish_non_exhaustive()
    }
}

/// Sets the proxy variables of a program.
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

    /// Opens the access for one run. `before` are the words of the command line before the program,
    /// which start the sandbox. `told` is called with a sentence for each refused connection.
    ///
    /// # Errors
    /// If no descriptor is available.
    pub fn open(&self, before: &[OsString], told: Rc<dyn Fn(&str)>) -> std::io::Result<OpenWay> {
        use std::os::fd::AsRawFd as _;
        let (outer, inner) = door_pair()?;
        let descriptor = inner.as_raw_fd();
        // The helper's path and its first argument come first.
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

    /// Not supported on this system.
    ///
    /// # Errors
    /// Always.
    pub fn open(&self, _before: &[OsString], _told: Rc<dyn Fn(&str)>) -> std::io::Result<OpenWay> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

/// The servers that a program may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    /// All permitted servers.
    pub hosts: Vec<Host>,
    /// Servers that the user permitted, as configured.
    pub listed: Vec<String>,
}

impl Reachable {
    /// Returns the ports at which the program's connections are accepted: the proxy's port, and the
    /// ports of permitted servers on this machine.
    pub(super) fn doors(&self) -> Vec<u16> {
        let here = self.hosts.iter().filter(|host| host.is_loopback());
        let here: BTreeSet<u16> = here.map(Host::port).filter(|port| *port != PROXY_PORT).collect();
        std::iter::once(PROXY_PORT).chain(here).collect()
    }
}

/// Returns the message about a refused server.
#[cfg(target_os = "linux")]
fn sentence(title: &str, listed: &[String], refused: &Refused) -> String {
    let (why, wanted) = match refused {
        Refused::NotListed(host) => {
            (format!("asked for {host}, which it may not reach"), host.to_string())
        }
        Refused::Inside(host, address) => {
            let named = Host::new(&address.to_string(), host.port());
            let why = format!(
                "asked for {host}, which resolves to {address}: loopback, link-local and \
                 multicast addresses must be listed by address, not by name"
            );
            (why, named.map(|named| named.to_string()).unwrap_or_default())
        }
    };
    let all: Vec<&str> = listed.iter().map(String::as_str).chain([wanted.as_str()]).collect();
    let all = shell_quote::quoted(&all.join(", "));
    format!("{title} {why}. To allow it: git config cowork.sandbox.hosts {all}")
}
