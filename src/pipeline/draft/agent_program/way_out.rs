//! The working directory of an agent program and its access to its servers: connects the model,
//! which starts it, and the workspace, which confines it.

use std::path::PathBuf;
use std::rc::Rc;

use crate::model::meter::Notice;
use crate::model::{AgentNeeds, OpenAccess, Reach, ServerAccess, Workplace};
use crate::workspace::{self, CommandSettings, OwnFiles, Reachable};

/// Returns how a program runs in `folder`, confined like the commands of these settings.
pub(crate) fn workplace(
    commands: &CommandSettings,
    needs: &AgentNeeds,
    folder: PathBuf,
) -> anyhow::Result<Workplace> {
    let hosts = reachable(&needs.reach);
    let program = commands.confine_program(&needs.title, &needs.env, &hosts)?;
    let way_out = program.way_out.map(|way| Rc::new(Way(way)) as Rc<dyn ServerAccess>);
    Ok(Workplace { folder, before: program.before, env: program.env, way_out })
}

/// The servers a program may reach although commands have no network.
pub(crate) fn reachable(reach: &Reach) -> Reachable {
    match reach {
        Reach::All => Reachable::default(),
        Reach::Some { hosts, listed } => Reachable { hosts: hosts.clone(), listed: listed.clone() },
    }
}

/// The files the program keeps in its private home.
pub(crate) fn own_files(needs: &AgentNeeds) -> Vec<OwnFiles> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let files = needs.stores.iter().map(|store| OwnFiles {
        at: store.at.clone(),
        is_file: store.keeps.is_file,
        lasting: names(store.keeps.lasting),
        fresh: names(store.keeps.fresh),
        sealed: names(store.keeps.sealed),
    });
    files.collect()
}

#[derive(Debug)]
struct Way(Rc<workspace::WayOut>);

impl ServerAccess for Way {
    fn open(&self, before: &[std::ffi::OsString], told: Notice) -> std::io::Result<OpenAccess> {
        let workspace::OpenWay { before, descriptor, serving } = self.0.open(before, told)?;
        Ok(OpenAccess { before, descriptor, serving })
    }
}
